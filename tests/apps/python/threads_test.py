"""Threads: what belongs to one of them, two on one graph, and those that compute while Python ends."""

import subprocess
import sys
import threading
import unittest

import numpy as np

import qkv


def in_threads(*functions):
    threads = [threading.Thread(target=f) for f in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def parameter(shape=(3, 3)):
    return qkv.tensor(np.ones(shape), requires_grad=True)


class NoGradTest(unittest.TestCase):
    def setUp(self):
        self.x = parameter()

    def records(self):
        return (self.x * self.x).requires_grad

    def test_a_decorated_function_belongs_to_the_thread_that_calls_it(self):
        first_is_in, second_is_out = threading.Event(), threading.Event()
        found = {}

        @qkv.no_grad()
        def work(begin, end):
            begin.set()
            end.wait()
            found[threading.current_thread()] = self.records()

        def first():
            work(first_is_in, second_is_out)
            found['first'] = self.records()

        def second():
            first_is_in.wait()
            already = threading.Event()
            already.set()
            work(threading.Event(), already)
            found['second'] = self.records()
            second_is_out.set()

        in_threads(first, second)
        self.assertEqual((found.pop('first'), found.pop('second')), (True, True))
        self.assertEqual(list(found.values()), [False, False])

    def test_blocks_of_a_thread_may_end_in_any_order(self):
        def block(context):
            with context:
                yield

        for order in ((0, 1), (1, 0)):
            blocks = [block(qkv.no_grad()), block(qkv.no_grad())]
            for each in blocks:
                next(each)
            blocks[order[0]].close()
            self.assertFalse(self.records())
            blocks[order[1]].close()
            self.assertTrue(self.records())

    def test_the_module_has_nothing_else_that_ends_recording(self):
        names = [name for name in dir(qkv) if 'grad' in name.lower()]
        self.assertEqual(sorted(names), ['GradcheckReport', 'Gradients', 'gradcheck', 'no_grad'])

    def test_a_function_that_runs_piece_by_piece_is_refused(self):
        def pieces():
            yield 1

        async def later():
            pass

        for function in (pieces, later):
            with self.assertRaisesRegex(TypeError, f'{function.__name__} runs piece by piece; put `with qkv.no_grad'):
                qkv.no_grad()(function)


class GraphTest(unittest.TestCase):
    def test_two_threads_on_one_graph_are_an_error(self):
        """One that waits in the midst of a walk, and one that begins another, on the whole graph and on a part."""
        is_in, goes_on = threading.Event(), threading.Event()

        class Waits(qkv.Op):
            def forward(self, x):
                return x + 1.0

            def backward(self, saved, dy):
                is_in.set()
                goes_on.wait(20)
                return dy

        x = parameter()
        part = qkv.exp(x)
        whole = Waits()(part).sum()
        results, errors = [], []

        def wait():
            results.append(qkv.backward(whole, keep_graph=True)[x])

        def meddle():
            is_in.wait()
            try:
                for y in (whole, part.sum(), qkv.tanh(part).sum()):
                    try:
                        qkv.backward(y)
                    except qkv.Error as error:
                        errors.append(str(error))
                qkv.backward((x * 2.0).sum())  # leaves are nobody's
            finally:
                goes_on.set()

        in_threads(wait, meddle)
        self.assertEqual(errors, ['backward: another thread differentiates this graph; a graph belongs to one thread'] * 3)
        np.testing.assert_array_equal(results[0], np.exp(np.ones((3, 3))))
        np.testing.assert_array_equal(qkv.backward(part.sum())[x], np.exp(np.ones((3, 3))))

    def test_a_race_ends_with_one_gradient(self):
        for _ in range(20):
            x = parameter()
            y = x
            for _ in range(500):
                y = qkv.tanh(y)
            y = y.sum()
            gradients, errors = [], []

            def differentiate():
                try:
                    gradients.append(qkv.backward(y)[x])
                except qkv.Error as error:
                    errors.append(str(error))

            in_threads(differentiate, differentiate, differentiate)
            self.assertEqual((len(gradients), len(errors)), (1, 2), errors)


END = """
import threading, time
import numpy as np
import qkv

class Twice(qkv.Op):
    def forward(self, x):
        return x * 2
    def backward(self, saved, dy):
        return dy * 2.0

x = qkv.tensor(np.ones((50, 50)), requires_grad=True)
runs = threading.Event()

def work():
    while True:
        {step}
        runs.set()

threading.Thread(target=work, daemon=True).start()
runs.wait()
time.sleep({wait})
print('ends', flush=True)
"""


class EndTest(unittest.TestCase):
    """A daemon's thread that computes does not disturb the end of the program."""

    def expect_printed(self, program, text):
        result = subprocess.run([sys.executable, '-W', 'ignore', '-c', program], capture_output=True, text=True, timeout=60)
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, text, ''), program)

    def check(self, step, wait=0.0, times=5):
        for i in range(times):
            program = END.format(step=step, wait=wait + 0.003 * i)
            self.expect_printed(program, 'ends\n')

    def test_whatever_it_does_then(self):
        for step in ('qkv.matmul(x, x)', 'y = Twice()(x)', 'qkv.backward(Twice()(qkv.tanh(x @ x)).sum())',
                     'runs.set(); qkv.gradcheck(lambda x: qkv.tanh(x @ x), [np.ones((4, 4))], order=2)'):
            self.check(step)
        self.check('Twice.forward = lambda self, x: runs.set() or time.sleep(100); Twice()(x)', times=2)
        self.check('runs.set(); import tempfile; qkv.train({"data": {"task": "reverse"}, "train": {"steps": 100000}}, '
                   'out=tempfile.mkdtemp() + "/run", quiet=True)', wait=0.5, times=2)

    def test_an_array_that_an_engine_holds_outlives_python(self):
        program = ('import numpy as np, qkv\nkept = [qkv.exp(qkv.tensor(np.ones(9), requires_grad=True))]\n'
                   'kept.append(kept)\nimport sys\nsys.modules["keeps"] = kept')
        self.expect_printed(program, '')

    def test_a_child_does_not_wait_for_its_parents_threads(self):
        program = END.format(step='qkv.matmul(x, x)', wait=0) + """
import os, sys
child = os.fork()
if not child:
    sys.exit(0)
print(os.waitpid(child, 0)[1])
"""
        self.expect_printed(program, 'ends\n0\n')


if __name__ == '__main__':
    unittest.main()
