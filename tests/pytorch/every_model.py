"""Every model that a config can ask for, once with each of its choices, and runs of them.

All choices come from `qkv config --help`, so that one that is added is met, too. Runs are of a few steps, with a learning
rate that moves every weight away from where it begins. QKV in the environment names the program.
"""
import itertools
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

import numpy

# The tests run in folders of their own.
QKV = os.path.abspath(os.environ.get("QKV", pathlib.Path(__file__).resolve().parents[2] / "qkv"))
TRAIN = {
    "data.validation_examples": 12,
    "optimizer.learning_rate": 0.1,
    "train.precision": "f64",
    "train.threads": 1,
    "train.batch_size": 8,
    "train.steps": 3,
    "train.eval_interval": 3,
    "train.log_interval": 1,
}
# Questions of different lengths: some are padded.
LENGTHS = {"data.min_length": 2, "data.train_fraction": 0.5}
WORDS = {"data.task": "reverse", "data.alphabet": 5, "data.length": 5, **LENGTHS}
BITS = {"data.task": "parity", "data.length": 8, **LENGTHS}
IMAGES = {"data.task": "idx", "data.path": "images", "model.patch_size": 2}
DATA = {"decoder": [WORDS], "encoder_decoder": [WORDS], "classifier": [BITS, IMAGES]}
# What else a model can choose, besides what has a list of names.
NUMBERS = {
    "model.num_layers": [1, 2],
    "model.bias": [True, False],
    "model.dropout": [0.0, 0.3],
    "model.norm_epsilon": [1e-5, 0.1],
    "model.sinusoidal_scale": [0.0, 0.02, 1.0],
    "model.learn_sinusoidal_scale": [True, False],
    "model.scale_scores": [True, False],
    "model.tie_embeddings": [True, False],
    "model.logit_cap": [0.0, 0.7],
    "model.kernel": [1, 2, 3, 4],
    "model.depthwise": [True, False],
    "model.num_heads": [1, 2, 3, 6],
    "attention.num_key_value_heads": [0, 1, 2, 3],
    "attention.window": [0, 1, 2],
    "attention.full_every": [0, 1, 2],
    "attention.causal": [True, False],
    "attention.scale": [0.0, 0.4],
    "attention.query_key_norm": [True, False],
    "attention.rotary_base": [10000.0, 50.0],
}
IN_ATTENTION = ("rotary", "alibi", "relative")  # positions that no other mixer has


