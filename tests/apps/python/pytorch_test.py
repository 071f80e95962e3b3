"""PyTorch's tensors: their memory, and qkv.gradcheck on functions of them. Ends with 77, a skip, where there is no PyTorch."""

import os
import subprocess
import sys
import unittest
from pathlib import Path

import numpy as np

import qkv

try:
    import torch
except ImportError:
    print('skipped: there is no PyTorch (Debian: python3-torch)')
    sys.exit(77)

import torch_functions
from torch_functions import FUNCTIONS, NO_DERIVATIVE, RIGHT, WRONG, at, numbers, own

SOURCE = Path(os.environ['QKV_SOURCE_DIR'])


class TensorsTest(unittest.TestCase):
    def test_memory_is_shared_both_ways(self):
        for dtype in (torch.float32, torch.float64, torch.int64, torch.bfloat16):
            t = torch.ones(2, 3, dtype=dtype)
            x = qkv.tensor(t)
            self.assertEqual(x.dtype, {torch.float32: 'f32', torch.float64: 'f64', torch.int64: 'i64',
                                       torch.bfloat16: 'bf16'}[dtype])
            self.assertEqual(x.numpy().ctypes.data, t.data_ptr())
            self.assertEqual(torch.from_dlpack(x).data_ptr(), t.data_ptr())
        t = torch.arange(6.0).reshape(2, 3).T
        np.testing.assert_array_equal(qkv.tensor(t).numpy(), t.numpy())
        t = torch.arange(6.0)
        x = qkv.tensor(t)
        del t
        np.testing.assert_array_equal(x.numpy(), np.arange(6.0))


class FunctionsTest(unittest.TestCase):

    def test_each_has_its_verdict(self):
        for name, kind, function, inputs in FUNCTIONS:
            with self.subTest(name):
                verdict = qkv.gradcheck(function, inputs).verdict
                self.assertIn(verdict, {RIGHT: ('PASS',), WRONG: ('FAIL',), NO_DERIVATIVE: ('FAIL', 'UNDECIDED')}[kind])

    def test_the_page_shows_what_the_script_prints(self):
        table = torch_functions.table()
        if not torch.__version__.startswith('1.13'):  # whose verdicts the page shows
            self.skipTest(f'PyTorch is {torch.__version__}, not 1.13')
        self.assertIn(table.split('\n\n')[0], (SOURCE / 'docs/python.md').read_text())

    def test_second_derivatives(self):
        for name, kind, function, inputs in FUNCTIONS:
            if kind != RIGHT or 'flash' in name or 'f32' in name:
                continue
            with self.subTest(name):
                report = qkv.gradcheck(function, inputs, order=2)
                self.assertTrue(report.passed, report)
                self.assertIn('order 2', report.to_text())

    def test_a_wrong_second_derivative_fails_at_order_2_alone(self):
        cube = own(lambda x: x ** 3, lambda dy, y, x: dy * 3 * (x * x.detach()))
        x = numbers(4)
        self.assertTrue(qkv.gradcheck(cube, x).passed)
        self.assertEqual(qkv.gradcheck(cube, x, order=2).verdict, 'FAIL')

    def test_what_is_marked_as_differentiable_once_is_refused_at_order_2_alone(self):
        function, inputs = next((f, x) for name, _, f, x in FUNCTIONS if name == 'flash attention')
        for f, name in ((function, '<lambda>'), (lambda q, k, v: torch.exp(function(q, k.exp(), v)).sum(), '<lambda>')):
            self.assertTrue(qkv.gradcheck(f, inputs).passed)
            with self.assertRaisesRegex(qkv.Error, f'{name} is not differentiable again: a backward is marked @once_diff'):
                qkv.gradcheck(f, inputs, order=2)
        self.assertTrue(all(x.grad is None for x in inputs))


