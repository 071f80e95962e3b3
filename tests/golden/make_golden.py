"""Makes the golden numbers that the tests compare the engine with, in PyTorch's float64.

    python3 tests/golden/make_golden.py            # writes the files beside this script
    python3 tests/golden/make_golden.py --check    # makes them again, compares them with the files

Needs NumPy and PyTorch 1.13 or newer; the tests themselves need neither, because
the files are committed. Models are those of tools/pytorch_models.py.

Legend for shapes: B batch, T length, C d_model, H heads, D head width, F d_ff, V vocabulary.

NAME.safetensors, one for each model of MODELS; its options are in the file's metadata:
    weight.PARAMETER, gradient.PARAMETER    f64, under the parameter names of the project
    inputs, targets                         i64 [B, T]; a target of -1 is ignored
    inputs.1, inputs.2                      of an encoder_decoder, whose inputs are the source: the
                                            target i64 [B, T], the padding of the source [B, Ts]
    inputs, inputs.1, targets               of a classifier: tokens i64 [B, T] and their padding, or
                                            pixels f64 [B, channels, height, width]; i64 [B]
    logits, loss                            f64 [B, T, V], of a classifier [B, classes]; a scalar
"""

import argparse
import importlib
import math
import pathlib
import sys

import numpy
import torch

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.append(str(FOLDER.parents[1] / "tools"))
models = importlib.import_module("pytorch_models")
files = importlib.import_module("tensor_file")

IGNORED = -1

DEFAULTS = dict(
    num_layers=1,
    d_model=6,
    num_heads=3,
    d_ff=8,
    vocabulary=7,
    length=6,
    batch_size=2,
    position="learned",
    norm="pre",
    norm_kind="layer",
    activation="gelu",
    scale_scores=True,
    tie_embeddings=True,
    bias=True,
    label_smoothing=0.0,
    ignored_targets=0,
    kind="decoder",
    source_length=0,
    padded=0,
    sinusoidal_scale=1.0,
    projections="separate",
    heads="split",
    num_key_value_heads=0,
    window=0,
    causal=True,
    scale=0.0,
)

CLASSIFIER = dict(
    DEFAULTS,
    kind="classifier",
    tie_embeddings=False,
    classes=5,
    pool="class_token",
    patch_size=1,
    channels=0,
    height=0,
    width=0,
)

MODELS = {
    "pre_norm": dict(DEFAULTS, num_layers=2),
    "post_norm": dict(
        DEFAULTS, norm="post", position="sinusoidal", tie_embeddings=False, activation="relu"
    ),
    "rms_norm": dict(
        DEFAULTS,
        norm_kind="rms",
        activation="silu",
        position="none",
        scale_scores=False,
        tie_embeddings=False,
    ),
    "encoder_decoder": dict(
        DEFAULTS,
        kind="encoder_decoder",
        length=6,
        source_length=7,
        padded=3,
        position="relative",
    ),
    "encoder_decoder_post": dict(
        DEFAULTS,
        kind="encoder_decoder",
        length=5,
        source_length=6,
        norm="post",
        position="sinusoidal",
        sinusoidal_scale=0.3,
        tie_embeddings=False,
    ),
    "rotary": dict(DEFAULTS, position="rotary", projections="shared_key_value"),
    "alibi": dict(
        DEFAULTS, d_model=8, num_heads=4, position="alibi", num_key_value_heads=2, window=3
    ),
    "relative": dict(DEFAULTS, position="relative", projections="shared", scale=0.3),
    "narrow": dict(DEFAULTS, heads="narrow", causal=False, window=2),
    "wide": dict(DEFAULTS, heads="wide", num_key_value_heads=1, bias=False),
    "bare": dict(DEFAULTS, projections="none"),
    "vision_transformer": dict(
        CLASSIFIER, vocabulary=5, length=0, patch_size=2, channels=3, height=4, width=6
    ),
    "classifier": dict(
        CLASSIFIER,
        vocabulary=5,
        length=7,
        padded=3,
        pool="mean",
        norm="post",
        position="relative",
    ),
    "normless": dict(
        DEFAULTS,
        norm="none",
        position="none",
        bias=False,
        activation="gelu_tanh",
        label_smoothing=0.1,
        ignored_targets=7,
    ),
}

# The parts of a parameter's name, in the order in which a forward pass comes to them. The random
# numbers are drawn in that order.
PARTS = """
token_embedding patch_embedding class_token encoder decoder position_embedding blocks 0 1
attention_norm attention query key value output position distance_bias
cross_attention_norm cross_attention feed_forward_norm feed_forward up down
final_norm head weight bias""".split()


