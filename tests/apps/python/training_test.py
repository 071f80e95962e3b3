"""Optimizers, layers and models, and a training loop that is written in Python."""

import os
import re
import subprocess
import sys
import unittest
from pathlib import Path

import numpy as np

import qkv

ROOT = Path(os.environ['QKV_SOURCE_DIR'])


class OptimizerTest(unittest.TestCase):
    """One step and the next, beside the formulas."""

    def two_steps(self, make, **options):
        w = qkv.tensor(np.array([[1.0, -2.0], [0.5, 3.0]]), requires_grad=True)
        optimizer = make({'w': w}, **options)
        for _ in range(2):
            self.norm = optimizer.step(qkv.backward((w * w).sum()))
        self.optimizer = optimizer
        return w.numpy()

    def test_sgd(self):
        w, u = np.array([[1.0, -2.0], [0.5, 3.0]]), 0.0
        for _ in range(2):
            u = 0.9 * u + 2 * w
            w = w - 0.1 * u
        got = self.two_steps(qkv.sgd, learning_rate=0.1, momentum=0.9)
        np.testing.assert_allclose(got, w, rtol=1e-14)
        np.testing.assert_allclose(self.optimizer.state['velocity.w'], u, rtol=1e-14)

    def test_adamw(self):
        w, m, v = np.array([[1.0, -2.0], [0.5, 3.0]]), 0.0, 0.0
        for t in (1, 2):
            g = 2 * w
            w = w - 0.1 * 0.2 * w
            m, v = 0.8 * m + 0.2 * g, 0.9 * v + 0.1 * g * g
            w = w - 0.1 * (m / (1 - 0.8 ** t)) / (np.sqrt(v / (1 - 0.9 ** t)) + 1e-8)
        got = self.two_steps(qkv.adamw, learning_rate=0.1, betas=(0.8, 0.9), weight_decay=0.2)
        np.testing.assert_allclose(got, w, rtol=1e-13)
        self.assertEqual(self.optimizer.steps, 2)

    def test_muon(self):
        w, m = np.array([[1.0, -2.0], [0.5, 3.0]]), 0.0
        for _ in range(2):
            g = 2 * w
            m = 0.8 * m + 0.2 * g
            x = 0.8 * m + 0.2 * g
            x /= np.linalg.norm(x)
            for _ in range(5):
                a = x @ x.T
                x = (3.4445 * np.eye(2) - 4.7750 * a + 2.0315 * a @ a) @ x
            w = w - 0.1 * (0.3 * w + 0.2 * np.sqrt(2) * x)
        got = self.two_steps(qkv.muon, learning_rate=0.1, betas=(0.8, 0.9), weight_decay=0.3)
        np.testing.assert_allclose(got, w, rtol=1e-6)

    def test_clips_to_a_norm(self):
        w = qkv.tensor(np.array([3.0, 4.0]), requires_grad=True)
        optimizer = qkv.sgd([w], learning_rate=1.0)
        self.assertEqual(optimizer.step([qkv.tensor(np.array([3.0, 4.0]))], grad_clip=1.0), 5.0)
        np.testing.assert_allclose(w.numpy(), [2.4, 3.2], rtol=1e-6)
        self.assertEqual(qkv.global_norm([np.array([3.0]), np.array([4.0])]), 5.0)

    def test_follows_a_schedule(self):
        rates = [qkv.scheduled_learning_rate(step, 11, learning_rate=2.0, schedule='linear') for step in (0, 5, 10)]
        np.testing.assert_allclose(rates, [2.0, 1.0, 0.0], atol=1e-15)
        with self.assertRaisesRegex(qkv.Error, 'no schedule "steep"'):
            qkv.scheduled_learning_rate(0, 1, schedule='steep')

    def test_refuses_what_is_no_parameter(self):
        x = qkv.tensor(np.zeros(2), requires_grad=True)
        for wrong in (np.zeros(2), x * 2.0):
            with self.assertRaisesRegex(qkv.Error, 'is not a parameter'):
                qkv.adam([wrong])
        optimizer = qkv.sgd([x])
        for gradients in ([], [np.zeros(3)], qkv.backward(qkv.tensor(np.zeros(1), requires_grad=True).sum())):
            with self.assertRaises(qkv.Error):
                optimizer.step(gradients)
        np.testing.assert_array_equal(x.numpy(), [0, 0])
        with self.assertRaisesRegex(qkv.Error, 'a and b are the same parameter'):
            qkv.sgd({'a': x, 'b': x})
        with self.assertRaisesRegex(qkv.Error, 'there is no gradient of bias'):
            qkv.sgd({'weight': x, 'bias': qkv.parameter(np.zeros(1))}).step(qkv.backward(x.sum()))

    def test_refuses_options_that_make_no_sense(self):
        x = qkv.tensor(np.zeros(2), requires_grad=True)
        for make, options in ((qkv.sgd, {'momentum': 1.5}), (qkv.adam, {'betas': (0.9, 1.5)}), (qkv.adamw, {'epsilon': 0.0}),
                              (qkv.adamw, {'learning_rate': -1.0}), (qkv.adamw, {'learning_rate': float('nan')})):
            with self.assertRaisesRegex(qkv.Error, f'"optimizer.{list(options)[0]}" must be'):
                make([x], **options)
        for options in ({'learning_rate': -1.0}, {'learning_rate': float('nan')}, {'grad_clip': -1.0}):
            with self.assertRaisesRegex(qkv.Error, 'learning_rate and grad_clip must be numbers from 0'):
                qkv.sgd([x]).step([np.zeros(2)], **options)


