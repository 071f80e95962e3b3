"""Every model, exported as ONNX: onnx.checker finds it sound, and onnxruntime computes qkv's logits.

Run by tests/apps/exchange/onnx/run, with the module of onnxruntime. Runs are of a few steps in f32.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import onnx

from every_model import QKV, TRAIN, every_model, is_exported, qkv, settings_text, train, write_images

TOLERANCE = 1e-5  # of the largest logit
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


def main():
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
