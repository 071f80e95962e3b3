"""backward, gradcheck, ops of one's own."""

import signal
import unittest

import numpy as np

import qkv
from swish import Swish


class BackwardTest(unittest.TestCase):
    def setUp(self):
        self.x = qkv.tensor(np.random.default_rng(1).normal(size=(3, 4)), requires_grad=True)

    def test_gradients_are_values(self):
        p = qkv.softmax(self.x @ self.x.T / 2.0)
        g = qkv.backward((p @ self.x).sum(), keep=[p])
        self.assertIsInstance(g[self.x], np.ndarray)
        self.assertEqual((g[self.x].shape, g[p].shape, len(g)), ((3, 4), (3, 3), 2))
        self.assertIn(self.x, g)
        self.assertEqual(repr(g), '<qkv.Gradients of 2 tensors>')
        with self.assertRaisesRegex(qkv.Error, 'does not depend'):
            g[qkv.tensor(np.zeros(1), requires_grad=True)]
        with self.assertRaisesRegex(TypeError, 'not iterable'):
            iter(g)

    def test_takes_a_cotangent(self):
        v = np.random.default_rng(2).normal(size=(3, 4))
        np.testing.assert_array_equal(qkv.backward(self.x * 2.0, cotangent=v)[self.x], 2 * v)
        with self.assertRaises(qkv.Error):
            qkv.backward(self.x * 2.0)

    def test_a_graph_is_walked_once_unless_it_is_kept(self):
        y = (self.x * self.x).sum()
        qkv.backward(y, keep_graph=True)
        qkv.backward(y)
        with self.assertRaises(qkv.Error):
            qkv.backward(y)

    def test_ctrl_c_ends_it_between_two_ops(self):
        class Last(Swish):  # of forward, the first of backward
            def backward(self, saved, dy):
                signal.setitimer(signal.ITIMER_REAL, 0.001)
                return dy

        def stop(*_):
            raise KeyboardInterrupt

        self.addCleanup(signal.signal, signal.SIGALRM, signal.signal(signal.SIGALRM, stop))
        x = qkv.tensor(np.ones((100, 100)), requires_grad=True)
        first = y = (x * x).sum()
        for _ in range(500):
            y = qkv.tanh(y + x @ x)
        with self.assertRaises(KeyboardInterrupt):
            qkv.backward(Last()(y).sum())
        self.assertIn(x, qkv.backward(first))  # to which the walk did not come

    def test_nothing_is_recorded_where_no_gradient_is_wanted(self):
        context = qkv.no_grad()
        with context:
            self.assertFalse((self.x * self.x).requires_grad)
            with context:  # one object may be used twice at once
                pass
            self.assertFalse((self.x * self.x).requires_grad)
        self.assertTrue((self.x * self.x).requires_grad)
        self.assertFalse(qkv.no_grad()(lambda: self.x * self.x)().requires_grad)


class GradcheckTest(unittest.TestCase):
    def setUp(self):
        random = np.random.default_rng(1)
        self.inputs = [random.normal(size=(3, 4)), random.normal(size=(4, 2))]

    def test_reports_as_the_command_line_does(self):
        report = qkv.gradcheck(lambda x, w: qkv.tanh(qkv.matmul(x, w)).sum(), self.inputs, order=2)
        self.assertTrue(report)
        self.assertEqual((report.verdict, report.computed_in), ('PASS', 'f128'))
        self.assertIn('PASS  order 1  x f64[3, 4]: 12 derivatives', report.to_text())
        self.assertIn('PASS  order 2  w f64[4, 2]', repr(report))
        self.assertIn('<pre>', report._repr_html_())
        self.assertIn('<html', report.to_html())

    def test_finds_a_wrong_derivative(self):
        class Wrong(Swish):
            def backward(self, saved, dy):
                return dy * qkv.sigmoid(saved.input(0))

        report = qkv.gradcheck(lambda x: Wrong()(x), self.inputs[:1])
        self.assertFalse(report)
        self.assertEqual(report.verdict, 'FAIL')

    def test_checks_an_op_of_ones_own_at_both_orders(self):
        report = qkv.gradcheck(lambda x: Swish()(x), self.inputs[:1], order=2)
        self.assertTrue(report.passed, report)
        self.assertIn('Swish reads numbers as doubles', report.to_text())

    def test_an_error_of_the_function_comes_through_as_it_is(self):
        with self.assertRaisesRegex(KeyError, 'mine'):
            qkv.gradcheck(lambda x: {}['mine'], self.inputs[:1])
        with self.assertRaisesRegex(TypeError, "gave <class 'float'>, which is not a tensor"):
            qkv.gradcheck(lambda x: 1.0, self.inputs[:1])
        with self.assertRaisesRegex(qkv.Error, 'no input is f64 or f32'):
            qkv.gradcheck(lambda x: x, [qkv.tensor([1, 2])])

    def test_takes_ops_and_whatever_is_an_array(self):
        for inputs in (np.ones(3), qkv.tensor(np.ones(3)), [np.ones(3)], [[1.0, 1.0, 1.0]]):
            self.assertTrue(qkv.gradcheck(qkv.softmax, inputs).passed)

    def test_ctrl_c_ends_it(self):
        def interrupted(x, w):
            signal.raise_signal(signal.SIGINT)
            return qkv.matmul(x, w)

        with self.assertRaises(KeyboardInterrupt):
            qkv.gradcheck(interrupted, self.inputs)