def model_of(o):
    """The module of those options, and its parameters by name in the order of PARTS."""
    sizes = {"vocabulary": o["vocabulary"], "max_length": o["length"], "source_length": o["source_length"]}
    if o["kind"] == "classifier":
        sizes["classes"] = o["classes"]
        sizes |= {name: o[name] for name in ("channels", "height", "width") if o[name]}
    model = models.model_of({"model": {**o, "mixer": "attention", "dropout": 0.0}, "attention": o}, sizes)
    named = sorted(model.named_parameters(), key=lambda item: [PARTS.index(part) for part in item[0].split(".")])
    return model, dict(named)


def make_random(parameters):
    """Large enough that no gradient is tiny; biases are random too."""
    for name, parameter in parameters.items():
        value = 0.3 * torch.randn(parameter.shape)
        parameter.data = 1.0 + value if name.endswith("norm.weight") else value


def some_padding(o, length):
    padding = torch.zeros(o["batch_size"], length, dtype=torch.bool)
    padding[1, -o["padded"] :] = True
    return padding


def random_classes(o):
    """Of a classifier: the inputs of a batch and its targets."""
    if o["height"]:
        inputs = [torch.randn(o["batch_size"], o["channels"], o["height"], o["width"])]
    else:
        inputs = [torch.randint(0, o["vocabulary"], (o["batch_size"], o["length"]))]
        inputs.append(some_padding(o, o["length"]))
    return inputs, torch.randint(0, o["classes"], (o["batch_size"],))


def random_batch(o):
    if o["kind"] == "classifier":
        return random_classes(o)
    shape = (o["batch_size"], o["length"])
    inputs = [torch.randint(0, o["vocabulary"], shape)]
    targets = torch.randint(0, o["vocabulary"], shape)
    targets.view(-1)[torch.randperm(targets.numel())[: o["ignored_targets"]]] = IGNORED
    if o["kind"] == "encoder_decoder":
        source = (o["batch_size"], o["source_length"])
        inputs.insert(0, torch.randint(0, o["vocabulary"], source))
        if o["padded"]:
            inputs.append(some_padding(o, o["source_length"]))
    return inputs, targets


def named_inputs(inputs):
    return {"inputs" if i == 0 else f"inputs.{i}": x for i, x in enumerate(inputs)}


def model_case(name, seed):
    o = MODELS[name]
    model, parameters = model_of(o)
    torch.manual_seed(seed)
    make_random(parameters)
    inputs, targets = random_batch(o)
    logits = model(*inputs)
    loss = models.cross_entropy(logits, targets, o["label_smoothing"])
    gradients = torch.autograd.grad(loss, list(parameters.values()))
    tensors = dict(**named_inputs(inputs), targets=targets, logits=logits, loss=loss)
    tensors |= {"weight." + name: parameter for name, parameter in parameters.items()}
    tensors |= {"gradient." + name: gradient for name, gradient in zip(parameters, gradients)}
    return tensors, o


def as_text(value):
    return str(value).lower() if isinstance(value, bool) else str(value)


def largest_difference(path, arrays):
    """The largest max|a - b| / max|b| of the file's numbers; infinite when they are others."""
    _, stored = files.read_tensors(path)
    if stored.keys() != arrays.keys():
        return math.inf
    largest = 0.0
    for name, value in stored.items():
        if value.shape != arrays[name].shape or value.dtype != arrays[name].dtype:
            return math.inf
        difference = numpy.abs(arrays[name].astype("f8") - value.astype("f8")).max()
        largest = max(largest, difference / max(numpy.abs(value).max(), 1e-3))
    return largest


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare with the files, write none")
    check = parser.parse_args().check

    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(1)
    cases = {name: model_case(name, seed) for seed, name in enumerate(MODELS, start=1)}
    passed = True
    for name, (tensors, metadata) in cases.items():
        path = FOLDER / f"{name}.safetensors"
        arrays = {key: value.detach().numpy() for key, value in tensors.items()}
        if check:
            difference = largest_difference(path, arrays)
            passed = passed and difference <= 1e-10
            print(f"{path.name}: largest relative difference {difference:.2g}")
        else:
            metadata = metadata | dict(pytorch=torch.__version__.split("+")[0])
            files.write_tensors(path, arrays, {key: as_text(value) for key, value in metadata.items()})
            print(f"{path.name}: {len(tensors)} tensors, {path.stat().st_size} bytes")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
