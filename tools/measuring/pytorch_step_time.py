#!/usr/bin/env python3
"""How long PyTorch takes for the training step that `./qkv bench --shape` measures, and to write a text.

    tools/measuring/pytorch_step_time.py --shape toy --precision f32     # every variant, then the best of them
    tools/measuring/pytorch_step_time.py --shape toy --generate          # tokens a second, with a key/value cache

Needs a python3 with PyTorch, nothing else. Every line that it prints is a JSON object. The step is the same:
random tokens of a vocabulary of 65 or random images of 10 classes, AdamW and clipping included, the median of the last
two thirds.

A variant is a choice of
  attention   "fused": scaled_dot_product_attention; "composed": matmul, mask, softmax, matmul
  run         "eager", or "compiled" with torch.compile
  wait        what an idle OpenMP thread does: "spin", or "sleep" (OMP_WAIT_POLICY=passive)
  blas        where PyTorch is linked to the system's BLAS: each library that is installed
Each runs in a process of its own, first for a few steps; the three fastest are then measured in full. One that fails
(no compiler for torch.compile, say) or takes minutes for its few steps says so and does not count.
"""
import argparse
import glob
import itertools
import json
import os
import statistics
import subprocess
import sys
import time

SHAPES = {  # as in apps/bench/bench_shapes.cc
    "toy": dict(layers=2, d_model=64, heads=4, d_ff=256, length=32, batch=64),
    "small": dict(layers=4, d_model=128, heads=4, d_ff=512, length=64, batch=12),
    "mini": dict(layers=6, d_model=384, heads=6, d_ff=1536, length=256, batch=8),
    "seq2seq": dict(layers=2, d_model=64, heads=4, d_ff=256, length=16, source=17, batch=64),
    "vit": dict(layers=4, d_model=64, heads=4, d_ff=128, image=28, patch=4, batch=64),
}
VOCABULARY, CLASSES = 65, 10
TRIAL_STEPS, FINALISTS = 4, 3


