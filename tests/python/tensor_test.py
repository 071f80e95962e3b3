"""Tensors and NumPy's arrays: what is shared, what is copied, and how long it lives."""

import unittest

import numpy as np

import qkv


class TensorTest(unittest.TestCase):
    def test_an_array_is_shared(self):
        a = np.arange(6.0).reshape(2, 3)
        x = qkv.tensor(a)
        a[1, 2] = 7.0
        self.assertEqual(x.numpy()[1, 2], 7.0)
        self.assertEqual((x.shape, x.dtype), ((2, 3), 'f64'))


if __name__ == '__main__':
    unittest.main()
