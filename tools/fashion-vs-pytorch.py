#!/usr/bin/env python3
"""What PyTorch learns of Fashion-MNIST with the model, the batches and the steps of configs/fashion_mnist.toml.

    tools/fashion-vs-pytorch.py --seed 1

Needs a python3 with PyTorch and NumPy, and Debian's dataset-fashion-mnist. The model is a Vision Transformer of the same
shape and initialization. Each image is mirrored half of the time and moved by up to a pixel; AdamW with decay of matrices
only, clipping, warm-up and cosine, and label smoothing are those of the config. --steps makes a shorter schedule. Every
line is a JSON object; the last has the accuracy on the 10,000 test images at the evaluation of the lowest loss, as ./qkv
eval of the best checkpoint has it, and the time that training took, evaluations included.
"""
import argparse
import gzip
import json
import math
import time

import numpy
import torch
from torch import nn
from torch.nn import functional

WIDTH, LAYERS, HEADS, HIDDEN, PATCH, SIDE, CLASSES = 96, 4, 4, 192, 7, 28, 10
BATCH, LEARNING_RATE, LOWEST_RATE, WARMUP, DECAY, SMOOTHING = 64, 1e-3, 1e-5, 500, 0.05, 0.1


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.query_key_value, self.output = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (part.view(b, t, HEADS, -1).transpose(1, 2) for part in self.query_key_value(x).split(c, dim=2))
        y = functional.scaled_dot_product_attention(q, k, v)
        return self.output(y.transpose(1, 2).reshape(b, t, c))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention_norm, self.attention = nn.LayerNorm(WIDTH), Attention()
        self.feed_forward_norm = nn.LayerNorm(WIDTH)
        self.up, self.down = nn.Linear(WIDTH, HIDDEN), nn.Linear(HIDDEN, WIDTH)

    def forward(self, x):
        x = x + self.attention(self.attention_norm(x))
        return x + self.down(functional.gelu(self.up(self.feed_forward_norm(x))))


class VisionTransformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.patch_embedding, self.head = nn.Linear(PATCH * PATCH, WIDTH), nn.Linear(WIDTH, CLASSES)
        self.class_token = nn.Parameter(torch.zeros(WIDTH))
        self.position_embedding = nn.Parameter(torch.zeros((SIDE // PATCH) ** 2 + 1, WIDTH))
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm = nn.LayerNorm(WIDTH)
        for name, parameter in self.named_parameters():
            if parameter.dim() > 1 or name == "class_token":
                into_residual_stream = name.endswith(("output.weight", "down.weight"))
                nn.init.normal_(parameter, std=0.02 / math.sqrt(2 * LAYERS) if into_residual_stream else 0.02)
            elif name.endswith("bias"):
                nn.init.zeros_(parameter)

    def forward(self, pixels):
        b, n = pixels.shape[0], SIDE // PATCH
        patches = pixels.view(b, n, PATCH, n, PATCH).transpose(2, 3).reshape(b, n * n, PATCH * PATCH)
        x = torch.cat([self.class_token.expand(b, 1, WIDTH), self.patch_embedding(patches)], 1)
        x = x + self.position_embedding
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x)[:, 0])


def read(folder, part):
    def numbers(name, header):
        with gzip.open(f"{folder}/{part}-{name}.gz") as file:
            return numpy.frombuffer(file.read(), numpy.uint8, offset=header)

    pixels = numbers("images-idx3-ubyte", 16).reshape(-1, SIDE, SIDE)
    return torch.tensor(pixels).float() / 255, torch.tensor(numbers("labels-idx1-ubyte", 8)).long()


def changed(pixels):
    """[B, 28, 28]: each image mirrored or not, and moved by up to a pixel, black where it came from."""
    b = pixels.shape[0]
    mirrored = torch.where(torch.rand(b, 1, 1) < 0.5, pixels.flip(2), pixels)
    padded = functional.pad(mirrored, (1, 1, 1, 1))
    y = torch.arange(SIDE) + torch.randint(3, (b, 1))
    x = torch.arange(SIDE) + torch.randint(3, (b, 1))
    return padded[torch.arange(b)[:, None, None], y[:, :, None], x[:, None, :]]


def rate(step, steps):
    if step < WARMUP:
        return LEARNING_RATE * (step + 1) / (WARMUP + 1)
    progress = (step - WARMUP) / max(1, steps - 1 - WARMUP)
    return LOWEST_RATE + (LEARNING_RATE - LOWEST_RATE) * 0.5 * (1 + math.cos(math.pi * progress))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--steps", type=int, default=20000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--path", default="/usr/share/datasets/fashion-mnist")
    arguments = parser.parse_args()
    torch.manual_seed(arguments.seed)
    torch.set_num_threads(arguments.threads)
    torch.set_flush_denormal(True)  # else moments of pixels that are always black take it many times as long
    images, labels = read(arguments.path, "train")
    test_images, test_labels = read(arguments.path, "t10k")
    model = VisionTransformer()
    matrices = [p for p in model.parameters() if p.dim() > 1]
    others = [p for p in model.parameters() if p.dim() <= 1]
    groups = [{"params": matrices, "weight_decay": DECAY}, {"params": others, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=LEARNING_RATE, betas=(0.9, 0.99), fused=True)

    def evaluate():
        with torch.inference_mode():
            logits = torch.cat([model(part) for part in test_images.split(1000)])
            loss = functional.cross_entropy(logits, test_labels)
            return loss.item(), (logits.argmax(1) == test_labels).float().mean().item()

    start, best = time.perf_counter(), (math.inf, 0.0)
    for step in range(arguments.steps):
        for group in optimizer.param_groups:
            group["lr"] = rate(step, arguments.steps)
        chosen = torch.randint(len(labels), (BATCH,))
        logits = model(changed(images[chosen]))
        loss = functional.cross_entropy(logits, labels[chosen], label_smoothing=SMOOTHING)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if (step + 1) % 2000 == 0 or step + 1 == arguments.steps:
            best = min(best, evaluated := evaluate())
            seconds = round(time.perf_counter() - start)
            line = {"step": step + 1, "loss": evaluated[0], "accuracy": evaluated[1], "seconds": seconds}
            print(json.dumps(line), flush=True)
    print(json.dumps({
        "seed": arguments.seed, "steps": arguments.steps, "parameters": sum(p.numel() for p in model.parameters()),
        "best_loss": best[0], "accuracy": best[1], "seconds": round(time.perf_counter() - start),
        "torch": torch.__version__,
    }))


if __name__ == "__main__":
    main()