def make_model(shape, fused):
    import torch
    from torch import nn
    from torch.nn import functional

    width = shape["d_model"]

    class Attention(nn.Module):
        def __init__(self, causal, has_source=False):
            super().__init__()
            self.causal, self.has_source = causal, has_source
            if has_source:
                self.query, self.key_value = nn.Linear(width, width), nn.Linear(width, 2 * width)
            else:
                self.query_key_value = nn.Linear(width, 3 * width)
            self.output = nn.Linear(width, width)

        def forward(self, x, past=None, source=None):
            b, t, c = x.shape
            if self.has_source:
                parts = [self.query(x), *self.key_value(source).split(c, dim=2)]
            else:
                parts = self.query_key_value(x).split(c, dim=2)
            q, k, v = (part.view(b, part.shape[1], shape["heads"], -1).transpose(1, 2) for part in parts)
            if past is not None:
                if past:
                    k, v = torch.cat([past[0], k], 2), torch.cat([past[1], v], 2)
                past[:] = [k, v]
            causal = self.causal and t > 1
            if fused:
                y = functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
            else:
                scores = q @ k.transpose(2, 3) / q.shape[3] ** 0.5
                if causal:
                    future = torch.ones(t, t, dtype=torch.bool).triu(1)
                    scores = scores.masked_fill(future, float("-inf"))
                y = scores.softmax(3) @ v
            return self.output(y.transpose(1, 2).reshape(b, t, c))

    class Block(nn.Module):
        def __init__(self, causal, has_source=False):
            super().__init__()
            self.attention_norm, self.attention = nn.LayerNorm(width), Attention(causal)
            if has_source:
                self.cross_attention_norm, self.cross_attention = nn.LayerNorm(width), Attention(False, True)
            self.feed_forward_norm = nn.LayerNorm(width)
            self.up, self.down = nn.Linear(width, shape["d_ff"]), nn.Linear(shape["d_ff"], width)

        def forward(self, x, past=None, source=None):
            x = x + self.attention(self.attention_norm(x), past)
            if source is not None:
                x = x + self.cross_attention(self.cross_attention_norm(x), source=source)
            return x + self.down(functional.gelu(self.up(self.feed_forward_norm(x))))

    class Stack(nn.Module):
        def __init__(self, length, causal, has_source=False):
            super().__init__()
            self.position_embedding = nn.Embedding(length, width)
            self.blocks = nn.ModuleList(Block(causal, has_source) for _ in range(shape["layers"]))
            self.norm = nn.LayerNorm(width)

        def forward(self, x, pasts=None, source=None):
            first = pasts[0][0].shape[2] if pasts and pasts[0] else 0
            x = x + self.position_embedding.weight[first : first + x.shape[1]]
            for i, block in enumerate(self.blocks):
                x = block(x, pasts[i] if pasts else None, source)
            return self.norm(x)

    class Decoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.token_embedding = nn.Embedding(VOCABULARY, width)
            self.decoder = Stack(shape["length"], causal=True)

        def forward(self, tokens, pasts=None):
            x = self.decoder(self.token_embedding(tokens), pasts)
            return functional.linear(x, self.token_embedding.weight)

    class EncoderDecoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.token_embedding = nn.Embedding(VOCABULARY, width)
            self.encoder = Stack(shape["source"], causal=False)
            self.decoder = Stack(shape["length"], causal=True, has_source=True)

        def forward(self, source, target):
            encoded = self.encoder(self.token_embedding(source))
            x = self.decoder(self.token_embedding(target), source=encoded)
            return functional.linear(x, self.token_embedding.weight)

    class VisionTransformer(nn.Module):
        def __init__(self):
            super().__init__()
            p = shape["patch"]
            self.patch_embedding = nn.Linear(p * p, width)
            self.class_token = nn.Parameter(torch.randn(width) * 0.02)
            self.encoder = Stack((shape["image"] // p) ** 2 + 1, causal=False)
            self.head = nn.Linear(width, CLASSES)

        def forward(self, pixels):
            b, p, n = pixels.shape[0], shape["patch"], shape["image"] // shape["patch"]
            patches = pixels.view(b, n, p, n, p).transpose(2, 3).reshape(b, n * n, p * p)
            x = torch.cat([self.class_token.expand(b, 1, width), self.patch_embedding(patches)], 1)
            return self.head(self.encoder(x)[:, 0])

    kind = VisionTransformer if "image" in shape else EncoderDecoder if "source" in shape else Decoder
    model = kind()
    for p in model.parameters():
        if p.dim() > 1:
            nn.init.normal_(p, std=0.02)
    return model


def random_batch(shape):
    """What the model reads, and the targets."""
    import torch

    def tokens(length):
        return torch.randint(VOCABULARY, (shape["batch"], length))

    if "image" in shape:
        pixels = torch.rand(shape["batch"], 1, shape["image"], shape["image"])
        return [pixels], torch.randint(CLASSES, (shape["batch"],))
    sources = [tokens(shape["source"])] if "source" in shape else []
    return [*sources, tokens(shape["length"])], tokens(shape["length"])


def measure_step(shape, variant, precision, threads, steps):
    import torch
    from torch.nn import functional

    torch.set_num_threads(threads)
    torch.manual_seed(1)
    model = make_model(shape, variant["attention"] == "fused")
    run = torch.compile(model) if variant["run"] == "compiled" else model
    options = {"fused": True} if int(torch.__version__.split(".")[0]) >= 2 else {}
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.99), weight_decay=0.1, **options)
    times = []
    for _ in range(steps + steps // 2):
        inputs, targets = random_batch(shape)
        start = time.perf_counter()
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=precision == "bf16"):
            loss = functional.cross_entropy(run(*inputs).flatten(0, -2), targets.flatten())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        times.append(time.perf_counter() - start)
    seconds = statistics.median(times[-steps:])
    read = shape["batch"] * (1 if "image" in shape else shape["length"] + shape.get("source", 0))  # images, or tokens
    return {
        "ms_per_step": seconds * 1e3,
        "tokens_per_second": read / seconds,
        "parameters": sum(p.numel() for p in model.parameters()),
        "torch": torch.__version__,
    }


def measure_generation(shape, variant, threads):
    """From one token until the positions are full, each token drawn from its softmax."""
    import torch

    torch.set_num_threads(threads)
    torch.manual_seed(1)
    model = make_model(shape, variant["attention"] == "fused").eval()

    def write(cached):
        tokens = torch.zeros(1, 1, dtype=torch.long)
        pasts = [[] for _ in model.decoder.blocks] if cached else None
        while tokens.shape[1] < shape["length"]:
            logits = model(tokens[:, -1:] if cached else tokens, pasts)
            tokens = torch.cat([tokens, torch.multinomial(logits[:, -1].softmax(1), 1)], 1)

    speeds = {}
    with torch.inference_mode():
        for name, cached in ("tokens_per_second", True), ("tokens_per_second_without_cache", False):
            write(cached)
            start = time.perf_counter()
            write(cached)
            speeds[name] = (shape["length"] - 1) / (time.perf_counter() - start)
    return {**speeds, "torch": torch.__version__}


