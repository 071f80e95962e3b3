#!/usr/bin/env python3
"""The loss that qkv and PyTorch give GPT-2 on one text, with random weights in the layout of the published ones.

    tools/gpt2-vs-pytorch.py [--layers N] [--windows N]

GPT-2 small has 12 layers of 768, 12 heads, a context of 1024 and 50257 tokens (each is one character here, so that a text
of random characters has them all). Measures `qkv eval FOLDER --text FILE` against the definition in
tools/hugging_face_models.py, in f32 as published, and ends with 1 where the two differ by more than 1e-4. QKV in the
environment names another program than ./qkv. Needs NumPy and PyTorch; takes 2 GB of memory and a few minutes.
"""
import argparse
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

import torch

from hugging_face_models import gpt2_loss, random_gpt2, write_folder

QKV = os.path.abspath(os.environ.get("QKV", str(pathlib.Path(__file__).resolve().parent.parent / "qkv")))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--windows", type=int, default=2)
    given = parser.parse_args()
    config = {
        "model_type": "gpt2", "n_layer": given.layers, "n_embd": 768, "n_head": 12, "n_inner": None, "n_positions": 1024,
        "vocab_size": 50257, "activation_function": "gelu_new", "layer_norm_epsilon": 1e-5,
    }  # fmt: skip
    characters = [chr(0x10000 + n) for n in range(config["vocab_size"])]
    tensors = random_gpt2(config, seed=1)
    tokens = random.Random(1).choices(range(config["vocab_size"]), k=given.windows * 1024 + 1)
    with tempfile.TemporaryDirectory() as folder:
        write_folder(f"{folder}/gpt2", config, tensors, characters)
        text = pathlib.Path(folder, "text.txt")
        text.write_text("".join(characters[n] for n in tokens))
        start = time.monotonic()
        command = [QKV, "eval", f"{folder}/gpt2", "--text", text, "--json", "-"]
        told = subprocess.run(command, capture_output=True, text=True)
        if told.returncode != 0:
            sys.exit(told.stderr)
        taken, loss = time.monotonic() - start, json.loads(told.stdout)["loss"]
    start = time.monotonic()
    expected = gpt2_loss(config, tensors, tokens, torch.float32)
    numbers = sum(tensor.numel() for tensor in tensors.values())
    print(f"{numbers} parameters, {len(tokens) - 1} tokens: qkv {loss:.7f} in {taken:.1f} s, with reading the weights; "
          f"PyTorch {expected:.7f} in {time.monotonic() - start:.1f} s; difference {abs(loss - expected):.1e}")  # fmt: skip
    sys.exit(0 if abs(loss - expected) <= 1e-4 else 1)


if __name__ == "__main__":
    main()
