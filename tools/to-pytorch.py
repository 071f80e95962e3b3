#!/usr/bin/env python3
"""A run of qkv as a PyTorch module, and how far its logits are from qkv's.

    tools/to-pytorch.py runs/reverse                # a run's folder, or a checkpoint

The module is of tools/pytorch_models.py: docs/models.md in code. It is compared in f64 with what ./qkv eval RUN --export
writes. Ends with 1 where a logit differs by more than 1e-12 of the largest. QKV in the environment names another program
than ./qkv. Needs Python 3.11, NumPy and PyTorch 1.13 or newer.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

try:
    import tomllib

    import numpy
    import torch
except ModuleNotFoundError as missing:
    sys.exit(
        f"error: {sys.executable} has no module {missing.name}; install Python 3.11 or newer with NumPy and PyTorch "
        "(Debian and Ubuntu: apt-get install python3-numpy python3-torch)"
    )

from pytorch_models import model_of
from tensor_file import read_tensors

ROOT = pathlib.Path(__file__).resolve().parent.parent
QKV = os.environ.get("QKV", str(ROOT / "qkv"))
TOLERANCE = 1e-12


def read_safetensors(path):
    """Its metadata, and name -> tensor; f32 as f64."""
    metadata, arrays = read_tensors(path)
    exact = {name: array.astype("f8") if array.dtype == numpy.float32 else array for name, array in arrays.items()}
    return metadata, {name: torch.from_numpy(array) for name, array in exact.items()}


def load(path):
    """The config, the module with its parameters, and the optimizer's state of a checkpoint."""
    metadata, tensors = read_safetensors(path)
    config = tomllib.loads(metadata["config"])
    names = ("max_length", "source_length", "classes", "channels", "height", "width")
    sizes = {name: int(metadata[name]) for name in names if name in metadata}
    sizes["vocabulary"] = len(json.loads(metadata["vocabulary"]))
    model = model_of(config, sizes)
    state = {name: tensor for name, tensor in tensors.items() if name.startswith("optimizer.")}
    model.load_state_dict({name: tensor for name, tensor in tensors.items() if name not in state})
    return config, model.eval(), state


def read_batches(path):
    """The inputs, the targets and the logits (or None) of each batch of an exported file."""
    _, tensors = read_safetensors(path)
    batches = []
    while f"inputs.{len(batches)}" in tensors:
        n = len(batches)
        names = [f"inputs.{n}"] + [f"inputs.{n}.{k}" for k in (1, 2)]
        inputs = [tensors[name] for name in names if name in tensors]
        batches.append((inputs, tensors[f"targets.{n}"], tensors.get(f"logits.{n}")))
    return batches


def checkpoint_of(run):
    if not os.path.isdir(run):
        return run
    paths = [os.path.join(run, "checkpoints", name + ".safetensors") for name in ("best", "last")]
    return next((path for path in paths if os.path.exists(path)), paths[0])


def compare(run, folder):
    """The largest difference of a logit, as a share of the largest logit, and how many logits there are."""
    exported = os.path.join(folder, "batches.safetensors")
    status = subprocess.run([QKV, "eval", run, "--export", exported], stdout=subprocess.DEVNULL).returncode
    if status != 0:
        sys.exit(status)  # qkv has said why
    _, model, _ = load(checkpoint_of(run))
    worst, count = 0.0, 0
    with torch.no_grad():
        for inputs, _, logits in read_batches(exported):
            made = model(*inputs)
            assert made.shape == logits.shape, (made.shape, logits.shape)
            difference = (made - logits).abs().max().item()
            difference = difference and difference / logits.abs().max().item()  # all logits may be 0
            worst = worst if difference <= worst else difference  # NaN as well
            count += logits.numel()
    os.remove(exported)
    return worst, count


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        worst, count = compare(sys.argv[1], folder)
    print(f"{count} logits of PyTorch differ from qkv's by at most {worst:.1e} of the largest")
    sys.exit(0 if worst <= TOLERANCE else 1)


torch.set_default_dtype(torch.float64)
if __name__ == "__main__":
    main()