class InputsTest(unittest.TestCase):
    def test_takes_classes_and_their_apply_modules_and_functions(self):
        exp = own(torch.exp, lambda dy, y, x: dy * y)
        x = numbers(2, 3)
        for f, inputs in ((exp, x), (exp.apply, [x]), (exp, (x,)), (exp, np.ones((2, 3))), (exp, [qkv.ones(2, 'f64').numpy()]),
                          (torch.exp, x), (lambda x: exp.apply(x), x), (torch.nn.Linear(3, 2).double(), x),
                          (torch.nn.Softmax(-1).forward, x)):
            self.assertTrue(qkv.gradcheck(f, inputs).passed)

    def test_names_are_those_of_the_function(self):
        class Product(torch.autograd.Function):
            @staticmethod
            def forward(ctx, left, factor, right):
                ctx.save_for_backward(left, right)
                ctx.factor = factor
                return factor * left * right

            @staticmethod
            def backward(ctx, dy):
                left, right = ctx.saved_tensors
                return ctx.factor * dy * right, None, ctx.factor * dy * left

        for f, names in ((Product, None), (Product.apply, None), (lambda left, factor, right: left * factor * right, None),
                         (lambda *x: x[0] * x[1] * x[2], ['left', 'factor', 'right'])):
            report = qkv.gradcheck(f, [numbers(3), 2.5, numbers(3, seed=1)], names=names)
            self.assertTrue(report.passed, report)
            lines = [line for line in report.to_text().splitlines() if 'order 1  ' in line]
            self.assertEqual([line.split()[3] for line in lines], ['left', 'right'])
        text = qkv.gradcheck(lambda *x: x[0] * x[2], [numbers(3), 1, numbers(3)]).to_text()
        self.assertIn('input 0 f64[3]', text)
        self.assertIn('input 2 f64[3]', text)

    def test_inputs_that_need_no_gradient_are_constants(self):
        half = own(lambda x, w: x * w, lambda dy, y, x, w: (dy * w, None))
        w = numbers(3, seed=1)
        self.assertEqual(qkv.gradcheck(half, [numbers(3), w]).verdict, 'FAIL')
        report = qkv.gradcheck(half, [numbers(3), w.detach()])
        self.assertTrue(report.passed, report)
        self.assertEqual(report.derivatives, 9)
        both = qkv.gradcheck(lambda x, w: x * w, [numbers(3).detach(), w.detach()])  # where none needs one, all are checked
        self.assertEqual((both.verdict, both.derivatives), ('PASS', 18))

    def test_nothing_of_the_callers_is_changed(self):
        x = numbers(3)
        before = x.detach().clone()
        qkv.gradcheck(lambda x: x.exp(), x, order=2)
        self.assertTrue(torch.equal(x.detach(), before) and x.grad is None and torch.is_grad_enabled())
        with torch.no_grad():
            self.assertTrue(qkv.gradcheck(torch.tanh, x, order=2).passed)
        changed = qkv.gradcheck(lambda x: x.mul(1.0).mul_(2.0).exp_(), x)  # in place, on what is its own
        self.assertTrue(changed.passed)

    def test_an_index_is_that_of_the_only_result(self):
        wrong = own(torch.exp, lambda dy, y, x: dy * y * (1 - torch.eye(3, dtype=y.dtype)))
        self.assertIn('FAIL at [1, 1] of output [1, 1]', qkv.gradcheck(wrong, numbers(3, 3), worst=9).to_text())

    def test_f32_is_checked_as_it_is(self):
        x = numbers(3).detach().float()
        report = qkv.gradcheck(torch.tanh, x)
        self.assertEqual((report.verdict, report.computed_in), ('PASS', 'f32'), report)
        self.assertEqual(qkv.gradcheck(own(torch.exp, lambda dy, y, x: 1.01 * dy * y), x).verdict, 'FAIL')

    def test_errors_name_the_culprit(self):
        x = numbers(3)
        for f, inputs, error, text in (
                (lambda x: 3.0, x, TypeError, "the function gave <class 'float'>, which is not a tensor of real numbers"),
                (lambda x: torch.argmax(x), x, TypeError, 'gave no tensor of floating numbers'),
                (lambda x: torch.complex(x, x), x, TypeError, 'which is not a tensor of real numbers'),
                (torch.abs, torch.complex(x, x).detach(), TypeError, 'an input is complex'),
                (lambda x: {}['mine'], x, KeyError, 'mine'),
                (lambda x, n: x * n, [torch.arange(3), 2], qkv.Error, 'no input is f64 or f32')):
            with self.assertRaisesRegex(error, text):
                qkv.gradcheck(f, inputs)

    def test_a_backward_that_throws_or_gives_another_shape_fails(self):
        def throws(dy, y, x):
            raise KeyError('gone')

        for backward, text in ((throws, "KeyError: 'gone'"), (lambda dy, y, x: dy[:2], 'invalid gradient')):
            report = qkv.gradcheck(own(torch.exp, backward), at(1.0, 2.0, 3.0))
            self.assertEqual(report.verdict, 'FAIL')
            self.assertIn(text, report.to_text())

    def test_the_package_does_not_import_pytorch(self):
        program = 'import sys, numpy, qkv; qkv.gradcheck(qkv.exp, numpy.ones(3)); print("torch" in sys.modules)'
        result = subprocess.run([sys.executable, '-c', program], capture_output=True, text=True)
        self.assertEqual((result.returncode, result.stdout), (0, 'False\n'), result.stderr)


if __name__ == '__main__':
    unittest.main()
