"""The formula of each op in PyTorch: of the shape of the result, the inputs, and the op's attributes."""

import importlib
import math
import os
import sys

import torch
import torch.nn.functional as F

sys.path.append(os.environ['QKV_SOURCE_DIR'] + '/tools')
models = importlib.import_module('pytorch_models')


def tensor(array):
    return torch.tensor(array.copy())


def summed_to(shape, x):
    while x.dim() > len(shape):
        x = x.sum(0)
    for axis, size in enumerate(shape):
        if x.shape[axis] != size:
            x = x.sum(axis, keepdim=True)
    return x


def rows_of_minus_infinity(x):
    return (x == -math.inf).all(-1, keepdim=True)


def softmax(shape, x):
    hidden = rows_of_minus_infinity(x)
    return F.softmax(x.masked_fill(hidden, 0.0), -1).masked_fill(hidden, 0.0)


def windows(x, kernel, before):
    """The inputs of K taps side by side: [B, T, C] -> [B, T, K C]."""
    length = x.shape[1]
    padded = F.pad(x, (0, 0, before, kernel - 1 - before))
    return torch.cat([padded[:, tap:tap + length] for tap in range(kernel)], -1)


def fold(shape, x, kernel, before):
    zeros = torch.zeros(shape, dtype=x.dtype, requires_grad=True)
    return torch.autograd.grad(windows(zeros, kernel, before), zeros, x, create_graph=True)[0]


def depthwise(shape, x, weight, bias=None, before=0):
    return models.convolution(x, weight, bias, before, groups=x.shape[2])


def cross_entropy(shape, logits, targets, ignored, label_smoothing):
    return F.cross_entropy(logits, tensor(targets), ignore_index=ignored, label_smoothing=label_smoothing, reduction='none')


TORCH_OPS = {
    'add': lambda shape, a, b: a + b,
    'sub': lambda shape, a, b: a - b,
    'mul': lambda shape, a, b: a * b,
    'div': lambda shape, a, b: a / b,
    'pow': lambda shape, a, b=None, exponent=None: a ** (b if exponent is None else exponent),
    'maximum': lambda shape, a, b: torch.maximum(a, b),
    'scale': lambda shape, x, factor: x * factor,
    'add_scalar': lambda shape, x, term: x + term,
    'neg': lambda shape, x: -x,
    'exp': lambda shape, x: x.exp(),
    'log': lambda shape, x: x.log(),
    'sqrt': lambda shape, x: x.sqrt(),
    'rsqrt': lambda shape, x: x.rsqrt(),
    'erf': lambda shape, x: x.erf(),
    'tanh': lambda shape, x: x.tanh(),
    'sigmoid': lambda shape, x: x.sigmoid(),
    'relu': lambda shape, x: x.relu(),
    'silu': lambda shape, x: F.silu(x),
    'gelu': lambda shape, x, tanh=False: F.gelu(x, approximate='tanh' if tanh else 'none'),
    'cast': lambda shape, x: x.double(),
    'where': lambda shape, a, b, mask: torch.where(tensor(mask), a, b),
    'masked_fill': lambda shape, x, mask, value: x.masked_fill(tensor(mask), value),
    'matmul': lambda shape, a, b, transpose_a, transpose_b: (a.mT if transpose_a else a) @ (b.mT if transpose_b else b),
    'linear': lambda shape, x, weight, bias=None: F.linear(x, weight, bias),
    'rotary': lambda shape, x, first_position, base=10000.0: models.rotary(x, first_position, base),
    'depthwise_convolution': depthwise,
    'unfold': lambda shape, x, kernel, before: windows(x, kernel, before),
    'fold': fold,
    'reshape': lambda shape, x: x.reshape(shape),
    'permute': lambda shape, x, axes: x.permute(axes),
    'concat': lambda shape, *pieces, axis: torch.cat(pieces, axis),
    'slice': lambda shape, x, axis, start: x.narrow(axis, start, shape[axis]),
    'pad': lambda shape, x, axis, start: torch.cat(
        [torch.zeros(*x.shape[:axis], start, *x.shape[axis + 1:], dtype=x.dtype), x,
         torch.zeros(*x.shape[:axis], shape[axis] - start - x.shape[axis], *x.shape[axis + 1:], dtype=x.dtype)], axis),
    'broadcast_to': lambda shape, x: x.broadcast_to(shape),
    'sum_to': summed_to,
    'sum': lambda shape, x, axis: x.sum(axis),
    'max': lambda shape, x, axis: x.max(axis, keepdim=True).values,
    'softmax': softmax,
    'log_softmax': lambda shape, x: F.log_softmax(x, -1),
    'cross_entropy': cross_entropy,
    'layer_norm': lambda shape, x, weight, bias=None, epsilon=1e-5: F.layer_norm(x, x.shape[-1:], weight, bias, epsilon),
    'rms_norm': lambda shape, x, weight, epsilon: models.rms_norm(x, weight, epsilon),
    'embedding': lambda shape, table, index: table[tensor(index)].reshape(shape),
    'gather': lambda shape, x, axis, index: x.gather(axis, tensor(index)),
    'scatter_add': lambda shape, x, axis, index: torch.zeros(shape, dtype=x.dtype).scatter_add(axis, tensor(index), x),
    'one_hot': lambda shape, index: F.one_hot(index, shape[-1]).double(),
    'dropout': lambda shape, x, mask, p: x * tensor(mask) / (1 - p),
}
