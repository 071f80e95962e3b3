"""qkv: tensors, ops and gradients of the engine, with NumPy in and out."""

import contextlib
import inspect

import numpy

from qkv import _qkv, pytorch
from qkv._qkv import *  # noqa: F401,F403
from qkv._qkv import __version__  # noqa: F401
from qkv.module import Module  # noqa: F401


def _arrays(x):
    if isinstance(x, _qkv.Tensor):
        return numpy.asarray(x)
    return type(x)(map(_arrays, x)) if isinstance(x, (list, tuple)) else x


def _array_function(self, function, types, args, kwargs):
    return function(*_arrays(args), **{name: _arrays(x) for name, x in kwargs.items()})


_qkv.Tensor.__array_function__ = _array_function  # numpy.mean(x) is that of the array


class no_grad(contextlib.ContextDecorator):
    """While the block runs, nothing is recorded in its thread: tensors come out as constants."""

    def __enter__(self):
        _qkv._no_grad(True)
        return self

    def __exit__(self, *error):
        _qkv._no_grad(False)

    def __call__(self, function):
        if inspect.isgeneratorfunction(function) or inspect.iscoroutinefunction(function):
            raise TypeError(f'no_grad: {function.__name__} runs piece by piece; put `with qkv.no_grad():` around a call of it')
        return super().__call__(function)


class Op:
    """An op of your own. A call of an object of it is recorded as any op's.

        class Square(qkv.Op):
            def forward(self, x):              # arrays of NumPy, to one
                return x * x

            def backward(self, saved, dy):     # in qkv's ops: the gradient of each input, or None
                return 2.0 * saved.input(0) * dy

        y = Square()(x)

    `saved` has the inputs and the output: saved.input(i), saved.output(), and saved.needs(i), whether the gradient of
    input i is asked for. The gradients can be differentiated again, as they are made of ops. What forward is given is
    not to be changed. Any thread of the engine may call an op: it waits for the interpreter's lock.
    """

    def __call__(self, *inputs):
        return _qkv._apply(self, inputs)

    def forward(self, *arrays):
        raise NotImplementedError(f'{type(self).__name__} has no forward')

    def backward(self, saved, dy):
        raise NotImplementedError(f'{type(self).__name__} has no backward')


def gradcheck(f, inputs, order=1, seed=1, names=None, worst=3, move_by=0.0):
    if not isinstance(inputs, (list, tuple)):
        inputs = [inputs]
    names = names or _names_of(f, len(inputs))
    if pytorch.is_pytorchs(f, inputs):
        names = names if len(names) == len(inputs) else [f'input {i}' for i in range(len(inputs))]
        f, inputs, names = pytorch.of_tensors(f, inputs, names, order)
    tensors = [x if isinstance(x, _qkv.Tensor) else _qkv.tensor(numpy.asarray(x)) for x in inputs]
    return _qkv.gradcheck(f, tensors, order, seed, names, worst, move_by)


def _names_of(f, count):
    """The names of a function's arguments, if it has `count` of them."""
    try:
        arguments = pytorch.parameters_of(f)
    except ValueError:  # an op has none
        return []
    names = [p.name for p in arguments if p.kind == p.POSITIONAL_OR_KEYWORD]
    return names if len(names) == count else []


gradcheck.__doc__ = _qkv.gradcheck.__doc__
