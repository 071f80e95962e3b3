"""Tensors and the arrays of NumPy: what is shared, what is copied, how long it lives, and what is refused."""

import copy
import ctypes
import gc
import pickle
import unittest
import weakref

import numpy as np

import qkv


def address(array):
    return array.__array_interface__['data'][0]


class SharingTest(unittest.TestCase):
    def test_an_array_comes_in_and_goes_out_without_a_copy(self):
        for dtype, name in ((np.float32, 'f32'), (np.float64, 'f64'), (np.int64, 'i64'), (np.bool_, 'bool')):
            a = np.ones((2, 3), dtype)
            x = qkv.tensor(a)
            self.assertEqual((x.shape, x.dtype), ((2, 3), name))
            for view in (x.numpy(), np.asarray(x)):
                self.assertEqual((address(view), view.dtype), (address(a), a.dtype))

    def test_copies_what_has_another_layout_or_must_not_be_written_to(self):
        a = np.arange(12.0).reshape(3, 4)
        frozen = a.copy()
        frozen.flags.writeable = False
        unaligned = np.frombuffer(bytearray(1 + a.nbytes), np.uint8)[1:].view(np.float64).reshape(3, 4)
        unaligned[...] = a
        for other in (a.T, a[:, ::2], a[::-1], np.broadcast_to(a[0], (3, 4)), frozen, unaligned, a.astype('>f8')):
            x = qkv.tensor(other)
            np.testing.assert_array_equal(x.numpy(), other)
            self.assertNotEqual(address(x.numpy()), address(other))
        self.assertNotEqual(address(qkv.tensor(a, copy=True).numpy()), address(a))

    def test_a_tensor_outlives_the_array_that_it_came_from(self):
        a = np.random.default_rng(1).normal(size=(100, 100))
        expected, alive = a.copy(), weakref.ref(a)
        x = qkv.tensor(a)
        del a
        gc.collect()
        np.testing.assert_array_equal(x.numpy(), expected)
        self.assertIsNotNone(alive())
        del x
        gc.collect()
        self.assertIsNone(alive())

    def test_a_view_outlives_the_tensor_that_it_came_from(self):
        view = qkv.exp(qkv.zeros((50, 50))).numpy()
        others = [qkv.full((50, 50), 7.0) for _ in range(10)]
        np.testing.assert_array_equal(view, np.ones((50, 50)))
        del others

    def test_a_leaf_is_copied_and_pickled(self):
        for x in (qkv.tensor(np.ones((2, 3)), requires_grad=True), qkv.tensor([1.5, 2.0], dtype='bf16'), qkv.tensor(True)):
            for made in (copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
                self.assertEqual((made.tolist(), made.dtype, made.requires_grad), (x.tolist(), x.dtype, x.requires_grad))
                self.assertNotEqual(address(made.numpy()), address(x.numpy()))
        with self.assertRaisesRegex(qkv.Error, 'was computed: only a leaf is copied or pickled'):
            copy.deepcopy(qkv.tensor([1.0], requires_grad=True) * 2.0)

    def test_a_view_is_not_written_to_and_an_assignment_is_noticed(self):
        x = qkv.tensor(np.ones((2, 2)), requires_grad=True)
        with self.assertRaises(ValueError):
            x.numpy()[0, 0] = 2.0
        y = (x * x).sum()
        x[0, 1] = 5.0
        self.assertEqual(x.numpy()[0, 1], 5.0)
        with self.assertRaisesRegex(qkv.Error, 'changed in place'):
            qkv.backward(y)
        with self.assertRaisesRegex(qkv.Error, "only a leaf's numbers may be changed"):
            (x * x)[0] = 1.0

    def test_an_assignment_to_bf16_writes_numbers_and_no_bits(self):
        x = qkv.tensor([1.0, 2.0, 3.0, 4.0], dtype='bf16')
        x[0] = 1.5
        x[1] = qkv.tensor(-2.0)
        x[2:] = x[:2]
        self.assertEqual(x.cast('f32').tolist(), [1.5, -2.0, 1.5, -2.0])
        y = qkv.zeros(4)
        y[:] = x
        self.assertEqual(y.tolist(), x.cast('f32').tolist())

    def test_gradients_are_not_added_up_in_an_array_of_python(self):
        kept = np.ones(3)

        class Constant(qkv.Op):
            def forward(self, x):
                return x + 1.0

            def backward(self, saved, dy):
                return qkv.tensor(kept)

        x = qkv.tensor(np.zeros(3), requires_grad=True)
        op = Constant()
        np.testing.assert_array_equal(qkv.backward((op(x) + op(x) + op(x)).sum())[x], [3, 3, 3])
        np.testing.assert_array_equal(kept, [1, 1, 1])


class Numbers(ctypes.Structure):
    """A tensor of DLPack, with its manager."""
    _fields_ = [('data', ctypes.c_void_p), ('device', ctypes.c_int32 * 2), ('ndim', ctypes.c_int32), ('code', ctypes.c_uint8),
                ('bits', ctypes.c_uint8), ('lanes', ctypes.c_uint16), ('shape', ctypes.POINTER(ctypes.c_int64)),
                ('strides', ctypes.c_void_p), ('byte_offset', ctypes.c_uint64), ('context', ctypes.c_void_p),
                ('deleter', ctypes.c_void_p)]


KEPT = []  # what capsules point to


def capsule(content, name=b'dltensor'):
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
    text = name if name is None else ctypes.create_string_buffer(name)
    KEPT.append((content, text))
    return new(ctypes.addressof(content), text and ctypes.addressof(text), None)


class Given:
    def __init__(self, given):
        self.given = given

    def __dlpack__(self):
        return self.given


class DLPackTest(unittest.TestCase):
    def test_numpy_takes_a_tensor_without_a_copy(self):
        x = qkv.exp(qkv.zeros((2, 3), 'f64'))
        self.assertEqual(address(np.from_dlpack(x)), address(x.numpy()))

    def test_a_capsule_is_used_once(self):
        class Once:
            capsule = qkv.zeros(3).__dlpack__()

            def __dlpack__(self):
                return self.capsule

        once = Once()
        np.testing.assert_array_equal(qkv.tensor(once).numpy(), np.zeros(3))
        with self.assertRaisesRegex(qkv.Error, 'this capsule of DLPack is used'):
            qkv.tensor(once)

    def test_a_capsule_that_is_none_is_refused(self):
        place = ctypes.create_string_buffer(64)
        for name in (None, b'', b'other', b'dltensor_versioned'):
            with self.assertRaisesRegex(qkv.Error, '__dlpack__ of Given gave PyCapsule, which is not "dltensor"'):
                qkv.tensor(Given(capsule(place, name)))
        for nothing in (None, 3, np.zeros(2)):
            with self.assertRaisesRegex(qkv.Error, '__dlpack__ of Given gave (NoneType|int|numpy.ndarray), which is no'):
                qkv.tensor(Given(nothing))

    def test_a_capsule_without_numbers_or_a_shape_is_refused(self):
        memory, sizes = (ctypes.c_double * 3)(1, 2, 3), (ctypes.c_int64 * 1)(3)
        right = {'data': ctypes.addressof(memory), 'device': (1, 0), 'ndim': 1, 'code': 2, 'bits': 64, 'lanes': 1,
                 'shape': sizes}
        self.assertEqual(qkv.tensor(Given(capsule(Numbers(**right)))).tolist(), [1.0, 2.0, 3.0])
        for changed, text in (({'data': None}, 'the capsule of DLPack has no numbers'),
                              ({'shape': None}, 'has 1 axes and no shape; there may be up to 8'),
                              ({'ndim': -1}, 'has -1 axes; there may'), ({'ndim': 1 << 30}, 'has 1073741824 axes; there'),
                              ({'device': (2, 0)}, "not in the CPU's memory"), ({'lanes': 2}, 'is not one of the types here')):
            with self.assertRaisesRegex(qkv.Error, text):
                qkv.tensor(Given(capsule(Numbers(**{**right, **changed}))))


class TypesTest(unittest.TestCase):
    def test_every_byte_but_0_of_a_foreign_mask_is_true(self):
        """NumPy and PyTorch make masks of any bytes, and sum, compare and invert them as they are."""
        bytes_ = np.array([[0, 1, 2], [255, 128, 0]], np.uint8)
        mask, expected = bytes_.view(np.bool_), [[False, True, True], [True, True, False]]

        class Own(qkv.Op):
            def forward(self, x):
                return mask

        given = Given(capsule(Numbers(mask.ctypes.data, (1, 0), 2, 6, 8, 1, (ctypes.c_int64 * 2)(2, 3))))
        fortran = np.asfortranarray(bytes_).view(np.bool_)
        frozen = mask.copy()
        frozen.flags.writeable = False
        assigned = qkv.zeros((2, 3), 'bool')
        assigned[:] = mask
        for x in (qkv.tensor(mask), qkv.tensor(mask, copy=True), qkv.tensor(given), qkv.tensor(fortran), assigned,
                  qkv.tensor(frozen), qkv.tensor(mask[:, ::-1][:, ::-1]), Own()(qkv.zeros(2)),
                  pickle.loads(pickle.dumps(qkv.tensor(mask)))):
            self.assertEqual(x.numpy().view(np.uint8).tolist(), np.array(expected, np.uint8).tolist())
            self.assertEqual((x.tolist(), x.cast('f32').sum().item()), (expected, 4.0))
            self.assertEqual((~x).tolist(), np.logical_not(expected).tolist())
        true = qkv.tensor(np.ones((2, 3), bool))
        for result, right in ((true ^ mask, np.logical_not(expected)), (true & mask, expected), (true == mask, expected),
                              (true != mask, np.logical_not(expected)), (true | mask, true.numpy())):
            self.assertEqual(result.numpy().view(np.uint8).tolist(), np.array(right, np.uint8).tolist())
        numbers = qkv.zeros((2, 3))
        numbers[:] = mask
        self.assertEqual(numbers.tolist(), np.array(expected, float).tolist())
        np.testing.assert_array_equal(qkv.where(mask, qkv.ones((2, 3)), qkv.zeros((2, 3))).numpy(), expected)

    def test_pythons_own_numbers_are_f32_i64_and_bool(self):
        for data, dtype in (([1.0, 2.0], 'f32'), (1.5, 'f32'), ([[1, 2]], 'i64'), ([True], 'bool'), (np.float64(1), 'f64'),
                            (np.float16(1), 'f32'), (np.ones(2, np.int32), 'i64'), (np.ones(2, np.uint8), 'i64')):
            self.assertEqual(qkv.tensor(data).dtype, dtype)
        self.assertEqual(qkv.tensor([1, 2], dtype='f64').dtype, 'f64')
        for dtype in ('f64', 'float64', np.float64, np.dtype('f8'), float):
            self.assertEqual(qkv.zeros(2, dtype).dtype, 'f64')

    def test_bf16_is_a_view_of_bits_with_a_name(self):
        x = qkv.tensor([1.0, -2.0, 0.1], dtype='bf16')
        bits = x.numpy()
        self.assertEqual(bits.dtype, np.dtype([('bfloat16', 'u2')]))
        as_f32 = (bits['bfloat16'].astype(np.uint32) << 16).view(np.float32)
        np.testing.assert_array_equal(as_f32, x.cast('f32').numpy())
        np.testing.assert_array_equal(as_f32[:2], [1, -2])
        again = np.array([(0x3f80,), (0xc000,)], dtype=[('bfloat16', 'u2')])
        self.assertEqual(qkv.tensor(again).cast('f32').tolist(), [1.0, -2.0])
        with self.assertRaises(TypeError):
            np.exp(bits)

    def test_the_only_number_has_pythons_type(self):
        for x, number in ((qkv.tensor(2 ** 53 + 1), 2 ** 53 + 1), (qkv.tensor([[True]]), True), (qkv.tensor(1.5), 1.5)):
            self.assertEqual((x.item(), type(x.item()), int(x)), (number, type(number), int(number)))
        self.assertEqual(list(range(5))[qkv.tensor(3)], 3)
        self.assertEqual(qkv.tensor([4.0, 5.0])[qkv.tensor(-1)].item(), 5.0)
        for wrong in (qkv.tensor(1.0), qkv.tensor(True), qkv.tensor([1, 2])):
            with self.assertRaisesRegex(TypeError, 'is not an index: one number of i64 is'):
                range(wrong)

    def test_a_list_of_tensors_is_not_taken_for_numbers(self):
        x = qkv.tensor([1.0], requires_grad=True)
        with self.assertRaisesRegex(qkv.Error, 'these are tensors; stack and concat join them'):
            qkv.tensor([x, x])

    def test_refuses_other_types(self):
        for data in (np.ones(2, complex), np.array(['a']), np.array([None]), np.ones(2, np.uint64), 'text', object()):
            with self.assertRaises(qkv.Error):
                qkv.tensor(data)
        for dtype in ('f16', 'int8', 3):
            with self.assertRaises((qkv.Error, TypeError)):
                qkv.tensor([1.0], dtype=dtype)
        with self.assertRaisesRegex(qkv.Error, 'has no gradient: it is not floating'):
            qkv.tensor([1, 2], requires_grad=True)


class OperatorsTest(unittest.TestCase):
    def setUp(self):
        random = np.random.default_rng(1)
        self.a, self.b = random.normal(size=(3, 4)), random.uniform(0.5, 2.0, size=(3, 4))
        self.x, self.y = qkv.tensor(self.a), qkv.tensor(self.b)

    def test_operators_are_numpys(self):
        a, b, x, y = self.a, self.b, self.x, self.y
        for got, expected in (
                (x + y, a + b), (x - y, a - b), (x * y, a * b), (x / y, a / b), (y ** x, b ** a), (-x, -a),
                (2 ** x, 2 ** a), ((x > 0) & (x < 1), (a > 0) & (a < 1)), ((x > 1) | (x < 0), (a > 1) | (a < 0)),
                (~(x > 0), ~(a > 0)), ((x > 0) ^ (y > 1), (a > 0) ^ (b > 1)),
                (x + 2, a + 2), (2 + x, a + 2), (x - 2, a - 2), (2 - x, 2 - a), (x * 2, a * 2), (2 * x, a * 2),
                (x / 2, a / 2), (2 / y, 2 / b), (y ** 2, b ** 2), (x @ y.T, a @ b.T), (x > 0, a > 0), (x <= y, a <= b),
                (x == x, a == a), (x != y, a != b), (b - x, b - a), (x - b, a - b), (a @ y.T, a @ b.T),
                (np.float64(2) * x, 2 * a)):
            self.assertIsInstance(got, qkv.Tensor)
            np.testing.assert_allclose(got.numpy(), expected, rtol=1e-14)

    def test_an_index_is_numpys(self):
        a, x = self.a, self.x
        for index in (0, -1, slice(1, None), (slice(None), 2), (1, 3), (..., 0), (None, 1),
                      (slice(0, 2), None, ..., slice(1, 3)), (slice(5, None),), np.int64(1)):
            np.testing.assert_array_equal(x[index].numpy(), a[index])
        self.assertEqual([row.shape for row in x], [(4,)] * 3)
        with self.assertRaisesRegex(TypeError, 'a scalar has no rows'):
            iter(qkv.tensor(1.0))
        for index in (3, -4, (0, 0, 0)):
            with self.assertRaises(IndexError):
                x[index]
        with self.assertRaisesRegex(qkv.Error, 'no step other than 1'):
            x[::2]
        for index in ('a', 1.5, [0, 1]):
            with self.assertRaises(TypeError):
                x[index]
        w = qkv.tensor(a, requires_grad=True)
        expected = np.zeros((3, 4))
        expected[1, 2:] = 1
        np.testing.assert_array_equal(qkv.backward(w[1, 2:].sum())[w], expected)

    def test_what_an_array_has(self):
        x = self.x
        self.assertEqual((x.shape, x.ndim, x.size, len(x), x.requires_grad), ((3, 4), 2, 12, 3, False))
        self.assertEqual(x.reshape(4, 3).shape, (4, 3))
        self.assertEqual(x.reshape((2, -1)).shape, (2, 6))
        self.assertEqual(x.sum(axis=0, keep_axis=True).shape, (1, 4))
        self.assertEqual(x.mean(1).shape, (3,))
        self.assertAlmostEqual(float(x.sum()), self.a.sum())
        self.assertEqual(int(qkv.tensor(3)), 3)
        self.assertTrue(qkv.tensor(True))
        self.assertEqual(qkv.tensor([[1.5]]).tolist(), [[1.5]])
        for f in (np.abs, np.mean, np.max, lambda x: np.sum(x, axis=0), lambda x: np.stack([x, x])):
            np.testing.assert_array_equal(f(x), f(self.a))
            self.assertNotIsInstance(f(x), qkv.Tensor)
        self.assertIn(x, {x: 1})
        with self.assertRaisesRegex(qkv.Error, 'item'):
            bool(x)

    def test_shows_numbers_shape_and_type(self):
        self.assertEqual(repr(qkv.tensor([[1.0, 2.0]], requires_grad=True)), 'tensor([[1., 2.]], f32[1, 2], requires_grad)')
        self.assertEqual(repr(qkv.tensor([1.0], dtype='bf16')), 'tensor([1.], bf16[1])')


class ErrorsTest(unittest.TestCase):
    def test_misuse_is_a_value_error_with_the_engines_text(self):
        with self.assertRaises(qkv.Error) as caught:
            qkv.matmul(qkv.zeros((2, 3)), qkv.zeros((2, 3)))
        self.assertEqual(str(caught.exception), 'matmul: inner sizes differ: a f32[2, 3], b f32[2, 3]: 3 and 2; '
                         'did you mean transpose_b?')
        self.assertIsInstance(caught.exception, ValueError)
        self.assertEqual(repr(type(caught.exception)), "<class 'qkv.Error'>")

    def test_another_type_is_a_type_error_that_names_the_right_ones(self):
        for wrong in ('text', None, 3, [1.0, 2.0], object()):
            with self.assertRaisesRegex(TypeError, r'softmax\(\): incompatible(.|\n)*\(x: qkv.Tensor\) -> qkv.Tensor'):
                qkv.softmax(wrong)

    def test_an_error_shows_the_beginning_of_long_arguments(self):
        for many in ([qkv.zeros(2)] * 100_000, [[qkv.zeros(2)] * 100_000], {'x': [1.5] * 100_000}, 'x' * 1_000_000,
                     list(range(1_000_000)), b'x' * 1_000_000):
            for wrong in (lambda: qkv.softmax(many), lambda: qkv.softmax(x=many), lambda: qkv.zeros(2).reshape(many),
                          lambda: qkv.Linear(many), lambda: qkv.zeros(2, dtype=many), lambda: qkv.RandomStream(many),
                          lambda: qkv.zeros(2) + many, lambda: qkv.concat([qkv.zeros(2), many], 0),
                          lambda: qkv.Model({(str(many), 2): 1}, vocabulary_size=3)):
                with self.assertRaises((TypeError, qkv.Error)) as caught:
                    wrong()
                self.assertLess(len(str(caught.exception)), 2500)
        with self.assertRaisesRegex(TypeError, r'Invoked with: \[tensor\(\[0\., 0\.\], f32\[2\]\), (.|\n)*tensor\(f32\[2\]\)'
                                    r'.*\.\.\. \(\d+ characters\)$'):
            qkv.softmax([qkv.zeros(2)] * 1000)
        tensors = [qkv.zeros(2)] * 20
        self.assertEqual(repr(tensors).count('[0., 0.]'), 20)  # which is no error
        shown = []
        qkv.gradcheck(lambda x: shown.append(repr([x] * 20)) or qkv.exp(x), [np.ones(2)])
        self.assertEqual(shown[0].count('[1., 1.]'), 20)

    def test_none_is_not_a_tensor_whose_method_is_called(self):
        for method in (qkv.Tensor.item, qkv.Tensor.detach, qkv.Tensor.shape.fget):
            with self.assertRaises(TypeError):
                method(None)


if __name__ == '__main__':
    unittest.main()
