"""Every class of the module: what __new__ alone has made, copies and pickles, are exceptions."""

import copy
import inspect
import pickle
import unittest

import numpy as np

import qkv
from qkv import _qkv
from runs import CONFIG, Folder

CLASSES = {name: kind for name, kind in vars(_qkv).items() if inspect.isclass(kind) and not issubclass(kind, Exception)}
LEFT_OUT = {'__class__', '__new__', '__init__', '__init_subclass__', '__subclasshook__', '__hash__', '__array_function__'}
ERRORS = (TypeError, qkv.Error, AttributeError, ValueError)


def objects():
    """One of each class; of Saved, where it may be used."""
    init, x = qkv.Initializer(1), qkv.tensor([1.0, 2.0], requires_grad=True)
    kept = []

    class Keeps(qkv.Op):
        def forward(self, x):
            return x

        def backward(self, saved, dy):
            kept.append(saved)
            return dy

    found = [init, x, qkv.RandomStream(1), qkv.RoundedWeight(), qkv.backward((x * x).sum()), qkv.heat_map(np.ones((2, 2))),
             qkv.gradcheck(qkv.exp, [np.ones(2)]), qkv.sgd([x]), qkv.recorded(lambda: x * x)[0]]
    found += [kind(init, 4, 4) for kind in (qkv.Linear, qkv.Embedding, qkv.FeedForward)]
    found += [kind(init, 4) for kind in (qkv.LayerNorm, qkv.RmsNorm)] + [qkv.MultiHeadAttention(init, 4, 2)]
    with Folder() as folder:
        run = qkv.train(CONFIG, out=folder / 'run', overrides={'train.steps': 2}, quiet=True, listener=found.append)
        found += [run, run.trace(validation=0), qkv.lab('scaling', d=[4, 8], runs=folder / 'runs', progress=lambda text: None),
                  qkv.Model({'model': {'num_layers': 1, 'd_model': 8, 'num_heads': 2}}, vocabulary_size=5, max_length=4)]
    qkv.backward(Keeps()(x).sum())
    return {type(each): each for each in found + kept}


class ClassesTest(unittest.TestCase):
    def test_what_new_alone_has_made_has_no_value(self):
        self.assertGreater(len(CLASSES), 20)
        for name, kind in CLASSES.items():
            class Derived(kind):
                pass

            for made_as in (kind, Derived):
                nothing = made_as.__new__(made_as)
                for member in dir(kind):
                    value = getattr(kind, member)
                    if member in LEFT_OUT or value is getattr(object, member, None):
                        continue
                    with self.subTest(name, member=member):
                        if isinstance(value, property):
                            with self.assertRaises(ERRORS):
                                getattr(nothing, member)
                        elif callable(value):
                            self.call(value, nothing)
                self.give(kind, nothing)

    def call(self, method, nothing):
        for arguments in ((), (0,), (np.ones(2),), (qkv.ones(2),), (qkv.ones(2), 1), ('x',)):
            try:
                result = method(nothing, *arguments)
            except ERRORS:
                continue
            self.assertIs(result, NotImplemented)  # an operator's, on what it does not know

    def give(self, kind, nothing):
        """As an argument of others it has no value either."""
        for f in (qkv.exp, qkv.tensor, qkv.sgd, lambda x: qkv.backward(x), lambda x: qkv.stack([x, x], 0),
                  lambda x: qkv.ones(2) + x, lambda x: qkv.dropout(qkv.ones(2), 0.5, x), qkv.Linear, np.asarray):
            try:
                f(nothing)
            except ERRORS:
                continue
            self.assertFalse(issubclass(kind, qkv.Tensor), f)

    def test_its_value_comes_from_init(self):
        x = qkv.Tensor.__new__(qkv.Tensor)
        with self.assertRaisesRegex(TypeError, 'an argument has no value: __new__ made it, and __init__ was not called'):
            x.item()
        x.__init__([3.0])
        self.assertEqual(x.item(), 3.0)

    def test_every_object_is_copied_and_pickled_or_raises(self):
        found = objects()
        self.assertEqual({kind.__name__ for kind in CLASSES.values()} - {kind.__name__ for kind in found}, set())
        for kind, each in found.items():
            ways = [copy.copy, copy.deepcopy, lambda x: x.__reduce__(), lambda x: x.__reduce_ex__(4)]
            ways += [lambda x, protocol=protocol: pickle.dumps(x, protocol) for protocol in range(6)]
            for way in ways:
                with self.subTest(kind.__name__):
                    if kind is qkv.Tensor:
                        way(each)
                        continue
                    with self.assertRaisesRegex(TypeError, f'qkv.{kind.__name__} can be neither copied nor pickled'):
                        way(each)


if __name__ == '__main__':
    unittest.main()