class OpTest(unittest.TestCase):
    def setUp(self):
        self.x = qkv.tensor(np.random.default_rng(1).normal(size=(3, 4)), requires_grad=True)

    def test_has_several_inputs_and_says_none(self):
        class ScaledBy(qkv.Op):
            def forward(self, x, factor):
                return x * factor

            def backward(self, saved, dy):
                assert saved.needs(0) and not saved.needs(1) and len(saved) == 2
                assert saved.shape(0) == saved.output().shape and saved.dtype(1) == 'f64'
                return dy * saved.input(1), None

        y = ScaledBy()(self.x, np.full((3, 4), 3.0))
        np.testing.assert_array_equal(qkv.backward(y.sum())[self.x], np.full((3, 4), 3.0))

    def test_its_errors_come_through(self):
        class Broken(qkv.Op):
            def forward(self, x):
                return x

            def backward(self, saved, dy):
                return {}['gone']

        class Stopped(Broken):
            def backward(self, saved, dy):
                raise KeyboardInterrupt

        class TooMany(Broken):
            def backward(self, saved, dy):
                return dy, dy

        class Forwardless(qkv.Op):
            pass

        class Nothing(qkv.Op):
            def forward(self, x):
                pass

        for op, error, text in ((Broken, qkv.Error, "backward of Broken: KeyError: 'gone'"),
                                (TooMany, qkv.Error, 'TooMany: backward gave 2 gradients for 1 input')):
            with self.assertRaisesRegex(error, f'^{text}$') as caught:
                qkv.backward(op()(self.x).sum())
            if op is Broken:  # the exception of Python's, with its traceback
                self.assertIsInstance(caught.exception.__cause__, KeyError)
                self.assertEqual(caught.exception.__cause__.__traceback__.tb_frame.f_code.co_name, 'backward')
        with self.assertRaises(KeyboardInterrupt):
            qkv.backward(Stopped()(self.x).sum())
        with self.assertRaisesRegex(NotImplementedError, 'Forwardless has no forward'):
            Forwardless()(self.x)
        with self.assertRaisesRegex(qkv.Error, '^Nothing: forward gave NoneType; '):
            Nothing()(self.x)
        with self.assertRaisesRegex(TypeError, "<class 'list'> is not a tensor"):
            Swish()([1.0])

    def test_a_mask_that_it_gives_has_no_gradient(self):
        class Positive(qkv.Op):
            def forward(self, x):
                return x > 0

        self.assertEqual((Positive()(self.x).dtype, Positive()(self.x).requires_grad), ('bool', False))

    def test_what_it_saved_is_read_while_it_runs(self):
        kept = []

        class Keeper(Swish):
            def backward(self, saved, dy):
                kept.append(saved)
                with self.test.assertRaisesRegex(qkv.Error, 'there is no input 1'):
                    saved.input(1)
                return dy

        Keeper.test = self
        qkv.backward(Keeper()(self.x).sum())
        with self.assertRaisesRegex(qkv.Error, 'its backward has ended'):
            kept[0].input(0)


if __name__ == '__main__':
    unittest.main()
