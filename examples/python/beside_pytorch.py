# %% [markdown]
# # qkv's gradients beside PyTorch's
#
# A layer of attention with its loss, in both libraries, from the same numbers. Arrays cross the border without a copy.

# %%
import sys

import numpy as np

import qkv

try:
    import torch
except ImportError:
    print("skipped: there is no PyTorch (Debian: python3-torch)")
    sys.exit(77)

generator = np.random.default_rng(1)
numbers = {name: generator.normal(size=(8, 16)) for name in "qkv"}

# %%
mine = {name: qkv.tensor(array, requires_grad=True) for name, array in numbers.items()}
y = qkv.softmax(mine["q"] @ mine["k"].T / 4.0) @ mine["v"]
gradients = qkv.backward(qkv.sum(y * y))

# %%
theirs = {name: torch.from_numpy(array).requires_grad_() for name, array in numbers.items()}
z = torch.softmax(theirs["q"] @ theirs["k"].T / 4.0, dim=-1) @ theirs["v"]
(z * z).sum().backward()

# %%
for name in "qkv":
    difference = np.abs(np.asarray(gradients[mine[name]]) - theirs[name].grad.numpy()).max()
    print(f"d{name}: largest difference {difference:.1e}")
    assert difference < 1e-12

# %% [markdown]
# A tensor of PyTorch comes in, and goes out, without a copy.

# %%
shared = torch.arange(3.0)
x = qkv.tensor(shared)
shared[0] = 7.0
assert x.numpy()[0] == 7.0
assert torch.from_dlpack(x).data_ptr() == shared.data_ptr()
