"""10,000 random calls with wrong arguments: each works or raises, and none ends the program.

    misuse_test.py [CALLS [SEED]]
"""

import gc
import re
import sys
import unittest
import warnings

import numpy as np

import qkv

CALLS, SEED = 10_000, 1
ERRORS = (qkv.Error, TypeError, IndexError, ValueError, OverflowError, MemoryError, NotImplementedError)


class Odd:
    """An object whose methods are not what they seem."""

    def __init__(self, random):
        self.random = random

    def __dlpack__(self):
        return (None, 3, np.zeros(2).__dlpack__())[self.random.integers(3)]

    def __array__(self, dtype=None):
        raise RuntimeError('no array')

    def __float__(self):
        return 1.0


class Arguments:
    """Numbers, arrays, tensors and nonsense, drawn at random. Arrays are let go as soon as they were handed over."""

    def __init__(self, random):
        self.random = random

    def choose(self, choices):
        return choices[self.random.integers(len(choices))]

    def shape(self):
        return tuple(int(size) for size in self.random.choice([0, 1, 1, 2, 3, 4], self.random.integers(0, 5)))

    def array(self):
        dtype = self.choose([np.float64] * 6 + [np.float32] * 6 + [np.int64] * 3 + [
            np.bool_, np.int32, np.float16, np.uint64, np.complex128, np.object_, '>f8', 'U3', [('bfloat16', 'u2')],
            [('a', 'f8')]])
        shape = self.shape()
        if dtype in (np.int64, np.bool_):
            a = self.random.integers(-2, 5, shape).astype(dtype)
        elif isinstance(dtype, list):
            a = np.zeros(shape, dtype)
        else:
            a = self.random.normal(size=shape).astype(dtype)
        layout = self.random.integers(8)
        if layout == 0:
            a = a.T
        elif layout == 1 and a.ndim:
            a = a[::-1]
        elif layout == 2 and a.ndim:
            a = a[..., ::2]
        elif layout == 3:
            a = np.broadcast_to(a, (2, *a.shape))
        elif layout == 4:
            a.flags.writeable = False
        elif layout == 5 and a.dtype.itemsize > 1 and not a.dtype.hasobject:
            moved = np.zeros(a.nbytes + 1, np.uint8)[1:].view(a.dtype).reshape(a.shape)
            moved[...] = a
            a = moved
        return a

    def tensor(self):
        try:
            x = qkv.tensor(self.array(), dtype=self.choose([None] * 6 + ['f32', 'f64', 'bf16', 'i64', 'bool', 'f16']),
                           requires_grad=bool(self.random.integers(2)))
            return x if self.random.integers(4) else self.choose([qkv.exp, qkv.neg, qkv.sum])(x)
        except ERRORS:
            return qkv.zeros(self.shape(), self.choose(['f32', 'f64', 'bf16', 'i64', 'bool']))

    def number(self):
        return self.choose([0, 1, 2, -1, 3, 7, -5, 2 ** 40, 2 ** 62, 2 ** 63, -2 ** 63, 10 ** 30, 0.5, -1.0, float('nan'),
                            float('inf'), 1e308, True])

    def other(self):
        return self.choose([None, 'f32', '', 'erf', object(), Odd(self.random), b'bytes', {}, [], [1, 2], (2, 3),
                            [[1.0], [2.0, 3.0]], [None], slice(None), ..., 1j, self.shape(), [self.tensor(), self.tensor()],
                            {'a': self.tensor()}, qkv.RandomStream(1), qkv.Tensor, lambda *x: x[0], lambda *x: None,
                            np.float32(2.0), range(3)])

    def one(self):
        return self.choose([self.tensor] * 3 + [self.array, self.number, self.number, self.other])()


def callables():
    """Everything that can be called: functions, and methods and operators of tensors."""
    left_out = {'apply', 'op_examples', 'recorded', 'lab', 'train', 'load', 'notebook'}
    found = {}
    for name in dir(qkv):
        if not name.startswith('_') and name not in left_out and callable(getattr(qkv, name)) and name[0].islower():
            found[name] = getattr(qkv, name)
    for name in dir(qkv.Tensor):
        if callable(getattr(qkv.Tensor, name)) and name not in (
                '__class__', '__new__', '__init_subclass__', '__subclasshook__', '__getattribute__', '__reduce__',
                '__reduce_ex__', '__array_function__', '__setattr__', '__delattr__', '__sizeof__', '__dir__'):
            found[f'Tensor.{name}'] = getattr(qkv.Tensor, name)
    for name in ('Linear', 'Embedding', 'LayerNorm', 'RmsNorm', 'MultiHeadAttention', 'FeedForward', 'RandomStream',
                 'Initializer', 'Model'):
        found[name] = getattr(qkv, name)
    return found


def keyword_names(function):
    return re.findall(r'[(,] (\w+): ', function.__doc__ or '')


def call(function, arguments):
    """Calls it with as many arguments as it likes, or with fewer, or more, or others by name."""
    names = keyword_names(function)
    count = max(1, arguments.random.poisson(2.5))
    positional = [arguments.one() for _ in range(count)]
    keywords = {}
    if names and arguments.random.integers(3) == 0:
        keywords = {arguments.choose(names): arguments.one()}
    if arguments.random.integers(10) == 0:
        keywords['no_such_argument'] = 1
    return function(*positional, **keywords)


def use(result):
    """What a person does with a result: shows it, differentiates it, lets it go."""
    if isinstance(result, qkv.Tensor):
        repr(result)
        if result.requires_grad and result.size:
            qkv.backward(result, cotangent=qkv.ones(result.shape, result.dtype))


class MisuseTest(unittest.TestCase):
    def test_every_call_works_or_raises(self):
        arguments = Arguments(np.random.default_rng(SEED))
        found = callables()
        names = sorted(found)
        worked, raised, kept = set(), set(), []
        for i in range(CALLS):
            name = names[i % len(names)]
            try:
                with np.errstate(all='ignore'), warnings.catch_warnings():
                    warnings.simplefilter('ignore')
                    result = call(found[name], arguments)
                    use(result)
                worked.add(name)
                kept = [*kept[-20:], result]
            except ERRORS:
                raised.add(name)
            except RuntimeError as error:
                self.assertIn('no array', str(error), name)
            if i % 500 == 0:
                gc.collect()
        # The calls are neither all wrong nor all right.
        self.assertGreater(len(worked), len(names) // 3)
        self.assertGreater(len(raised), len(names) // 2)


if __name__ == '__main__':
    CALLS, SEED = [*map(int, sys.argv[1:]), CALLS, SEED][:2] if len(sys.argv) != 2 else (int(sys.argv[1]), SEED)
    unittest.main(argv=sys.argv[:1])
