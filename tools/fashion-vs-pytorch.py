#!/usr/bin/env python3
"""What PyTorch learns of Fashion-MNIST with the model, the batches and the steps of a run of configs/fashion_mnist.toml.

    tools/fashion-vs-pytorch.py runs/fashion_mnist            # as that run's config.toml says
    tools/fashion-vs-pytorch.py runs/fashion_mnist --steps 100 --attention composed --precision f32

Needs a python3 (3.11) with PyTorch (1.13 or newer) and NumPy, and Debian's dataset-fashion-mnist. The shape, the initial
weights, AdamW with decay of matrices only, clipping, warm-up and cosine, label smoothing, the shifts and the mirror are
those of the config. --steps makes a shorter schedule; --attention, --precision and --threads choose among PyTorch's
variants. Every line is a JSON object. The last has the accuracy on the validation images (the test set) at the evaluation
of the lowest loss, as ./qkv eval of the best checkpoint has it; the time that training took, evaluations included; the
time of a step without them; and the libraries of products that PyTorch had loaded.
"""
import argparse
import gzip
import json
import math
import os
import pathlib
import re
import time
import tomllib

import numpy
import torch
from torch import nn
from torch.nn import functional

SIDE, CLASSES = 28, 10
# What this script does; a run that does anything else is refused.
DONE_HERE = {
    "data": {"task": "idx"},
    "model": {
        "kind": "classifier", "mixer": "attention", "position": "learned", "norm": "pre", "norm_kind": "layer",
        "activation": "gelu", "dropout": 0.0, "bias": True, "scale_scores": True,
    },
    "attention": {"projections": "separate", "heads": "split", "num_key_value_heads": 0, "window": 0, "scale": 0.0},
    "optimizer": {"kind": "adamw", "schedule": "cosine"},
    "train": {"accumulation_steps": 1},
}


def config_of(run):
    path = pathlib.Path(run) / "config.toml"
    if not path.is_file():
        raise SystemExit(f"error: {path} is missing; ./qkv train configs/fashion_mnist.toml makes a run")
    config = tomllib.loads(path.read_text())
    for table, keys in DONE_HERE.items():
        for key, value in keys.items():
            if config.get(table, {}).get(key, value) != value:
                raise SystemExit(f"error: {run}: this script does not do {table}.{key} = {config[table][key]!r}")
    return config


class Attention(nn.Module):
    def __init__(self, width, heads, fused):
        super().__init__()
        self.heads, self.fused = heads, fused
        self.query_key_value, self.output = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (part.view(b, t, self.heads, -1).transpose(1, 2) for part in self.query_key_value(x).split(c, dim=2))
        if self.fused:
            y = functional.scaled_dot_product_attention(q, k, v)
        else:
            y = (q @ k.transpose(2, 3) / q.shape[3] ** 0.5).softmax(3) @ v
        return self.output(y.transpose(1, 2).reshape(b, t, c))


class Block(nn.Module):
    def __init__(self, width, heads, hidden, fused):
        super().__init__()
        self.attention_norm, self.attention = nn.LayerNorm(width), Attention(width, heads, fused)
        self.feed_forward_norm = nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, hidden), nn.Linear(hidden, width)

    def forward(self, x):
        x = x + self.attention(self.attention_norm(x))
        return x + self.down(functional.gelu(self.up(self.feed_forward_norm(x))))


