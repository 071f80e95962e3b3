# %% [markdown]
# # An op of your own
#
# Swish is $x \cdot \sigma(x)$. Its forward pass is NumPy's, its backward pass is written with qkv's ops, so it can be
# differentiated again.

# %%
import numpy as np

import qkv


def sigmoid(x):
    return 1.0 / (1.0 + np.exp(-x))


class Swish(qkv.Op):
    def forward(self, x):
        return x * sigmoid(x)

    def backward(self, saved, dy):
        x = saved.input(0)
        s = qkv.sigmoid(x)
        return dy * (s + x * s * (1.0 - s))


swish = Swish()

# %% [markdown]
# The same function made of qkv's own ops: values and gradients must be the same.

# %%
numbers = np.linspace(-4.0, 4.0, 9)
x = qkv.tensor(numbers, requires_grad=True)
gradient = np.asarray(qkv.backward(qkv.sum(swish(x)))[x])
expected = np.asarray(qkv.backward(qkv.sum(x * qkv.sigmoid(x)))[x])
print(np.abs(gradient - expected).max())
assert np.abs(gradient - expected).max() < 1e-12

# %% [markdown]
# The gradient check reaches the same verdict without knowing the formula, to the second order.

# %%
report = qkv.gradcheck(lambda x: qkv.sum(swish(x)), [x], order=2)
print(report)
assert report.passed
