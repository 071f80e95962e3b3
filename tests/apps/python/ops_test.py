"""Every op of ops.h is here, under its name and with its arguments, and agrees with PyTorch."""

import os
import re
import unittest
from pathlib import Path

import numpy as np

import qkv

try:
    import torch

    from torch_ops import TORCH_OPS
except ImportError:
    torch = None

ROOT = Path(os.environ['QKV_SOURCE_DIR'])
COMPOSED = ('attention', 'lstm', 'rnn')  # ops that do not tell all of their attributes


def prototypes():
    """Each op of ops.h, with the names of the arguments of each of its overloads."""
    text = re.sub(r'//.*', '', (ROOT / 'framework/ops/ops.h').read_text())
    options = {name: re.findall(r'(?:\w|::|<[^>]*>)+ (\w+)(?:\{0\})? *(?:=[^;]*)?;', body)
               for name, body in re.findall(r'struct (\w+) \{(.*?)\n\};', text, re.DOTALL)}
    options['AttentionOptions'] = options['AttentionMask'] + [
        name for name in options['AttentionOptions'] if name != 'mask']
    found = {}
    for name, arguments in re.findall(r'^(?:Tensor|std::vector<Tensor>) (\w+)\(([^;]*?)\);', text, re.DOTALL | re.MULTILINE):
        names = []
        for argument in re.split(r',(?![^<]*>)', arguments):
            type_, name_ = re.fullmatch(r'\s*(.*?)[\s&](\w+)(?: = .*)?', argument, re.DOTALL).groups()
            names += options.get(re.sub(r'const |&', '', type_).strip(), [name_])
        found.setdefault(name, set()).add(tuple(names))
    return found


def bound(name):
    """The same of a function of the module, from its help."""
    text = getattr(qkv, name).__doc__
    calls = re.findall(r'^(?:\d+\. )?' + name + r'\((.*)\) ->', text, re.MULTILINE)
    return {tuple(re.findall(r'(\w+): ', call)) for call in calls}


class ListTest(unittest.TestCase):
    def test_every_op_of_the_header_is_here_with_its_arguments(self):
        ops = prototypes()
        self.assertGreater(len(ops), 50)
        for name, overloads in ops.items():
            self.assertTrue(hasattr(qkv, name), f'{name} of ops.h is not bound')
            self.assertEqual(bound(name), overloads, name)
        self.assertIn('Over the last axis. A row of nothing but -inf', qkv.softmax.__doc__)


def as_torch(array):
    return torch.tensor(np.array(array))


class ExamplesTest(unittest.TestCase):
    """An example in PyTorch: the ops that it ran, one by one, each by PyTorch's formula."""

    def in_torch(self, ops, inputs, y):
        values = {}  # of the tensors that have a gradient, by what they are
        leaves = [as_torch(x.numpy()).requires_grad_(x.requires_grad) for x in inputs]
        for x, leaf in zip(inputs, leaves):
            values[x.node] = leaf
        result = None
        for ran in ops:
            arguments = [values[x.node] if x.requires_grad else as_torch(x.numpy()) for x in ran.inputs]
            result = TORCH_OPS[ran.op](ran.output.shape, *arguments, **ran.attributes)
            if ran.output.requires_grad:
                values[ran.output.node] = result
        return leaves, values[y.node] if y.requires_grad else result

    @unittest.skipIf(torch is None, 'there is no PyTorch')
    def test_results_and_gradients_are_those_of_pytorch(self):
        random = np.random.default_rng(1)
        seen = set()
        for op, name, inputs, f in qkv.op_examples():
            with self.subTest(op=op, example=name):
                y = f(inputs)
                traced = []
                ops = qkv.recorded(lambda: traced.append(f(inputs)), composed=op in COMPOSED)
                leaves, expected = self.in_torch(ops, inputs, traced[0])
                seen.update(ran.op for ran in ops)
                np.testing.assert_allclose(y.numpy(), expected.detach().numpy(), rtol=1e-12, atol=1e-12)
                if not y.requires_grad:
                    continue
                v = random.normal(size=y.shape)
                g = qkv.backward(y, cotangent=v)
                torch_gradients = torch.autograd.grad(expected, [leaf for leaf in leaves if leaf.requires_grad], as_torch(v),
                                                      allow_unused=True)
                for x, gradient in zip((x for x in inputs if x.requires_grad), torch_gradients):
                    if x in g or gradient is not None:
                        np.testing.assert_allclose(g[x], gradient.numpy(), rtol=1e-12, atol=1e-12)
        self.assertGreater(len(seen), 35)

    def test_an_op_that_is_called_from_python_gives_the_same_bits(self):
        called = set()
        for op, name, inputs, f in qkv.op_examples():
            for ran in qkv.recorded(lambda: f(inputs)):
                arguments = dict(ran.attributes)
                if not same_call(ran, arguments):
                    continue
                with self.subTest(op=ran.op, example=f'{op}: {name}'):
                    y = getattr(qkv, ran.op)(*ran.inputs, **arguments)
                    np.testing.assert_array_equal(y.numpy(), ran.output.numpy())
                called.add(ran.op)
        self.assertGreater(len(called), 25, called)


def same_call(ran, arguments):
    """Whether the op's inputs and attributes are its arguments; completes them from the shape of the output."""
    if ran.op in ('concat', 'stack', 'attention', 'attention_output', 'rnn', 'lstm', 'dropout', 'masked_fill', 'where',
                  'embedding', 'gather', 'scatter_add', 'cross_entropy', 'one_hot'):
        return False
    shape = ran.output.shape
    if ran.op in ('reshape', 'broadcast_to', 'sum_to'):
        arguments['shape'] = shape
    if ran.op == 'slice':
        arguments['length'] = shape[arguments['axis']]
    if ran.op == 'pad':
        arguments['size'] = shape[arguments['axis']]
    if ran.op == 'cast':
        arguments['dtype'] = ran.output.dtype
    if ran.op == 'depthwise_convolution' and len(ran.inputs) == 2:
        arguments['bias'] = None
    if ran.op in ('sum', 'max'):
        arguments['keep_axis'] = len(shape) == ran.inputs[0].ndim
    if ran.op == 'gelu' and arguments.pop('tanh', False):
        arguments['form'] = 'tanh'
    return hasattr(qkv, ran.op) and not ran.op.startswith('embedding')


if __name__ == '__main__':
    unittest.main()
