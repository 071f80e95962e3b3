# %% [markdown]
# # A gradient check that fails
#
# The backward pass of a softmax is $P \circ (dP - \mathrm{rowsum}(dP \circ P))$. A common slip forgets the row sum.
# Training with it still goes down for a while; the gradient check sees it at once.

# %%
import numpy as np

import qkv


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


class WithoutRowSum(qkv.Op):
    def forward(self, x):
        return softmax(x)

    def backward(self, saved, dp):
        return saved.output() * dp


class Right(WithoutRowSum):
    def backward(self, saved, dp):
        p = saved.output()
        return p * (dp - qkv.sum(dp * p, -1, True))


# %% [markdown]
# The loss weighs the shares with fixed numbers. Whatever is in the graph can be checked so.

# %%
generator = np.random.default_rng(1)
x = qkv.tensor(generator.normal(size=(2, 3)), requires_grad=True)
weights = qkv.tensor(generator.normal(size=(2, 3)))

report = qkv.gradcheck(lambda x: qkv.sum(WithoutRowSum()(x) * weights), [x], names=["scores"])
print(report.verdict)
assert not report.passed
report

# %% [markdown]
# With the row sum, and for qkv's own softmax, it passes.

# %%
for name, function in (("Right", Right()), ("qkv.softmax", qkv.softmax)):
    report = qkv.gradcheck(lambda x: qkv.sum(function(x) * weights), [x], names=["scores"])
    print(name, report.verdict)
    assert report.passed
