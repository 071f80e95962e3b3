"""Functions of PyTorch's tensors as functions of qkv's, for gradcheck. PyTorch is the caller's: nothing imports it."""

import inspect
import sys

import numpy

from qkv import _qkv


def function_of(f):
    """The torch.autograd.Function that f is, or whose apply it is; or None."""
    f, torch = getattr(f, '__self__', f), sys.modules.get('torch')
    return f if torch and inspect.isclass(f) and issubclass(f, torch.autograd.Function) else None


def is_pytorchs(f, inputs):
    torch = sys.modules.get('torch')
    return torch is not None and (function_of(f) is not None or any(isinstance(x, torch.Tensor) for x in inputs))


def parameters_of(f):
    """The parameters of f. A torch.autograd.Function's are those of its forward, without ctx."""
    function = function_of(f)
    if function is None:
        return list(inspect.signature(f).parameters.values())
    parameters = list(inspect.signature(function.forward).parameters.values())
    return parameters[1:] if parameters and parameters[0].name == 'ctx' else parameters


def of_tensors(f, inputs, names, order):
    """A function of qkv's tensors, and those inputs that it is checked by, with their names: the floating inputs that
    require a gradient; where none does, all floating ones."""
    torch, function = sys.modules['torch'], function_of(f)
    inputs = [torch.from_dlpack(x.copy()) if isinstance(x, numpy.ndarray) else x for x in inputs]
    tensors = [i for i, x in enumerate(inputs) if isinstance(x, torch.Tensor)]
    if any(inputs[i].is_complex() for i in tensors):
        raise TypeError('gradcheck: an input is complex; torch.view_as_complex in the function makes it of real numbers')
    floating = [i for i in tensors if inputs[i].is_floating_point()]
    checked = [i for i in floating if inputs[i].requires_grad] or floating

    def value(*given):
        arguments = list(inputs)
        for i, x in zip(checked, given):
            arguments[i] = x.to(inputs[i].device)
        result = function.apply(*arguments) if function else f(*arguments)
        results = result if isinstance(result, (list, tuple)) else [result]
        if not all(isinstance(y, torch.Tensor) and not y.is_complex() for y in results):
            raise TypeError(f'gradcheck: the function gave {type(result)}, which is not a tensor of real numbers')
        results = [y.cpu() for y in results if y.is_floating_point()]
        if not results:
            raise TypeError('gradcheck: the function gave no tensor of floating numbers')
        return results[0] if len(results) == 1 else torch.cat([y.reshape(-1) for y in results])

    name = function.__name__ if function else getattr(f, '__name__', type(f).__name__)
    if order > 1:
        _check_twice(torch, value, [inputs[i].detach().cpu() for i in checked], name)
    op = _op_of(value, name, order)
    return op, [_qkv.tensor(inputs[i].detach().cpu()) for i in checked], [names[i] for i in checked]


def _check_twice(torch, f, inputs, name):
    """PyTorch gives zeros for the second derivatives of functions marked as having none."""
    with torch.enable_grad():
        inputs = [x.requires_grad_() for x in inputs]
        nodes = [_gradients(torch, f, *inputs, torch.ones_like(f(*inputs)).requires_grad_()).grad_fn]
    for node in nodes:
        if type(node).__name__ == 'Error':
            raise _qkv.Error(f'gradcheck: {name} is not differentiable again: a backward is marked @once_differentiable; '
                             'order=1 checks the first derivatives')
        nodes += {each for each, _ in getattr(node, 'next_functions', ()) if each and each not in nodes}


def _gradients(torch, f, *inputs):
    """The gradients of f, one after the other, by its inputs and its result's gradient."""
    again = torch.is_grad_enabled()
    *inputs, dy = inputs
    with torch.enable_grad():
        inputs = [x if x.requires_grad else x.detach().requires_grad_() for x in inputs]
        y = f(*inputs)
        found = [None] * len(inputs)
        if y.requires_grad:
            found = torch.autograd.grad(y, inputs, dy, create_graph=again, allow_unused=True)
        return torch.cat([(torch.zeros_like(x) if g is None else g).reshape(-1) for g, x in zip(found, inputs)])


def _op_of(f, name, order):
    """f as an op: its values by f, its gradients by PyTorch, which are differentiated up to the order."""
    torch = sys.modules['torch']

    def forward(self, *arrays):
        with torch.no_grad():
            return f(*[torch.from_dlpack(array.copy()) for array in arrays]).detach()

    def backward(self, saved, dy):
        given = [saved.input(i) for i in range(len(saved))] + [dy]
        if order == 1:
            given = [x.detach() for x in given]
        gradients = _op_of(lambda *x: _gradients(torch, f, *x), f'gradient of {name}', order - 1)(*given)
        result, start = [], 0
        for x in given[:-1]:
            result.append(_qkv.reshape(_qkv.slice(gradients, 0, start, x.size), x.shape))
            start += x.size
        return result

    op = type(name, (), {'forward': forward, 'backward': backward})()
    return lambda *x: _qkv._apply(op, x)
