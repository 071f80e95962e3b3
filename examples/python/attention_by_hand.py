# %% [markdown]
# # Attention by hand
#
# One head of self-attention over three words, with NumPy alone, then with qkv, which must come to the same numbers; and
# its gradient, beside a difference quotient.

# %%
import numpy as np

import qkv

words = ["the", "cat", "sat"]
generator = np.random.default_rng(1)
X = generator.normal(size=(3, 4))  # a vector of width 4 for each word
W = {name: generator.normal(size=(4, 4)) for name in "qkv"}

# %% [markdown]
# Each word asks with a query, and is found by its key: the score of a pair is their product, divided by the root of their
# width. The softmax of a row says how much each word gives of its value.

# %%
Q, K, V = (X @ W[name] for name in "qkv")
S = Q @ K.T / np.sqrt(4)
P = np.exp(S - S.max(axis=1, keepdims=True))
P /= P.sum(axis=1, keepdims=True)
Y = P @ V
qkv.heat_map(P, "Attention by hand", rows=words, columns=words)

# %% [markdown]
# The same with qkv's tensors, whose gradients can be asked for.

# %%
x = qkv.tensor(X, requires_grad=True)
q, k, v = (x @ qkv.tensor(W[name]) for name in "qkv")
y = qkv.softmax(q @ k.T / 2.0) @ v
print("largest difference:", np.abs(y.numpy() - Y).max())
assert np.abs(y.numpy() - Y).max() < 1e-12

# %% [markdown]
# The loss is the sum of the squares. What backward says of one number of $X$ is what the loss does when that number is
# moved a little, to both sides.


# %%
def loss(numbers):
    moved = qkv.tensor(numbers, requires_grad=True)
    query, key, value = (moved @ qkv.tensor(W[name]) for name in "qkv")
    output = qkv.softmax(query @ key.T / 2.0) @ value
    return moved, qkv.sum(output * output)


moved, value = loss(X)
gradient = np.asarray(qkv.backward(value)[moved])
step = np.zeros_like(X)
step[1, 2] = 1e-6
quotient = (loss(X + step)[1].item() - loss(X - step)[1].item()) / 2e-6
print(f"backward {gradient[1, 2]:.9f}, difference quotient {quotient:.9f}")
assert abs(gradient[1, 2] - quotient) < 1e-6
