#!/usr/bin/env python3
"""Times torch.autograd.gradcheck on multi-head attention: B 2, T 8, C 16, 4 heads, f64.

The same function, inputs and shapes as tools/gradcheck_bench.cc; every output by every element of
the input and of the 8 parameters. Prints one JSON line.
"""
import json
import math
import sys
import time

import torch


def attention(x, wq, bq, wk, bk, wv, bv, wo, bo, heads=4):
    batch, length, width = x.shape

    def split(t):
        return t.view(batch, length, heads, width // heads).transpose(1, 2)

    q, k, v = (split(torch.nn.functional.linear(x, w, b)) for w, b in ((wq, bq), (wk, bk), (wv, bv)))
    scores = q @ k.transpose(-2, -1) / math.sqrt(width // heads)
    y = (scores.softmax(-1) @ v).transpose(1, 2).reshape(batch, length, width)
    return torch.nn.functional.linear(y, wo, bo)


def main():
    torch.manual_seed(1)
    width = 16
    inputs = [torch.randn(2, 8, width, dtype=torch.float64)]
    for _ in range(4):
        inputs += [0.25 * torch.randn(width, width, dtype=torch.float64),
                   0.25 * torch.randn(width, dtype=torch.float64)]
    for t in inputs:
        t.requires_grad_()
    best = {}
    for threads in (1, 2):
        torch.set_num_threads(threads)
        times = []
        for _ in range(int(sys.argv[1]) if len(sys.argv) > 1 else 3):
            start = time.perf_counter()
            torch.autograd.gradcheck(attention, inputs)
            times.append(time.perf_counter() - start)
        best[threads] = min(times)
    print(json.dumps({"torch": torch.__version__, "seconds": min(best.values()),
                      "seconds_by_threads": best}))


main()
