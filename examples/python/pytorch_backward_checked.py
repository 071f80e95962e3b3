# %% [markdown]
# # Your PyTorch backward, checked
#
# `qkv.gradcheck` takes functions of PyTorch's tensors and `torch.autograd.Function`s as they are. Tensors cross the border
# through DLPack. Inputs are `float64`, as for `torch.autograd.gradcheck`.

# %%
import math
import sys

import qkv

try:
    import torch
except ImportError:
    print("skipped: there is no PyTorch (Debian: python3-torch)")
    sys.exit(77)

torch.manual_seed(1)


def numbers(*shape):
    return torch.randn(*shape, dtype=torch.float64, requires_grad=True)


# %% [markdown]
# ## A softmax, and why the sum proves nothing
#
# This backward is twice too large. The shares of a row sum to 1 whatever the scores are, so the gradient of their sum is
# zero, and twice zero is zero. `torch.autograd.gradcheck` says yes to the sum, and no check can see more there.


# %%
class TwiceTooLarge(torch.autograd.Function):
    @staticmethod
    def forward(ctx, scores):
        p = torch.softmax(scores, -1)
        ctx.save_for_backward(p)
        return p

    @staticmethod
    def backward(ctx, dp):
        p, = ctx.saved_tensors
        return 2 * p * (dp - (dp * p).sum(-1, keepdim=True))


scores = numbers(2, 3)
of_the_sum = torch.autograd.gradcheck(lambda scores: TwiceTooLarge.apply(scores).sum(), scores)
print("torch, the sum:", of_the_sum)
assert of_the_sum

# %% [markdown]
# `qkv.gradcheck` takes the function itself, whatever its shape, and weighs the results at random. The report says by which
# factor the gradient is off.

# %%
report = qkv.gradcheck(TwiceTooLarge, scores)
assert report.verdict == "FAIL"
print(report)

# %% [markdown]
# ## A layer norm that is almost right
#
# The forward has $\varepsilon = 10^{-5}$ below the root, and this backward forgets it. The gradient is off by a few parts
# in 100,000. PyTorch's check allows one part in 1,000.


# %%
def normalized(x, epsilon):
    centred = x - x.mean(-1, keepdim=True)
    scale = (centred.square().mean(-1, keepdim=True) + epsilon).rsqrt()
    return centred * scale, scale


class LayerNorm(torch.autograd.Function):
    epsilon = 0.0  # of the backward

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return normalized(x, 1e-5)[0]

    @staticmethod
    def backward(ctx, dy):
        z, scale = normalized(*ctx.saved_tensors, LayerNorm.epsilon)
        return scale * (dy - dy.mean(-1, keepdim=True) - z * (dy * z).mean(-1, keepdim=True))


x = numbers(4, 8)
print("torch:", torch.autograd.gradcheck(LayerNorm.apply, x), " qkv:", qkv.gradcheck(LayerNorm, x).verdict)
assert torch.autograd.gradcheck(LayerNorm.apply, x) and qkv.gradcheck(LayerNorm, x).verdict == "FAIL"
LayerNorm.epsilon = 1e-5
print("mended:", qkv.gradcheck(LayerNorm, x, order=2).verdict)
assert qkv.gradcheck(LayerNorm, x, order=2).passed

# %% [markdown]
# ## Attention in blocks, as FlashAttention goes back
#
# The forward keeps the logarithm $L$ of each row's sum instead of the weights. The backward computes those again, block by
# block of keys: $P = e^{S - L}$, $\delta = \mathrm{rowsum}(dO \circ O)$, $dV = P^T dO$,
# $dS = P \circ (dO\,V^T - \delta) / \sqrt d$, $dQ = dS\,K$, $dK = dS^T Q$. Each block adds to $dQ$, which is easy to forget.


# %%
class FlashAttention(torch.autograd.Function):
    adds_up, block = False, 2

    @staticmethod
    def forward(ctx, q, k, v):
        s = q @ k.T / math.sqrt(q.shape[1])
        logarithm = torch.logsumexp(s, 1, keepdim=True)
        output = torch.exp(s - logarithm) @ v
        ctx.save_for_backward(q, k, v, output, logarithm)
        return output

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, d_output):
        q, k, v, output, logarithm = ctx.saved_tensors
        delta = (d_output * output).sum(1, keepdim=True)
        dq, dk, dv = torch.zeros_like(q), torch.zeros_like(k), torch.zeros_like(v)
        for j in range(0, len(k), FlashAttention.block):
            keys = slice(j, j + FlashAttention.block)
            p = torch.exp(q @ k[keys].T / math.sqrt(q.shape[1]) - logarithm)
            ds = p * (d_output @ v[keys].T - delta) / math.sqrt(q.shape[1])
            dq = ds @ k[keys] + (dq if FlashAttention.adds_up else 0)
            dk[keys], dv[keys] = ds.T @ q, p.T @ d_output
        return dq, dk, dv


q, k, v = numbers(6, 4), numbers(6, 4), numbers(6, 4)
report = qkv.gradcheck(FlashAttention, [q, k, v])
print(report)
assert report.verdict == "FAIL"
FlashAttention.adds_up = True
assert qkv.gradcheck(FlashAttention, [q, k, v]).passed
