#!/usr/bin/env python3
"""Sets the verdicts of three gradient checkers beside each other, on the functions of
tests/framework/gradcheck/scale_test.cc: each right as it is, and each with a wrong gradient.

    QKV_PRINT_VERDICTS=1 framework_test --gtest_filter=ScaleTest.WhatIsWrongFails > verdicts.txt
    python3 tools/gradcheck-verdicts.py verdicts.txt [--misses]

Prints two tables in Markdown: all verdicts, and those of each scale s. --misses lists the verdicts
that are not what they should be.

qkv       what the test printed.
PyTorch   torch.autograd.gradcheck with its defaults: central differences with a step of 1e-6, every
          output by every element, |a - n| <= 1e-5 + 1e-3 |n|.
JAX       the rule of jax.test_util.check_grads(f, args, order=1, modes=["rev"]) for float64, as
          jax/_src/public_test_util.py has it at commit 8b2cbd4de4ba4852944a8358ffee1158dedc38c6: one
          central difference with a step of 1e-4 along one random tangent, times one random cotangent
          (both normal, of numpy's RandomState(0)), |a - n| <= 1e-5 + 1e-5 |n|. JAX itself is not run:
          functions and gradients are PyTorch's.
"""
import argparse
import json
import sys

import numpy as np
import torch

NUMBERS = torch.float64


def layer_norm(x, weight, bias, epsilon):
    size = (x.numel(),)
    weight, bias = torch.full(size, weight, dtype=NUMBERS), torch.full(size, bias, dtype=NUMBERS)
    return torch.nn.functional.layer_norm(x.reshape(1, -1), size, weight, bias, epsilon)


def functions_of(s):
    """(name, function, point), in the order of subjects_of() in scale_test.cc."""
    positive, both = [0.6, 1.3, 2.1], [0.6, -1.3, 2.1]
    scaled, above = [s * x for x in both], [s * x for x in positive]
    mixed = [0.7 * s, -1.1, 1.9 / s]
    return [
        ("1 / x", lambda x: x**-1.0, scaled),
        ("log x", lambda x: x.log(), above),
        ("sqrt x", lambda x: x.sqrt(), above),
        ("x^1.5", lambda x: x * x.sqrt(), above),
        ("x |x|", lambda x: x * torch.maximum(x, -x), scaled),
        ("x^2", lambda x: x * x, scaled),
        ("x^3", lambda x: x * x * x, scaled),
        ("tanh(x / s)", lambda x: (x * (1 / s)).tanh(), scaled),
        ("s tanh x", lambda x: s * x.tanh(), both),
        ("s x^3", lambda x: s * (x * x * x), both),
        ("s + sum(tanh x)", lambda x: s + x.tanh().sum(), both),
        ("softmax(x / s)", lambda x: (x * (1 / s)).softmax(-1), scaled),
        ("s exp(x / s)", lambda x: s * (x * (1 / s)).exp(), scaled),
        ("layer_norm x", lambda x: layer_norm(x, 1.5, 0.5, 1e-6 * s * s), scaled),
        ("x / sqrt(x^2 + s^2)", lambda x: x * (x * x + s * s).rsqrt(), scaled),
        ("x^2 of all scales", lambda x: x * x, mixed),
        ("1 / x of all scales", lambda x: x**-1.0, mixed),
        ("sum(x^2)", lambda x: (x * x).sum(), scaled),
    ]


def all_functions():
    functions = [(f"{name} at 1e{power}", f, at)
                 for power in range(-12, 13, 2) for name, f, at in functions_of(10.0**power)]
    for spread in (1e-2, 1e-4, 1e-6, 1e-8):
        at = [1 + 0.3 * spread, 1 - 0.2 * spread, 1 + 0.9 * spread, 1 - spread]
        functions.append((f"layer_norm of 1 + {spread} u", lambda x: layer_norm(x, 1.0, 0.0, 1e-12), at))
    return functions


def without_the_first(gradient):
    factors = torch.ones_like(gradient)
    factors[0] = 0.0
    return gradient * factors


MISTAKES = [
    ("twice too large", lambda gradient: 2.0 * gradient),
    ("of the wrong sign", lambda gradient: -gradient),
    ("left out", lambda gradient: 0.0 * gradient),
    ("left out at one element", without_the_first),
    ("too large by a thousandth", lambda gradient: 1.001 * gradient),
]


class Mistaken(torch.autograd.Function):
    """The identity, with a mistake on the way back."""

    @staticmethod
    def forward(ctx, x, mistake):
        ctx.mistake = mistake
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        return ctx.mistake(gradient), None


def pytorch_passes(f, at):
    x = torch.tensor(at, dtype=NUMBERS, requires_grad=True)
    return torch.autograd.gradcheck(f, (x,), raise_exception=False)


