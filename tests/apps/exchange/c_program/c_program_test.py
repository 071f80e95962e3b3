"""Decoders, exported as programs in C: they have qkv's logits, and write what qkv generate writes.

Run by tests/apps/exchange/c_program/run. The models have each choice of a config at least once; with `all` all models are
tried. Runs are of a few steps in f32.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy

from every_model import TRAIN, every_model, qkv, settings_text, train
from tensor_file import read_tensors

TOLERANCE = 1e-5  # of the largest logit
COMPILER = ["cc", "-O2", "-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic"]


def can_be_exported(settings):
    says = settings["model.activation"] != "swiglu" and not settings.get("attention.query_key_norm")
    return says and settings["model.kind"] == "decoder" and settings["model.mixer"] == "attention"


def covering(models):
    """Few of them, with each value of each key that they have."""
    missing, chosen = {item for model in models for item in model.items()}, []
    while missing:
        best = max(models, key=lambda model: len(missing & set(model.items())))
        chosen.append(best)
        missing -= set(best.items())
    return chosen


def export(run):
    qkv("export", run, "--c", "model.c")
    if not os.path.exists("model"):  # which is the same for every run
        subprocess.run([*COMPILER, "model.c", "-o", "model", "-lm"], check=True)


def ask(prompt, *more):
    return subprocess.run(["./model", prompt, *more], capture_output=True, text=True, check=True).stdout


def questions(run, settings):
    """Prompts, and the logits after each."""
    qkv("eval", run, "--export", f"{run}/batches.safetensors")
    _, tensors = read_tensors(f"{run}/batches.safetensors")
    metadata, _ = read_tensors(f"{run}/checkpoints/best.safetensors")
    texts = json.loads(metadata["vocabulary"])
    tokens, logits = tensors["inputs.0"], tensors["logits.0"]
    causal = settings["attention.causal"]  # else logits know the whole sequence
    for row in range(3):
        for length in (1, 4, tokens.shape[1]) if causal else (tokens.shape[1],):
            yield "".join(texts[i] for i in tokens[row, :length]), logits[row, length - 1]


def compare(run, settings):
    """The largest difference of a logit, as a share of the largest logit."""
    export(run)
    worst = 0.0
    for prompt, expected in questions(run, settings):
        made = numpy.array([float(line.split("\t")[1]) for line in ask(prompt, "0").splitlines()])
        assert made.shape == expected.shape
        difference = abs(made - expected).max() / (abs(expected).max() or 1.0)
        worst = worst if difference <= worst else difference  # NaN as well
        for count in ([], ["12"]):
            sizes = ["--max-new-tokens", *count] if count else []
            written = qkv("generate", run, "--prompt", prompt, "--temperature", "0", *sizes)
            assert ask(prompt, *count) == written, (written, settings_text(settings))
    return worst


def ask_what_is_new():
    """What training has not, or once, is the unknown token, in C as well."""
    lines = [f"word {a}{b}\t{a}" for a in "abcdefgh" for b in "ijklmnop"] + ["Öl\tö"]
    pathlib.Path("pairs.tsv").write_text("\n".join(lines), encoding="utf-8")
    pairs = {"data.task": "pairs", "data.path": "pairs.tsv", "model.kind": "decoder"}
    run = train("new", {**TRAIN, **pairs, "train.precision": "f32", "model.d_model": 12, "data.context": 30})
    export(run)
    for prompt in ("word 🙂i", "Wörd ab", "Öl", "word ai"):
        written = qkv("generate", run, "--prompt", prompt, "--temperature", "0")
        assert ask(prompt) == written, (prompt, written, ask(prompt))


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        models = [model for model in every_model() if can_be_exported(model)]
        if sys.argv[1:] != ["all"]:
            models = covering(models)
        worst = 0.0
        for n, settings in enumerate(models):
            run = train(f"model-{n}", {**TRAIN, "train.precision": "f32", **settings})
            difference = compare(run, settings)
            assert difference <= TOLERANCE, f"logits differ by {difference:.1e}: {settings_text(settings)}"
            worst = max(worst, difference)
        print(f"{len(models)} models: logits differ by at most {worst:.1e} of the largest")
        ask_what_is_new()
        os.chdir("/")


if __name__ == "__main__":
    main()
