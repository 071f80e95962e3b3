"""60 functions of PyTorch's tensors with backward passes by hand: right ones, wrong ones, and points without a derivative.

What each is, is known from how it was made. pytorch_test.py holds qkv.gradcheck to it. As a script, this file prints the
table of docs/python.md: both checks beside each other.

    ./qkv python tests/apps/python/torch_functions.py
"""

import math
import warnings

import torch
import torch.nn.functional as F

RIGHT, WRONG, NO_DERIVATIVE = 'right', 'wrong', 'no derivative'


def own(forward, backward):
    """A torch.autograd.Function of y = forward(*x), with the gradients of backward(dy, y, *x)."""
    class Own(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *x):
            y = forward(*x)
            ctx.save_for_backward(*x, y)
            return y

        @staticmethod
        def backward(ctx, dy):
            *x, y = ctx.saved_tensors
            return backward(dy, y, *x)
    return Own


def numbers(*shape, scale=1.0, seed=0):
    generator = torch.Generator().manual_seed(seed + sum(shape))
    return (scale * torch.randn(*shape, dtype=torch.float64, generator=generator)).requires_grad_()


def at(*values):
    return torch.tensor(values, dtype=torch.float64, requires_grad=True)


def rows(x):
    return x.sum(-1, keepdim=True)


def softmax_backward(dy, y, x):
    return y * (dy - rows(dy * y))


def normalized(x, correction=0, epsilon=1e-5):
    """(x - mean) / standard deviation, and 1 / standard deviation."""
    scale = ((x - x.mean(-1, keepdim=True)).square().sum(-1, keepdim=True) / (x.shape[-1] - correction) + epsilon).rsqrt()
    return (x - x.mean(-1, keepdim=True)) * scale, scale


def layer_norm(x, w, b):
    return normalized(x)[0] * w + b


def layer_norm_backward(dy, y, x, w, b, of_mean=1.0, **different):
    z, scale = normalized(x, **different)
    g = dy * w
    dx = scale * (g - of_mean * g.mean(-1, keepdim=True) - z * (g * z).mean(-1, keepdim=True))
    return dx, (dy * z).sum(0), dy.sum(0)


def rms_norm(x, w):
    return x * (x.square().mean(-1, keepdim=True) + 1e-5).rsqrt() * w


def rms_norm_backward(dy, y, x, w, projected=True):
    scale = (x.square().mean(-1, keepdim=True) + 1e-5).rsqrt()
    g = dy * w
    dx = scale * g
    if projected:
        dx = dx - x * scale ** 3 * (g * x).mean(-1, keepdim=True)
    return dx, (dy * x * scale).sum(0)


def gelu(x):
    return 0.5 * x * (1 + torch.erf(x / math.sqrt(2)))


def gelu_backward(dy, y, x):
    return dy * (0.5 * (1 + torch.erf(x / math.sqrt(2))) + x * torch.exp(-0.5 * x * x) / math.sqrt(2 * math.pi))


def gelu_tanh(x):
    return F.gelu(x, approximate='tanh')


def gelu_tanh_backward(dy, y, x, cubic=0.044715):
    t = torch.tanh(math.sqrt(2 / math.pi) * (x + cubic * x ** 3))
    return dy * (0.5 * (1 + t) + 0.5 * x * (1 - t * t) * math.sqrt(2 / math.pi) * (1 + 3 * cubic * x * x))


def silu_backward(dy, y, x):
    s = torch.sigmoid(x)
    return dy * (s + x * s * (1 - s))


def hidden(q):
    return torch.ones(q.shape[-2], q.shape[-2], dtype=torch.bool).triu(1)


def weights(q, k, causal):
    s = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    return torch.softmax(s.masked_fill(hidden(q), -math.inf) if causal else s, -1)


def attention(causal=False):
    return lambda q, k, v: weights(q, k, causal) @ v