def jax_rule_passes(f, at):
    step, tolerance = 1e-4, 1e-5
    random = np.random.RandomState(0)
    x = torch.tensor(at, dtype=NUMBERS, requires_grad=True)
    y = f(x)
    tangent = random.randn(*x.shape)
    with torch.no_grad():
        ahead, behind = (f(x + sign * step * torch.from_numpy(tangent)).numpy() for sign in (1, -1))
    with np.errstate(invalid="ignore"):
        difference = np.where(ahead == behind, 0.0, ahead - behind) * (0.5 / step)
    cotangent = np.asarray(random.randn(*y.shape))
    (gradient,) = torch.autograd.grad(y, x, torch.from_numpy(cotangent))
    analytic = np.dot(tangent.reshape(-1), gradient.numpy().reshape(-1))
    numeric = np.dot(difference.reshape(-1), cotangent.reshape(-1))
    return np.allclose(analytic, numeric, atol=tolerance, rtol=tolerance, equal_nan=True)


def check_that_it_is_the_same(line, name, f, at, mistake):
    """Ends the program unless the test's function is this one."""
    if (line["name"], line["mistake"]) != (name, mistake):
        sys.exit(f"error: the test has {line['name']}, {line['mistake']}, and this list {name}, {mistake}")
    value = f(torch.tensor(at, dtype=NUMBERS)).reshape(-1).numpy()
    if not np.allclose(line["at"], at, rtol=1e-15, atol=0.0):
        sys.exit(f"error: {name}: the test is at {line['at']}, and not {at}")
    # A row of layer_norm that is nearly constant has no more digits than these.
    if not np.allclose(line["value"], value, rtol=1e-7, atol=1e-7 * abs(value).max()):
        sys.exit(f"error: {name}: the test gives {line['value']}, and not {value.tolist()}")


def read_verdicts(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.startswith("{")]


class Row:
    """The verdicts of one checker that are not what they should be."""

    def __init__(self):
        self.stopped = []  # right functions that do not pass
        self.missed = {}   # functions whose gradient is wrong and does not fail: the mistake

    def add(self, name, mistake, right_passes, wrong_fails):
        if not right_passes:
            self.stopped.append(name)
        if not wrong_fails:
            self.missed[name] = mistake

    def counts(self, names):
        """Of these functions: how many pass as they are, how many fail with a mistake, how many do both."""
        passing = {name for name in names if name not in self.stopped}
        failing = {name for name in names if name not in self.missed}
        return len(passing), len(failing), len(passing & failing)


def print_tables(rows, names):
    print(f"| checker, of {len(names)} | right functions that pass | wrong gradients that fail | both |")
    print("| --- | ---: | ---: | ---: |")
    for checker, row in rows.items():
        print("| {} | {} | {} | {} |".format(checker, *row.counts(names)))
    scales = {}
    for name in names:
        _, at, scale = name.rpartition(" at ")
        if at:
            scales.setdefault(scale, []).append(name)
    print("\n| both, by the scale s | " + " | ".join(scales) + " |")
    print("| --- |" + " ---: |" * len(scales))
    for checker, row in rows.items():
        print(f"| {checker} | " + " | ".join(str(row.counts(of)[2]) for of in scales.values()) + " |")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("verdicts", help="what the test printed")
    parser.add_argument("--misses", action="store_true", help="lists the verdicts that are wrong")
    options = parser.parse_args()
    lines, functions = read_verdicts(options.verdicts), all_functions()
    if len(lines) != len(functions):
        sys.exit(f"error: the test has {len(lines)} functions, and this list {len(functions)}")

    judges = {"PyTorch's `gradcheck`": pytorch_passes, "JAX's rule": jax_rule_passes}
    rows = {checker: Row() for checker in ("qkv", *judges)}
    for i, (line, (name, f, at)) in enumerate(zip(lines, functions)):
        mistake, made_of = MISTAKES[i % len(MISTAKES)]
        check_that_it_is_the_same(line, name, f, at, mistake)

        def wrong(x, f=f, made_of=made_of):
            return f(Mistaken.apply(x, made_of))

        rows["qkv"].add(name, mistake, line["right"] == "PASS", line["wrong"] == "FAIL")
        for checker, passes in judges.items():
            rows[checker].add(name, mistake, passes(f, at), not passes(wrong, at))
    print_tables(rows, [name for name, _, _ in functions])
    if options.misses:
        for checker, row in rows.items():
            for name in row.stopped:
                print(f"{checker}: does not pass: {name}")
            for name, mistake in row.missed.items():
                print(f"{checker}: does not fail: {name}, {mistake}")
    print(f"PyTorch {torch.__version__}", file=sys.stderr)


main()