def blas_folders():
    """Debian keeps each BLAS in a folder of its own, and the loader takes the one in its path."""
    import torch

    if "BLAS_INFO=mkl" in torch.__config__.show() or not hasattr(os, "uname"):
        return [""]
    found = [os.path.dirname(p) for p in glob.glob("/usr/lib/*/*/libblas.so.3")]
    return sorted(f for f in found if "openblas" in f or "blis" in f or "mkl" in f) or [""]


def variants(generate, runs):
    runs = ["eager"] if generate else runs
    import torch

    if int(torch.__version__.split(".")[0]) < 2:
        runs = ["eager"]
        attentions = ["composed"]
    else:
        attentions = ["fused", "composed"]
    for attention, run, wait, blas in itertools.product(attentions, runs, ["spin", "sleep"], blas_folders()):
        yield {"attention": attention, "run": run, "wait": wait, "blas": blas}


def in_own_process(variant, arguments, steps):
    environment = dict(os.environ)
    environment["OMP_NUM_THREADS"] = environment["BLIS_NUM_THREADS"] = str(arguments.threads)
    environment.pop("OMP_WAIT_POLICY", None)
    if variant["wait"] == "sleep":
        environment["OMP_WAIT_POLICY"] = "passive"
    if variant["blas"]:
        environment["LD_LIBRARY_PATH"] = variant["blas"]
    command = [sys.executable, os.path.abspath(__file__), "--variant", json.dumps(variant)]
    command += ["--shape", arguments.shape, "--precision", arguments.precision]
    command += ["--threads", str(arguments.threads), "--steps", str(steps)]
    command += ["--generate"] if arguments.generate else []
    described = {**variant, "blas": os.path.basename(variant["blas"])}
    try:
        result = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=arguments.patience)
    except subprocess.TimeoutExpired:
        return {**described, "error": f"not done in {arguments.patience} s"}
    if result.returncode != 0:
        return {**described, "error": (result.stderr.strip().splitlines() or ["ended by a signal"])[-1]}
    return {**described, **json.loads(result.stdout.splitlines()[-1])}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shape", choices=SHAPES, default="toy")
    parser.add_argument("--precision", choices=["f32", "bf16"], default="f32")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--steps", type=int, default=0, help="how many to measure; by default 30, of mini 8")
    parser.add_argument("--patience", type=int, default=120, help="seconds for one variant")
    parser.add_argument("--runs", nargs="+", choices=["eager", "compiled"], default=["eager", "compiled"])
    parser.add_argument("--generate", action="store_true", help="tokens a second instead of a training step")
    parser.add_argument("--variant", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    arguments.steps = arguments.steps or (8 if arguments.shape == "mini" else 30)
    shape = SHAPES[arguments.shape]
    if arguments.generate and not shape.keys().isdisjoint({"image", "source"}):
        parser.error(f"--generate is for decoders, and {arguments.shape} is none")

    if arguments.variant:
        variant = json.loads(arguments.variant)
        if arguments.generate:
            row = measure_generation(shape, variant, arguments.threads)
        else:
            row = measure_step(shape, variant, arguments.precision, arguments.threads, arguments.steps)
        print(json.dumps(row))
        return 0

    def measure(candidates, steps):
        rows = []
        for variant in candidates:
            row = in_own_process(variant, arguments, steps)
            described = {"shape": arguments.shape, "precision": arguments.precision, "steps": steps, **row}
            print(json.dumps(described), flush=True)
            if "error" not in row:
                rows.append((row["tokens_per_second"], variant, row))
        return sorted(rows, key=lambda entry: -entry[0])

    trial = measure(variants(arguments.generate, arguments.runs), TRIAL_STEPS)
    final = measure([variant for _, variant, _ in trial[:FINALISTS]], arguments.steps)
    if not final:
        print("error: no variant ran", file=sys.stderr)
        return 1
    best = final[0][2]
    print(json.dumps({"best": True, "shape": arguments.shape, "precision": arguments.precision, **best}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