class VisionTransformer(nn.Module):
    def __init__(self, o, fused):
        super().__init__()
        width, layers, deviation = o["d_model"], o["num_layers"], o["init_std"]
        self.patch, with_token = o["patch_size"], o["pool"] == "class_token"
        self.patch_embedding, self.head = nn.Linear(self.patch**2, width), nn.Linear(width, CLASSES)
        self.class_token = nn.Parameter(torch.zeros(width)) if with_token else None
        self.position_embedding = nn.Parameter(torch.zeros((SIDE // self.patch) ** 2 + with_token, width))
        self.blocks = nn.ModuleList(Block(width, o["num_heads"], o["d_ff"], fused) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        for name, parameter in self.named_parameters():
            if parameter.dim() > 1 or name == "class_token":
                into_residual_stream = name.endswith(("output.weight", "down.weight"))
                nn.init.normal_(parameter, std=deviation / math.sqrt(2 * layers) if into_residual_stream else deviation)
            elif name.endswith("bias"):
                nn.init.zeros_(parameter)

    def forward(self, pixels):
        b, p, n = pixels.shape[0], self.patch, SIDE // self.patch
        patches = pixels.view(b, n, p, n, p).transpose(2, 3).reshape(b, n * n, p * p)
        x = self.patch_embedding(patches)
        if self.class_token is not None:
            x = torch.cat([self.class_token.expand(b, 1, -1), x.float()], 1)
        x = x + self.position_embedding
        for block in self.blocks:
            x = block(x)
        x = self.norm(x)
        return self.head(x.mean(1) if self.class_token is None else x[:, 0])


def read(folder, part):
    def numbers(name, header):
        path = f"{folder}/{part}-{name}"
        with open(path, "rb") if os.path.exists(path) else gzip.open(path + ".gz") as file:
            return numpy.frombuffer(file.read(), numpy.uint8, offset=header)

    pixels = numbers("images-idx3-ubyte", 16).reshape(-1, SIDE, SIDE)
    return torch.tensor(pixels).float() / 255, torch.tensor(numbers("labels-idx1-ubyte", 8)).long()


def changed(pixels, shift, mirror):
    """[B, 28, 28]: each image mirrored or not, and moved by up to `shift` pixels, black where it came from."""
    b = pixels.shape[0]
    mirrored = torch.where(torch.rand(b, 1, 1) < 0.5, pixels.flip(2), pixels) if mirror else pixels
    padded = functional.pad(mirrored, (shift, shift, shift, shift))
    y = torch.arange(SIDE) + torch.randint(2 * shift + 1, (b, 1))
    x = torch.arange(SIDE) + torch.randint(2 * shift + 1, (b, 1))
    return padded[torch.arange(b)[:, None, None], y[:, :, None], x[:, None, :]]


def rate(step, steps, o):
    highest, lowest, warmup = o["learning_rate"], o["min_learning_rate"], o["warmup_steps"]
    if step < warmup:
        return highest * (step + 1) / (warmup + 1)
    progress = (step - warmup) / max(1, steps - 1 - warmup)
    return lowest + (highest - lowest) * 0.5 * (1 + math.cos(math.pi * progress))


def libraries_of_products():
    """PyTorch's BLAS, as it was built, and the library files that are loaded (of Linux)."""
    built = re.search(r"BLAS_INFO=(\w+)", torch.__config__.show())
    loaded = set()
    if os.path.exists("/proc/self/maps"):
        paths = re.findall(r"/\S*/lib\S*", pathlib.Path("/proc/self/maps").read_text())
        loaded = {os.path.basename(p) for p in paths if re.search(r"blas|blis|mkl|dnnl", os.path.basename(p))}
    return [built[1] if built else "unknown", *sorted(loaded)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", help="the folder of a run")
    parser.add_argument("--seed", type=int, help="by default the run's")
    parser.add_argument("--steps", type=int, help="by default the run's")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--precision", choices=["f32", "bf16"], help="by default the run's")
    has_fused = hasattr(functional, "scaled_dot_product_attention")
    parser.add_argument("--attention", choices=["fused", "composed"], default="fused" if has_fused else "composed")
    arguments = parser.parse_args()
    config = config_of(arguments.run)
    data, optimizing, training = config["data"], config["optimizer"], config["train"]
    steps, seed = arguments.steps or training["steps"], config["seed"] if arguments.seed is None else arguments.seed
    precision, batch_size = arguments.precision or training["precision"], training["batch_size"]
    torch.manual_seed(seed)
    torch.set_num_threads(arguments.threads)
    torch.set_flush_denormal(True)  # else moments of pixels that are always black take it many times as long
    images, labels = read(data["path"], "train")
    test_images, test_labels = (part[: data["validation_examples"]] for part in read(data["path"], "t10k"))
    model = VisionTransformer(config["model"], arguments.attention == "fused")
    matrices = [p for p in model.parameters() if p.dim() > 1]
    others = [p for p in model.parameters() if p.dim() <= 1]
    groups = [{"params": matrices, "weight_decay": optimizing["weight_decay"]}, {"params": others, "weight_decay": 0.0}]
    fused = {"fused": True} if int(torch.__version__.split(".")[0]) >= 2 else {}
    optimizer = torch.optim.AdamW(
        groups, lr=optimizing["learning_rate"], betas=optimizing["betas"], eps=optimizing["epsilon"], **fused
    )

    def logits_of(pixels):
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=precision == "bf16"):
            return model(pixels).float()

    def evaluate():
        with torch.no_grad():
            logits = torch.cat([logits_of(part) for part in test_images.split(1000)])
            loss = functional.cross_entropy(logits, test_labels)
            return loss.item(), (logits.argmax(1) == test_labels).float().mean().item()

    start, best, evaluating = time.perf_counter(), (math.inf, 0.0), 0.0
    for step in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = rate(step, steps, optimizing)
        chosen = torch.randint(len(labels), (batch_size,))
        logits = logits_of(changed(images[chosen], data["shift"], data["mirror"]))
        loss = functional.cross_entropy(logits, labels[chosen], label_smoothing=training["label_smoothing"])
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        if optimizing["grad_clip"] > 0:
            nn.utils.clip_grad_norm_(model.parameters(), optimizing["grad_clip"])
        optimizer.step()
        if (step + 1) % training["eval_interval"] == 0 or step + 1 == steps:
            before = time.perf_counter()
            best = min(best, evaluated := evaluate())
            evaluating += time.perf_counter() - before
            seconds = round(time.perf_counter() - start)
            line = {"step": step + 1, "loss": evaluated[0], "accuracy": evaluated[1], "seconds": seconds}
            print(json.dumps(line), flush=True)
    seconds = time.perf_counter() - start
    print(json.dumps({
        "seed": seed, "steps": steps, "parameters": sum(p.numel() for p in model.parameters()),
        "best_loss": best[0], "accuracy": best[1], "seconds": round(seconds),
        "ms_per_step": (seconds - evaluating) * 1e3 / steps, "cpu_seconds": round(time.process_time()),
        "precision": precision, "attention": arguments.attention, "threads": arguments.threads,
        "torch": torch.__version__, "libraries": libraries_of_products(),
    }))


if __name__ == "__main__":
    main()