class LayersTest(unittest.TestCase):
    def test_layers_are_their_formulas(self):
        init = qkv.Initializer(seed=1, dtype='f64')
        x = np.random.default_rng(1).normal(size=(2, 3, 8))
        linear, norm = qkv.Linear(init, 8, 4), qkv.LayerNorm(init, 8)
        np.testing.assert_allclose(linear(x).numpy(), x @ linear.weight.numpy().T, rtol=1e-12)
        np.testing.assert_allclose(norm(x).numpy(), (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5),
                                   rtol=1e-10)
        embedding = qkv.Embedding(init, 5, 8)
        np.testing.assert_array_equal(embedding(np.array([3, 1])).numpy(), embedding.weight.numpy()[[3, 1]])
        attention = qkv.MultiHeadAttention(init, 8, 2)
        self.assertEqual(sorted(attention.parameters())[:2], ['key.bias', 'key.weight'])
        changed = x.copy()
        changed[:, 2] = 0.0
        np.testing.assert_array_equal(attention(x, causal=True).numpy()[:, :2], attention(changed, causal=True).numpy()[:, :2])

    def test_a_model_of_ones_own_lists_its_parameters(self):
        class Block(qkv.Module):
            def __init__(self, init):
                self.norm = qkv.RmsNorm(init, 8)
                self.maps = [qkv.FeedForward(init, 8, 16), qkv.FeedForward(init, 8, 16)]
                self.gain = qkv.parameter(np.ones(1, np.float32))
                self.constant = qkv.zeros(3)

            def __call__(self, x):
                return self.maps[1](self.maps[0](self.norm(x))) * self.gain

        block = Block(qkv.Initializer(1))
        names = list(block.parameters())
        self.assertEqual(names[:3] + names[-1:], ['norm.weight', 'maps.0.up.weight', 'maps.0.up.bias', 'gain'])
        g = qkv.backward(block(np.ones((2, 8), np.float32)).sum())
        for name, tensor in block.parameters().items():
            self.assertIn(tensor, g, name)
        block.table = block.also = {'a': qkv.Embedding(qkv.Initializer(1), 3, 8)}
        block.seen = block.gain * 2.0  # computed
        names = list(block.parameters())
        self.assertEqual(names[-2:], ['gain', 'table.a.weight'])

    def test_a_config_makes_a_model(self):
        config = {'seed': 3, 'model': {'kind': 'decoder', 'num_layers': 1, 'd_model': 16, 'num_heads': 2, 'd_ff': 32},
                  'attention': {'window': 4}, 'train': {'precision': 'f64'}}
        models = [qkv.Model(config, vocabulary_size=7, max_length=8) for _ in range(2)]
        tokens = np.arange(12).reshape(2, 6) % 7
        logits = [model(tokens) for model in models]
        self.assertEqual((logits[0].shape, logits[0].dtype), ((2, 6, 7), 'f64'))
        np.testing.assert_array_equal(logits[0].numpy(), logits[1].numpy())
        self.assertIn('blocks.0.attention.query.weight', models[0].parameters())
        np.testing.assert_array_equal(models[0](tokens[0].tolist()).numpy()[0], logits[0].numpy()[0])
        with self.assertRaisesRegex(qkv.Error, 'needs i64: index f64'):
            models[0](np.zeros((1, 2)))
        with self.assertRaisesRegex(qkv.Error, 'the vocabulary_size is missing'):
            qkv.Model(config)
        with self.assertRaisesRegex(qkv.Error, 'unknown key "model.num_head"; did you mean "num_heads"'):
            qkv.Model({'model': {'num_head': 2}}, vocabulary_size=7, max_length=8)
        with self.assertRaisesRegex(qkv.Error, 'd_model'):
            qkv.Model({'model': {'d_model': 10, 'num_heads': 3}}, vocabulary_size=7, max_length=8)

    def test_each_call_in_training_has_a_dropout_of_its_own(self):
        model = qkv.Model({'model': {'num_layers': 1, 'd_model': 16, 'num_heads': 2, 'dropout': 0.5}}, vocabulary_size=7,
                          max_length=8)
        one, other = (model([1, 2, 3], training=True).tolist() for _ in range(2))
        self.assertNotEqual(one, other)
        stream = qkv.RandomStream(1, 5)
        one, other = (model([1, 2, 3], training=True, stream=stream).tolist() for _ in range(2))
        self.assertEqual(one, other)
        self.assertEqual(model([1, 2, 3]).tolist(), model([1, 2, 3]).tolist())


class ExampleTest(unittest.TestCase):
    def test_nanogpts_loop_has_thirty_lines(self):
        self.assertLessEqual(len((ROOT / 'examples/python/nanogpt.py').read_text().splitlines()), 30)

    def test_nanogpts_loop_learns(self):
        ran = subprocess.run([sys.executable, ROOT / 'examples/python/nanogpt.py', ROOT / 'LICENSE', '60'],
                             capture_output=True, text=True, check=True)
        losses = [float(loss) for loss in re.findall(r'loss (\S+),', ran.stdout)]
        self.assertGreater(losses[0], 3.5)
        self.assertLess(losses[-1], 3.0)


if __name__ == '__main__':
    unittest.main()