def attention_backward(causal=False, dk_scale=1.0):
    def backward(dy, y, q, k, v):
        p = weights(q, k, causal)
        dp = dy @ v.transpose(-1, -2)
        ds = p * (dp - rows(dp * p)) / math.sqrt(q.shape[-1])
        return ds @ k, dk_scale * ds.transpose(-1, -2) @ q, p.transpose(-1, -2) @ dy
    return backward


class Flash(torch.autograd.Function):
    """Attention block by block, as FlashAttention does it (Dao et al. 2022): forward keeps the logarithm of each row's sum
    and no weights, backward computes those again. What may be wrong: the names in `slips`."""
    slips = ()
    causal = True
    block = 2

    @classmethod
    def scores(cls, q, k, i, j):
        s = q[i:i + cls.block] @ k[j:j + cls.block].T / math.sqrt(q.shape[1])
        hides = (torch.arange(i, i + len(s))[:, None] < torch.arange(j, j + s.shape[1])[None]) & cls.causal
        return s.masked_fill(hides, -math.inf)

    @classmethod
    def forward_of(cls, q, k, v):
        y, lse = torch.zeros_like(q), torch.zeros(len(q), 1, dtype=q.dtype)
        for i in range(0, len(q), cls.block):
            largest = torch.full((len(q[i:i + cls.block]), 1), -math.inf, dtype=q.dtype)
            total, sum_ = torch.zeros_like(largest), torch.zeros_like(q[i:i + cls.block])
            for j in range(0, i + cls.block if cls.causal else len(k), cls.block):
                s = cls.scores(q, k, i, j)
                new = torch.maximum(largest, s.max(1, keepdim=True).values)
                p, shrunk = torch.exp(s - new), torch.exp(largest - new)
                total, sum_, largest = total * shrunk + rows(p), sum_ * shrunk + p @ v[j:j + cls.block], new
            y[i:i + cls.block], lse[i:i + cls.block] = sum_ / total, largest + torch.log(total)
        return y, lse

    @staticmethod
    def forward(ctx, q, k, v, cls):
        y, lse = cls.forward_of(q, k, v)
        ctx.cls = cls
        ctx.save_for_backward(q, k, v, y, lse)
        return y

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, dy):
        q, k, v, y, lse = ctx.saved_tensors
        cls, scale, b = ctx.cls, 1 / math.sqrt(q.shape[1]), ctx.cls.block
        dq, dk, dv, delta = torch.zeros_like(q), torch.zeros_like(k), torch.zeros_like(v), rows(dy * y)
        if 'no delta' in cls.slips:
            delta = torch.zeros_like(delta)
        if 'lse of the first block' in cls.slips:
            lse = lse[:b].repeat(len(q) // b, 1)
        for i in range(0, len(q), b):
            for j in range(0, i + b if cls.causal else len(k), b):
                p = torch.exp(cls.scores(q, k, i, j) - lse[i:i + b])
                ds = p * (dy[i:i + b] @ v[j:j + b].T - delta[i:i + b]) * scale
                dq[i:i + b] += ds @ k[j:j + b]
                if 'dk overwritten' in cls.slips:
                    dk[j:j + b] = ds.T @ q[i:i + b]
                else:
                    dk[j:j + b] += ds.T @ q[i:i + b]
                if not ('dv without the last block' in cls.slips and i + b == len(q) and j + b == len(k)):
                    dv[j:j + b] += p.T @ dy[i:i + b]
        return dq, dk, dv, None


def flash(slips=(), causal=True):
    kind = type('Flash', (Flash,), {'slips': slips, 'causal': causal})
    return lambda q, k, v: Flash.apply(q, k, v, kind)


def cross_entropy(smoothing=0.0):
    return lambda x, targets: F.cross_entropy(x, targets, label_smoothing=smoothing)


def cross_entropy_backward(smoothing=0.0, mean=True, dtype=torch.float64):
    def backward(dy, y, x, targets):
        wanted = F.one_hot(targets, x.shape[1]).to(dtype) * (1 - smoothing) + smoothing / x.shape[1]
        return dy * (torch.softmax(x, -1) - wanted) / (len(x) if mean else 1), None
    return backward


def linear(x, w, b):
    return x @ w.T + b


def embedding_backward(dy, y, table, index, added=True):
    zeros = torch.zeros_like(table)
    return (zeros.index_add(0, index, dy) if added else zeros.index_copy(0, index, dy)), None


def summed_backward(dy, y, x):
    return dy.flip(0).cumsum(0).flip(0)


def moments():
    class Moments(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x.mean(-1), x.var(-1, unbiased=False)

        @staticmethod
        def backward(ctx, d_mean, d_variance):
            x, = ctx.saved_tensors
            n = x.shape[-1]
            return (d_mean[:, None] + 2 * d_variance[:, None] * (x - x.mean(-1, keepdim=True))) / n
    return Moments


def swiglu_backward(dy, y, x, gate):
    return dy * gate * torch.sigmoid(gate), silu_backward(dy * x, None, gate)


def rotated(x, sign=1):
    angle = torch.arange(len(x), dtype=x.dtype)[:, None] * 10000.0 ** -torch.arange(0, 1, 2 / x.shape[1], dtype=x.dtype)
    a, b, c, s = x[:, 0::2], x[:, 1::2], torch.cos(angle), sign * torch.sin(angle)
    return torch.stack([a * c - b * s, b * c + a * s], -1).flatten(1)


TARGETS, INDEX = torch.tensor([1, 0, 3]), torch.tensor([2, 0, 2, 1])
X, W, B = numbers(3, 4), numbers(4, seed=1), numbers(4, seed=2)
QKV = [numbers(6, 4, seed=i) for i in range(3)]
CONVOLVED = [numbers(1, 2, 6), numbers(3, 2, 3)]
SQUARE = (torch.eye(3, dtype=torch.float64) * 3 + numbers(3, 3).detach()).requires_grad_()


class Gru(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.cell = torch.nn.GRUCell(4, 4).double()

    def forward(self, x, h):
        return self.cell(x, self.cell(x, h))


# (name, what it is, function, inputs)
FUNCTIONS = [
    ('softmax', RIGHT, own(lambda x: torch.softmax(x, -1), softmax_backward), [X]),
    ('log_softmax', RIGHT, own(lambda x: torch.log_softmax(x, -1), lambda dy, y, x: dy - torch.exp(y) * rows(dy)), [X]),
    ('layer norm', RIGHT, own(layer_norm, layer_norm_backward), [X, W, B]),
    ('RMS norm', RIGHT, own(rms_norm, rms_norm_backward), [X, W]),
    ('GELU', RIGHT, own(gelu, gelu_backward), [X]),
    ('GELU with tanh', RIGHT, own(gelu_tanh, gelu_tanh_backward), [X]),
    ('SiLU', RIGHT, own(F.silu, silu_backward), [X]),
    ('SwiGLU', RIGHT, own(lambda x, gate: x * F.silu(gate), swiglu_backward), [X, numbers(3, 4, seed=5)]),
    ('attention', RIGHT, own(attention(), attention_backward()), QKV),
    ('causal attention', RIGHT, own(attention(True), attention_backward(True)), QKV),
    ('flash attention', RIGHT, flash(causal=False), QKV),
    ('causal flash attention', RIGHT, flash(), QKV),
    ('cross entropy', RIGHT, own(cross_entropy(), cross_entropy_backward()), [X, TARGETS]),
    ('label smoothing', RIGHT, own(cross_entropy(0.1), cross_entropy_backward(0.1)), [X, TARGETS]),
    ('linear', RIGHT, own(linear, lambda dy, y, x, w, b: (dy @ w, dy.T @ x, dy.sum(0))), [X, numbers(2, 4), numbers(2)]),
    ('embedding', RIGHT, own(lambda t, i: t[i], embedding_backward), [numbers(3, 4), INDEX]),
    ('cumulative sum', RIGHT, own(lambda x: x.cumsum(0), summed_backward), [X]),
    ('rotary positions', RIGHT, own(rotated, lambda dy, y, x: rotated(dy, -1)), [X]),
    ('mean and variance', RIGHT, moments(), [X]),
    ('matrix inverse', RIGHT, own(torch.linalg.inv, lambda dy, y, x: -y.T @ dy @ y.T), [SQUARE]),
    ('log determinant', RIGHT, torch.linalg.slogdet, [SQUARE]),
    ('convolution', RIGHT, F.conv1d, CONVOLVED),
    ('max pooling', RIGHT, lambda x: F.max_pool1d(x, 2), [numbers(1, 2, 6)]),
    ('two steps of a GRU', RIGHT, Gru(), [X, numbers(3, 4, seed=6)]),
    ('tanh, kept result', RIGHT, own(torch.tanh, lambda dy, y, x: dy * (1 - y * y)), [X]),
    ('exp far to the right', RIGHT, own(torch.exp, lambda dy, y, x: dy * y), [at(20.0, -20.0, 0.5)]),
    ('a tiny cube', RIGHT, own(lambda x: 1e-9 * x ** 3, lambda dy, y, x: 3e-9 * dy * x * x), [X]),
    ('tanh in f32', RIGHT, lambda x: torch.tanh(x.float()).double(), [X]),
    ('softmax, twice', WRONG, own(lambda x: torch.softmax(x, -1), lambda *a: 2 * softmax_backward(*a)), [X]),
    ('softmax, no row sum', WRONG, own(lambda x: torch.softmax(x, -1), lambda dy, y, x: dy * y), [X]),
    ('layer norm, no mean', WRONG, own(layer_norm, lambda *a: layer_norm_backward(*a, of_mean=0.0)), [X, W, B]),
    ('layer norm, N - 1', WRONG, own(layer_norm, lambda *a: layer_norm_backward(*a, correction=1)), [X, W, B]),
    ('layer norm, no epsilon', WRONG, own(layer_norm, lambda *a: layer_norm_backward(*a, epsilon=0.0)), [X, W, B]),
    ('RMS norm, no projection', WRONG, own(rms_norm, lambda *a: rms_norm_backward(*a, projected=False)), [X, W]),
    ('GELU, the tanh form back', WRONG, own(gelu, gelu_tanh_backward), [X]),
    ('GELU, 0.0447', WRONG, own(gelu_tanh, lambda *a: gelu_tanh_backward(*a, cubic=0.0447)), [X]),
    ('attention, dK unscaled', WRONG, own(attention(), attention_backward(dk_scale=2.0)), QKV),
    ('attention, mask forgotten', WRONG, own(attention(True), attention_backward()), QKV),
    ('flash, no delta', WRONG, flash(('no delta',)), QKV),
    ('flash, dK overwritten', WRONG, flash(('dk overwritten',)), QKV),
    ('flash, dV lacks a block', WRONG, flash(('dv without the last block',)), QKV),
    ('flash, stale sum', WRONG, flash(('lse of the first block',)), QKV),
    ('smoothing 0.1, back 0.0999', WRONG, own(cross_entropy(0.1), cross_entropy_backward(0.0999)), [X, TARGETS]),
    ('cross entropy, sum', WRONG, own(cross_entropy(), cross_entropy_backward(mean=False)), [X, TARGETS]),
    ('smoothing, targets in f32', WRONG, own(cross_entropy(0.1), cross_entropy_backward(0.1, dtype=torch.float32)),
     [X, TARGETS]),
    ('linear, transposed', WRONG, own(lambda x, w: x @ w.T, lambda dy, y, x, w: (dy @ w, x.T @ dy)), [X, numbers(4, 4)]),
    ('embedding, not added up', WRONG, own(lambda t, i: t[i], lambda *a: embedding_backward(*a, added=False)),
     [numbers(3, 4), INDEX]),
    ('cumulative sum, forwards', WRONG, own(lambda x: x.cumsum(0), lambda dy, y, x: dy.cumsum(0)), [X]),
    ('inverse, not transposed', WRONG, own(torch.linalg.inv, lambda dy, y, x: -y @ dy @ y), [SQUARE]),
    ('tanh, 1 - y', WRONG, own(torch.tanh, lambda dy, y, x: dy * (1 - y)), [X]),
    ('sigmoid, 1e-7 too much', WRONG, own(torch.sigmoid, lambda dy, y, x: dy * (y * (1 - y) + 1e-7)), [X]),
    ('exp, zero below -12', WRONG, own(torch.exp, lambda dy, y, x: dy * y * (x > -12)), [at(0.5, -1.0, -13.0)]),
    ('log(1 + x), 1 / x', WRONG, own(torch.log1p, lambda dy, y, x: dy / x), [at(1e4, 2e4)]),
    ('one of 400', WRONG, own(torch.sin, lambda dy, y, x: dy * torch.cos(x) * (torch.arange(400) != 123)), [numbers(400)]),
    ('straight through', WRONG, own(torch.round, lambda dy, y, x: dy), [X]),
    ('a detached factor', WRONG, lambda x: x * x.detach(), [X]),
    ('abs at 0', NO_DERIVATIVE, torch.abs, [at(0.0, 1.0)]),
    ('a jump at 0', NO_DERIVATIVE, lambda x: (x > 0) + 0 * x, [at(0.0, 1.0)]),
    ('a tie of max', NO_DERIVATIVE, lambda x: x.max(), [at(1.0, 1.0, 0.5)]),
    ('sqrt(abs x) at 0', NO_DERIVATIVE, own(lambda x: x.abs().sqrt(), lambda dy, y, x: 0 * dy), [at(0.0)]),
]


def verdicts(function, inputs):
    """Of torch.autograd.gradcheck, as it is and with fast_mode, and of qkv.gradcheck."""
    import qkv
    f = getattr(function, 'apply', function) if isinstance(function, type) else function
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')  # PyTorch's, of gradients in f32
        theirs = [torch.autograd.gradcheck(f, inputs, raise_exception=False, fast_mode=fast) for fast in (False, True)]
    return ['PASS' if each else 'FAIL' for each in theirs] + [qkv.gradcheck(function, inputs).verdict]


def table():
    """Markdown: how often each is right, and where they are not of one mind."""
    found = [(name, kind, *verdicts(function, inputs)) for name, kind, function, inputs in FUNCTIONS]
    head = '`torch.autograd.gradcheck` | with `fast_mode` | `qkv.gradcheck` |\n| --- | --- | --- | --- |'
    lines = [f'| {len(found)} functions | {head}']
    for kind, meaning, right in ((RIGHT, 'right, and pass', {'PASS'}), (WRONG, 'wrong, and fail', {'FAIL'}),
                                 (NO_DERIVATIVE, 'have no derivative there, and do not pass', {'FAIL', 'UNDECIDED'})):
        of_kind = [each[2:] for each in found if each[1] == kind]
        counts = [sum(verdict in right for verdict in column) for column in zip(*of_kind)]
        lines.append(f'| {len(of_kind)} are {meaning}'.replace('are have', 'have') + ''.join(f' | {n}' for n in counts) + ' |')
    lines += ['', f'| where they differ | | {head} --- |']
    lines += ['| ' + ' | '.join(each) + ' |' for each in found if len({verdict == 'PASS' for verdict in each[2:]}) > 1]
    return '\n'.join(lines)


if __name__ == '__main__':
    print(table())
