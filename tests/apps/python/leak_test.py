"""What Python does with the engine over and over leaves no objects of Python behind, and no memory of C++."""

import copy
import ctypes
import gc
import sys
import unittest
import weakref

import numpy as np

import qkv
from runs import CONFIG, Folder
from swish import Swish

ROUNDS, TIMES = 10, 30


class Statistics(ctypes.Structure):  # glibc's mallinfo2
    _fields_ = [(name, ctypes.c_size_t) for name in
                'arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost'.split()]


def bytes_of_malloc():
    """In use, by C++ and by NumPy; 0 under the sanitizers, which have an allocator of their own."""
    try:
        mallinfo2 = ctypes.CDLL(None).mallinfo2
    except AttributeError:
        return 0
    mallinfo2.restype = Statistics
    statistics = mallinfo2()
    return statistics.uordblks + statistics.hblkhd


class Broken(Swish):
    def backward(self, saved, dy):
        self.kept = saved, dy
        raise KeyError('gone')


class Nothing(Swish):
    def forward(self, x):
        return None


def parameter():
    return qkv.tensor(np.ones((20, 20)), requires_grad=True)


def share():
    x = qkv.tensor(np.ones((20, 20)))
    y = qkv.exp(x)
    return y.numpy(), np.asarray(y), np.from_dlpack(y), y.__dlpack__(), qkv.tensor(y.numpy()), qkv.tensor([1, 2])


def compute():
    x = parameter()
    y = (2.0 / (x[1:] @ x.T + 3.0)).reshape(-1)
    y[0].item(), y > 1.0, repr(y), copy.deepcopy(x), list(x)
    x[0, 0] = 3.0


def differentiate():
    x = parameter()
    p = Swish()(x @ x)
    g = qkv.backward(p.sum(), keep=[p], create_graph=True)
    qkv.backward(g[x].sum())[x]
    (Swish()(x) @ x).sum()  # a graph that nobody walks


def train():
    model = qkv.Model({'model': {'num_layers': 1, 'd_model': 8, 'num_heads': 2, 'd_ff': 8}}, vocabulary_size=5, max_length=4)
    optimizer = qkv.adamw(model.parameters())
    loss = qkv.cross_entropy(model([[0, 1, 2]], training=True), np.array([[1, 2, 3]]))
    optimizer.step(qkv.backward(loss), grad_clip=1.0)
    optimizer.state


class LeakTest(unittest.TestCase):
    def check(self, f):
        def in_use():
            gc.collect()
            sys._clear_type_cache()  # which has names of attributes
            return np.array([sys.getallocatedblocks(), bytes_of_malloc()])

        # A leak grows in every round; what is kept for the next time, and what threads keep, does not.
        rounds = []
        for _ in range(ROUNDS):
            before = in_use()
            for _ in range(TIMES):
                f()
            rounds.append(in_use() - before)
            if np.all(rounds[-1] < (TIMES // 2, 8 * TIMES)):
                return
        self.fail(f'objects of Python and bytes of which each round leaves so many: {np.array(rounds).tolist()}')

    def test_what_is_done_over_and_over(self):
        for f in (share, compute, differentiate, train, lambda: qkv.gradcheck(lambda x: Swish()(x), [np.ones(2)]).to_text()):
            with self.subTest(f):
                self.check(f)

    def test_ops_that_keep_their_own_results(self):
        """In a circle that Python's collector has to see through a graph of C++: each way to hold a result."""
        class Keeps(Swish):
            def backward(self, saved, dy):
                self.saved = saved, saved.output(), dy
                return super().backward(saved, dy)

        def keep():
            x = parameter()
            for f in (lambda op: op(x), lambda op: [op(x), {'y': op(x)}], lambda op: qkv.exp(op(x)).sum(),
                      lambda op: op(op(op(x))), lambda op: (lambda p: p * p + p)(op(x)), lambda op: op(x).reshape(-1)[3:],
                      lambda op: qkv.backward(op(x).sum(), create_graph=True),
                      lambda op: qkv.backward(op(x).sum(), keep_graph=True), lambda op: lambda y=op(x): y):
                op = Keeps()
                op.kept = f(op)

        alive = []

        class Counted(Keeps):
            def __init__(self):
                alive.append(weakref.ref(self))

        self.check(keep)
        Keeps = Counted
        keep()
        gc.collect()
        self.assertEqual([ref() for ref in alive if ref() is not None], [])

    def test_what_somebody_still_holds_is_kept(self):
        x = parameter()
        op = Swish()
        op.kept = y = qkv.exp(op(x))
        alive = weakref.ref(op)
        del op
        gc.collect()
        self.assertIsNotNone(alive())
        again = y.sum()  # another holder of the same graph
        del y
        gc.collect()
        self.assertIsNotNone(alive())
        self.assertGreater(qkv.backward(again)[x].sum(), 0)
        del again
        gc.collect()
        self.assertIsNone(alive())

    def test_errors(self):
        def err():
            x = parameter()
            for wrong in (lambda: qkv.matmul(x, qkv.zeros(3)), lambda: qkv.softmax('text'), lambda: x[99],
                          lambda: qkv.tensor(object()), lambda: qkv.backward(Broken()(x).sum()), lambda: Nothing()(x),
                          lambda: qkv.gradcheck(lambda x: {}['mine'], [x]), lambda: qkv.load('nothing'),
                          lambda: qkv.Model({'model': {'num_head': 2}}, vocabulary_size=3), lambda: qkv.tensor([x, x])):
                with self.assertRaises((qkv.Error, TypeError, IndexError, KeyError)):
                    wrong()

        self.check(err)

    def test_a_run(self):
        with Folder() as folder:
            qkv.train(CONFIG, out=folder / 'run', overrides={'train.steps': 2}, quiet=True)

            def read():
                run = qkv.load(folder / 'run')
                run.generate('012=', temperature=0), run.metrics, run.parameters, run.model(run.encode('012='))
                trace = run.trace(validation=0)
                trace['blocks.0.attention.scores'], trace.gradient('blocks.0.attention.scores')

            self.check(read)


if __name__ == '__main__':
    unittest.main()