def qkv(*arguments):
    result = subprocess.run([QKV, *arguments], capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(f"qkv {' '.join(arguments)}: {result.stdout}{result.stderr}")
    return result.stdout


def train(name, settings):
    """The folder of a run with those settings."""
    pathlib.Path("empty.toml").touch()
    sets = [f"--set={key}={value if isinstance(value, str) else json.dumps(value)}" for key, value in settings.items()]
    qkv("train", "empty.toml", "--out", name, *sets)
    return name


def keys_of_help():
    """Key -> the values of its list, and key -> the values that read it, from `qkv config --help`."""
    values, readers, table = {}, {}, ""
    one_line_per_key = re.sub(r"\n +# ", " ", qkv("config", "--help"))
    for line in one_line_per_key.splitlines():
        if heading := re.fullmatch(r"\[(\w+)\]", line.strip()):
            table = heading[1]
        if key := re.match(r"\s*(\w+) = ", line):
            name = f"{table}.{key[1]}"
            if listed := re.search(r"One of: ([^.]*)\.", line):
                values[name] = listed[1].split(", ")
            if read := re.search(r"Read by ([^.]*)\.", line):
                readers[name] = re.split(", | and ", read[1])
    return values, readers


def write_images():
    """Images of 4 x 6 pixels in MNIST's files, so that height and width differ."""
    os.makedirs("images", exist_ok=True)
    for part, count in (("train", 20), ("t10k", 12)):
        pixels = numpy.random.default_rng(count).integers(0, 256, (count, 4, 6), dtype=numpy.uint8)
        labels = (numpy.arange(count) % 3).astype(numpy.uint8)
        for what, array in (("images-idx3", pixels), ("labels-idx1", labels)):
            sizes = b"".join(size.to_bytes(4, "big") for size in array.shape)
            pathlib.Path(f"images/{part}-{what}-ubyte").write_bytes(bytes([0, 0, 8, array.ndim]) + sizes + array.tobytes())


def run_tests(tests):
    """Those functions test_… of a module's globals() that the command names, or all, in a folder of their own."""
    named = {name: test for name, test in tests.items() if name.startswith("test_")}
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        write_images()
        for name in sys.argv[1:] or named:
            named[name]()
            print("passed:", name.replace("_", " "), flush=True)
        os.chdir("/")


def is_read(key, settings, readers):
    if key not in readers:
        return True
    if settings["model.kind"] == "encoder_decoder" and "attention" in readers[key]:
        return True  # by cross-attention
    return any(value in readers[key] for value in settings.values())


def clashes(settings):
    """Whether qkv refuses these together."""
    get, heads = settings.get, settings.get("model.num_heads", 1)
    maps, form = get("attention.projections", "separate"), get("attention.heads", "split")
    groups = get("attention.num_key_value_heads", 0) or heads
    return (
        (get("model.mixer") != "attention" and get("model.position") in IN_ATTENTION)
        or (get("model.mixer") in ("convolution", "recurrence") and get("attention.window", 0) > 0)
        or (get("attention.full_every", 0) > 0 and get("attention.window", 0) == 0)
        or (maps == "none" and form != "split")
        or heads % groups != 0
        or (groups != heads and (maps in ("shared", "none") or form == "narrow"))
        or (get("model.position") == "rotary" and form != "wide" and get("model.d_model", 12) // heads % 2 != 0)
    )


def drawn(chosen, values, readers, seed):
    """The same with a value for every other key that is read."""
    generator = random.Random(seed)
    for _ in range(1000):
        settings = {**chosen, "model.d_ff": 10}
        needs_heads = chosen["model.mixer"] == "attention" or chosen["model.kind"] == "encoder_decoder"
        settings["model.d_model"] = 12 if needs_heads else generator.choice([6, 7])
        for key, all_values in {**values, **NUMBERS}.items():
            if key.split(".")[0] not in ("model", "attention") or key in settings:
                continue
            if is_read(key, settings, readers):
                settings[key] = generator.choice(all_values)
        if not clashes(settings):
            return settings
    raise AssertionError(f"nothing goes with {chosen}")


def every_model():
    """Each kind with each mixer and position: attention with each form of heads and maps, any other mixer three times.

    A kind that has no mixer is there once.
    """
    values, readers = keys_of_help()
    transformers = readers.get("model.mixer", values["model.kind"])
    forms = [
        {"attention.projections": maps, "attention.heads": heads}
        for maps, heads in itertools.product(values["attention.projections"], values["attention.heads"])
    ]
    models = [{**WORDS, "model.kind": kind} for kind in values["model.kind"] if kind not in transformers]
    for kind, mixer, position in itertools.product(transformers, values["model.mixer"], values["model.position"]):
        for data in DATA[kind]:
            chosen = {**data, "model.kind": kind, "model.mixer": mixer, "model.position": position}
            for form in forms if mixer == "attention" else [{}, {}, {}]:
                if not clashes({**chosen, **form}):
                    models.append(drawn({**chosen, **form}, values, readers, len(models)))
    uneven = {"model.num_heads": 6, "model.position": "alibi", "attention.alibi_slopes": "interpolated"}
    for kind, data in ((kind, data) for kind in DATA for data in DATA[kind]):
        chosen = {**data, "model.kind": kind, "model.mixer": "attention", **uneven}
        models.append(drawn(chosen, values, readers, len(models)))
    for key in [*values, *NUMBERS]:
        if key.split(".")[0] in ("model", "attention"):
            met = {model[key] for model in models if key in model}
            assert met == set({**values, **NUMBERS}[key]), f"{key}: {met}"
    return models


def is_exported(settings):
    """Whether `qkv export` knows its kind and its mixer."""
    kinds = ("decoder", "encoder_decoder", "classifier")
    mixers = ("attention", "convolution", "recurrence", "learned", "uniform")
    return settings["model.kind"] in kinds and settings.get("model.mixer") in mixers


def settings_text(settings):
    return " ".join(f"{key}={value}" for key, value in settings.items())
