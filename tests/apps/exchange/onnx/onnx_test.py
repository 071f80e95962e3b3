"""Every model, exported as ONNX: onnx.checker finds it sound, and onnxruntime computes qkv's logits. The programs of
docs/export.md answer as qkv does.

Run by tests/apps/exchange/onnx/run, with the module of onnxruntime. Runs are of a few steps in f32.
"""
import contextlib
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import onnx

from every_model import QKV, TRAIN, every_model, is_exported, qkv, settings_text, train, write_images

TOLERANCE = 1e-5  # of the largest logit
ROOT = pathlib.Path(__file__).resolve().parents[4]
SMALL = ["model.d_model=32", "model.d_ff=32", "train.steps=60", "train.batch_size=32", "train.eval_interval=60"]
GPL = ROOT / "LICENSE"
# What a run computes in, and the mean of its weights, which is what an evaluation reads.
RUNS = [{"train.precision": "bf16"}, {"train.precision": "f64"}, {"train.average": 0.5}]


def has_step(settings):
    causal = settings.get("attention.causal", True)
    return settings["model.kind"] != "classifier" and settings["model.mixer"] == "attention" and causal


def export(run, settings):
    """The folder gets what onnxruntime runs: model.onnx, perhaps step.onnx, and batches with qkv's logits."""
    qkv("eval", run, "--export", f"{run}/batches.safetensors")
    qkv("export", run, "--onnx", f"{run}/model.onnx")
    arguments = [QKV, "export", run, "--onnx-step", f"{run}/step.onnx"]
    status = subprocess.run(arguments, capture_output=True, text=True)
    assert status.returncode == (0 if has_step(settings) else 2), (settings_text(settings), status.stderr)
    for path in pathlib.Path(run).glob("*.onnx"):
        model = onnx.load(path)
        onnx.checker.check_model(model, full_check=True)
        names = {tensor.name for tensor in onnx.shape_inference.infer_shapes(model, strict_mode=True).graph.value_info}
        made = {name for node in model.graph.node for name in node.output if node.op_type not in ("Scan", "Identity")}
        assert made - {output.name for output in model.graph.output} <= names, (path, made - names)


def said_by(*arguments, text=""):
    return subprocess.run([QKV, *arguments], input=text, capture_output=True, text=True, check=True).stdout


def exported(name, settings):
    command = ["train", str(ROOT / f"configs/{name}.toml"), "--out", name]
    for setting in [*SMALL, *settings]:
        command += ["--set", setting]
    qkv(*command)
    qkv("export", name, "--onnx", f"{name}.onnx")


def printed_by(program):
    """What it prints, and its variables."""
    variables = {}
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(program, variables)
    return printed.getvalue(), variables


def check_programs():
    """Those of docs/export.md answer as qkv does."""
    os.environ["RUNTIME"] = sys.argv[1]
    sys.path.insert(0, str(pathlib.Path(__file__).with_name("shim")))
    programs = re.findall(r"^```python\n(.*?)^```$", (ROOT / "docs/export.md").read_text(encoding="utf-8"), re.M | re.S)
    assert len(programs) == 3
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        exported("sentiment", ["optimizer.learning_rate=0.01"])
        exported("pairs", [])
        exported("gpl", [f"data.path={GPL}", "model.num_layers=1"])

        printed, variables = printed_by(programs[0])
        texts = variables["texts"]
        assert variables["padding"].any() and any(ord(c) > 0xFFFF for c in "".join(texts))
        assert printed == said_by("predict", "sentiment", "-", "--format", "tsv", text="\n".join(texts)), printed
        assert len(set(line.split("\t")[1] for line in printed.splitlines())) > 1, printed

        printed, variables = printed_by(programs[1])
        assert printed == said_by("predict", "pairs", "-", text=variables["question"]), printed
        assert len(printed) > 2, printed

        printed, variables = printed_by(programs[2])
        prompt = variables["prompt"]
        written = said_by("generate", "gpl", "--prompt", prompt, "--temperature", "0", "--max-new-tokens", "100")
        assert printed == written, (printed, written)
    print("the programs of docs/export.md answer as qkv does")


def main():
    check_programs()
    runtime = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        write_images()
        models = [model for model in every_model() if is_exported(model)]
        models += [{**models[0], **run} for run in RUNS]
        for n, settings in enumerate(models):
            export(train(f"model-{n}", {**TRAIN, "train.precision": "f32", **settings}), settings)
        script = pathlib.Path(__file__).with_name("run_graphs.mjs")
        names = [f"model-{n}" for n in range(len(models))]
        result = subprocess.run(["node", script, runtime, *names], stdout=subprocess.PIPE, text=True, check=True)
        found = [json.loads(line) for line in result.stdout.splitlines()]
        assert len(found) == len(models)
        for settings, one in zip(models, found):
            for what in ("logits", "steps"):
                difference = one[what]  # None: there are no steps
                assert (difference is None) == (what == "steps" and not has_step(settings)), settings_text(settings)
                wrong = f"{what} differ by {difference} of the largest: {settings_text(settings)}"
                assert difference is None or difference <= TOLERANCE, wrong
        for what in ("logits", "steps"):
            differences = [one[what] for one in found if one[what] is not None]
            print(f"{len(differences)} models: {what} differ by at most {max(differences):.1e} of the largest")
        os.chdir("/")


if __name__ == "__main__":
    main()
