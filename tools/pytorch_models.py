"""docs/models.md in PyTorch: every model of qkv as a module whose parameters have qkv's names.

`model_of(config, sizes)` makes one from the tables of a config.toml and the sizes in a checkpoint's metadata. Shapes are
qkv's: B batch, T length, C d_model, H heads, K heads of keys, D head width, V vocabulary. Python 3.11, PyTorch 1.13 or newer.
"""
import math

import torch
from torch import nn
from torch.nn import functional


def rms_norm(x, weight, epsilon):
    return x / (x.square().mean(-1, keepdim=True) + epsilon).sqrt() * weight


class RmsNorm(nn.Module):
    def __init__(self, width, epsilon):
        super().__init__()
        self.weight, self.epsilon = nn.Parameter(torch.ones(width)), epsilon

    def forward(self, x):
        return rms_norm(x, self.weight, self.epsilon)


def norm_of(o):
    if o["norm"] == "none":
        return nn.Identity()
    epsilon = o.get("norm_epsilon", 1e-5)
    if o["norm_kind"] == "rms":
        return RmsNorm(o["d_model"], epsilon)
    norm = nn.LayerNorm(o["d_model"], eps=epsilon)
    if not o["bias"]:
        norm.bias = None
    return norm


class PartsLinear(nn.Module):
    """A map of its own for each of `parts` parts of x."""

    def __init__(self, parts, width, bias):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(parts, width // parts, width // parts))  # [H, out, in]
        self.bias = nn.Parameter(torch.zeros(width)) if bias else None

    def forward(self, x):
        parts = x.unflatten(-1, (self.weight.shape[0], -1))
        y = torch.einsum("bthi,hoi->btho", parts, self.weight).flatten(-2)
        return y if self.bias is None else y + self.bias


def hidden_keys(queries, keys, causal, window, padding):
    """True where a query does not see a key, [B or 1, Tq, Tk]."""
    distance = torch.arange(queries)[:, None] - torch.arange(keys)  # p - j
    hidden = (distance < 0) if causal else torch.zeros_like(distance, dtype=torch.bool)
    if window:
        hidden = hidden | (distance.abs() > window)
    return hidden[None] if padding is None else hidden | padding[:, None, :]


def weights_of(scores, hidden):
    """Softmax over the keys that are seen; zeros where there is none."""
    return scores.masked_fill(hidden, torch.finfo(scores.dtype).min).softmax(-1).masked_fill(hidden, 0.0)


def attend(q, k, v, hidden, scale, bias=0.0, dropout=nn.Identity()):
    """[B, T, H, D] each; the bias of the scores [H, Tq, Tk]."""
    scores = scale * torch.einsum("bqhd,bkhd->bhqk", q, k) + bias
    return torch.einsum("bhqk,bkhd->bqhd", dropout(weights_of(scores, hidden[:, None])), v)


def rotary(x, first_position=0, base=10000.0):
    """[B, T, H, D]: the pairs (0, 1), (2, 3) … are turned."""
    length, width = x.shape[1], x.shape[3]
    position = first_position + torch.arange(length, dtype=x.dtype)[:, None, None]
    angle = position / base ** (torch.arange(0, width, 2, dtype=x.dtype) / width)
    even, odd, cos, sin = x[..., 0::2], x[..., 1::2], angle.cos(), angle.sin()
    return torch.stack([even * cos - odd * sin, even * sin + odd * cos], -1).flatten(-2)


def alibi_slopes(heads, form):
    def geometric(count):
        return [2 ** (-8 * h / count) for h in range(1, count + 1)]

    power = 2 ** int(math.log2(heads))
    if form == "interpolated":
        return geometric(power) + geometric(2 * power)[0::2][: heads - power]
    return geometric(heads)


class Attention(nn.Module):
    def __init__(self, o, a, max_length, causal, crosses=False):
        super().__init__()
        C, H, maps, narrow = o["d_model"], o["num_heads"], a["projections"], a["heads"] == "narrow"
        K, D = a["num_key_value_heads"] or H, C if a["heads"] == "wide" else C // H

        def projection(heads):
            return PartsLinear(heads, C, o["bias"]) if narrow else nn.Linear(C, heads * D, o["bias"])

        self.query = projection(H) if maps in ("separate", "shared_key_value") else None
        self.key = projection(K) if maps == "separate" else None
        self.value = projection(K) if maps != "none" else nn.Identity()
        self.output = nn.Linear(H * D, C, o["bias"]) if maps != "none" else nn.Identity()
        self.H, self.K, self.scale = H, K, a["scale"] or (D**-0.5 if o["scale_scores"] else 1.0)
        self.kind = "none" if crosses else o["position"]
        self.slopes = torch.tensor(alibi_slopes(H, a.get("alibi_slopes", "geometric")))
        self.zero = 0 if causal else max_length - 1  # the row of distance 0
        if self.kind == "relative":
            self.position = nn.Module()
            self.position.distance_bias = nn.Parameter(torch.zeros(self.zero + max_length, H))
        self.base = a.get("rotary_base", 10000.0)
        self.normalizes = a.get("query_key_norm", False)
        if self.normalizes:
            self.query_norm, self.key_norm = RmsNorm(D, 1e-5), RmsNorm(D, 1e-5)
        self.dropout = nn.Dropout(o["dropout"])

    def forward(self, x, hidden, source=None):
        y = x if source is None else source
        v = self.value(y)
        k = self.key(y) if self.key else v
        q = self.query(x) if self.query else self.value(x)
        q, k, v = (z.unflatten(-1, (heads, -1)) for z, heads in ((q, self.H), (k, self.K), (v, self.K)))
        if self.normalizes:
            q, k = self.query_norm(q), self.key_norm(k)
        if self.kind == "rotary":
            q, k = rotary(q, base=self.base), rotary(k, base=self.base)
        k, v = (z.repeat_interleave(self.H // self.K, 2) for z in (k, v))  # [B, T, H, D]
        distance, bias = torch.arange(x.shape[1])[:, None] - torch.arange(y.shape[1]), 0.0  # p - j
        if self.kind == "alibi":
            bias = -self.slopes[:, None, None] * distance.abs()
        elif self.kind == "relative":
            table = self.position.distance_bias
            bias = table[(distance + self.zero).clamp(0, len(table) - 1)].permute(2, 0, 1)
        return self.output(attend(q, k, v, hidden, self.scale, bias, self.dropout).flatten(-2))


class Mixing(nn.Module):
    """mixer = "learned" and "uniform"."""

    def __init__(self, max_length, learned):
        super().__init__()
        scores = torch.zeros(max_length, max_length)
        self.scores = nn.Parameter(scores) if learned else None

    def forward(self, x, hidden):
        length = x.shape[1]
        scores = torch.zeros(length, length) if self.scores is None else self.scores[:length, :length]
        return weights_of(scores[None], hidden) @ x


def convolution(x, weight, bias, before, groups=1):
    """x [B, T, C]: position t reads from t - before on, zeros beyond the ends."""
    padded = functional.pad(x.transpose(1, 2), (before, weight.shape[2] - 1 - before))
    return functional.conv1d(padded, weight, bias, groups=groups).transpose(1, 2)


class Convolution(nn.Conv1d):
    def __init__(self, o, causal):
        width = o["d_model"]
        super().__init__(width, width, o["kernel"], groups=width if o["depthwise"] else 1, bias=o["bias"])
        self.before = o["kernel"] - 1 if causal else (o["kernel"] - 1) // 2

    def forward(self, x, padding):
        if padding is not None:
            x = x.masked_fill(padding[:, :, None], 0.0)
        return convolution(x, self.weight, self.bias, self.before, self.groups)


class Scan(nn.Module):
    """One direction of a recurrence."""

    def __init__(self, width, hidden, cell, bias, reverse):
        super().__init__()
        rows = 4 * hidden if cell == "lstm" else hidden
        self.input, self.state = nn.Linear(width, rows, bias), nn.Linear(hidden, rows, bias=False)
        self.cell, self.reverse = cell, reverse

    def forward(self, x, padding):
        sums, steps = self.input(x), range(x.shape[1])
        h = c = x.new_zeros(x.shape[0], self.state.in_features)
        states = {}
        for t in reversed(steps) if self.reverse else steps:
            a = sums[:, t] + self.state(h)
            if self.cell == "lstm":
                i, f, g, o = a.chunk(4, -1)
                next_c = f.sigmoid() * c + i.sigmoid() * g.tanh()
                next_h = o.sigmoid() * next_c.tanh()
            else:
                next_c, next_h = c, a.tanh()
            if padding is not None:  # the state passes over it
                is_padding = padding[:, t, None]
                next_h, next_c = torch.where(is_padding, h, next_h), torch.where(is_padding, c, next_c)
            states[t] = h, c = next_h, next_c
        return torch.stack([states[t][0] for t in steps], 1)


class Recurrence(nn.Module):
    def __init__(self, o, causal):
        super().__init__()
        width, directions = o["d_model"], ["forward"] if causal else ["forward", "backward"]
        hidden = -(-width // len(directions))
        for name in directions:  # not add_module, which has a method `forward` in its way
            self._modules[name] = Scan(width, hidden, o["cell"], o["bias"], name == "backward")
        self.output = nn.Linear(hidden * len(directions), width, o["bias"])

    def forward(self, x, padding):
        directions = [self._modules[name] for name in ("forward", "backward") if name in self._modules]
        return self.output(torch.cat([scan(x, padding) for scan in directions], -1))


class FeedForward(nn.Module):
    def __init__(self, o):
        super().__init__()
        self.up, self.down = (nn.Linear(o["d_model"], o["d_ff"], o["bias"]), nn.Linear(o["d_ff"], o["d_model"], o["bias"]))
        self.activation = o["activation"]
        if self.activation == "swiglu":
            self.gate = nn.Linear(o["d_model"], o["d_ff"], o["bias"])

    def forward(self, x):
        y = self.up(x)
        if self.activation == "swiglu":
            return self.down(functional.silu(self.gate(x)) * y)
        if self.activation == "relu_squared":
            return self.down(functional.relu(y).square())
        if self.activation == "gelu_tanh":
            return self.down(functional.gelu(y, approximate="tanh"))
        return self.down(getattr(functional, self.activation)(y))


class Block(nn.Module):
    def __init__(self, o, a, max_length, causal, has_source, layer):
        super().__init__()
        self.kind, self.pre = o["mixer"], o["norm"] == "pre"
        every = a.get("full_every", 0)
        is_full = every > 0 and (layer + 1) % every == 0
        self.causal, self.window = causal, 0 if is_full else a.get("window", 0)
        mixer = {
            "attention": lambda: Attention(o, a, max_length, causal),
            "convolution": lambda: Convolution(o, causal),
            "recurrence": lambda: Recurrence(o, causal),
            "learned": lambda: Mixing(max_length, learned=True),
            "uniform": lambda: Mixing(max_length, learned=False),
        }[self.kind]()
        self.add_module(self.kind, mixer)
        self.add_module(self.kind + "_norm", norm_of(o))
        if has_source:
            self.cross_attention = Attention(o, a, max_length, causal, crosses=True)
            self.cross_attention_norm = norm_of(o)
        self.feed_forward, self.feed_forward_norm = FeedForward(o), norm_of(o)
        self.dropout = nn.Dropout(o["dropout"])

    def around(self, name, x, layer):
        norm = getattr(self, name + "_norm")
        return x + self.dropout(layer(norm(x))) if self.pre else norm(x + self.dropout(layer(x)))

    def forward(self, x, padding, source, source_padding):
        length, mixer = x.shape[1], getattr(self, self.kind)
        heard = padding
        if self.kind in ("attention", "learned", "uniform"):
            heard = hidden_keys(length, length, self.causal, self.window, padding)
        x = self.around(self.kind, x, lambda y: mixer(y, heard))
        if source is not None:
            seen = hidden_keys(length, source.shape[1], False, 0, source_padding)
            x = self.around("cross_attention", x, lambda y: self.cross_attention(y, seen, source))
        return self.around("feed_forward", x, self.feed_forward)


class Stack(nn.Module):
    def __init__(self, o, a, max_length, causal, has_source=False):
        super().__init__()
        C, self.kind = o["d_model"], o["position"]
        if self.kind == "learned":
            self.position_embedding = nn.Embedding(max_length, C)
        if self.kind == "sinusoidal":
            self.scale = o.get("sinusoidal_scale", 1.0) or o["init_std"]
            if o.get("learn_sinusoidal_scale", False):
                self.position_gain = nn.Parameter(torch.zeros(1))
        blocks = [Block(o, a, max_length, causal, has_source, layer) for layer in range(o["num_layers"])]
        self.blocks = nn.ModuleList(blocks)
        if o["norm"] == "pre":
            self.final_norm = norm_of(o)
        self.dropout = nn.Dropout(o["dropout"])

    def positions(self, length, width):  # [T, C]
        if self.kind == "learned":
            return self.position_embedding.weight[:length]
        if self.kind != "sinusoidal":
            return 0.0
        column = torch.arange(width)
        angle = torch.arange(length)[:, None] / 10000.0 ** (column // 2 * 2 / width)
        table = self.scale * torch.where(column % 2 == 0, angle.sin(), angle.cos())
        return table * (10 * self.position_gain).exp() if hasattr(self, "position_gain") else table

    def stack(self, x, padding=None, source=None, source_padding=None):
        x = self.dropout(x + self.positions(*x.shape[1:]))
        for block in self.blocks:
            x = block(x, padding, source, source_padding)
        return self.final_norm(x) if hasattr(self, "final_norm") else x


def capped(logits, cap):
    return cap * (logits / cap).tanh() if cap else logits


class Decoder(Stack):
    def __init__(self, o, a, sizes):
        super().__init__(o, a, sizes["max_length"], a.get("causal", True))
        self.token_embedding = nn.Embedding(sizes["vocabulary"], o["d_model"])
        self.head = None if o["tie_embeddings"] else nn.Linear(o["d_model"], sizes["vocabulary"], bias=False)
        self.cap = o.get("logit_cap", 0.0)

    def forward(self, tokens):  # [B, T] -> [B, T, V]
        x = self.stack(self.token_embedding(tokens))
        return capped(x @ (self.head or self.token_embedding).weight.T, self.cap)


class EncoderDecoder(nn.Module):
    def __init__(self, o, a, sizes):
        super().__init__()
        self.token_embedding = nn.Embedding(sizes["vocabulary"], o["d_model"])
        self.encoder = Stack(o, a, sizes["source_length"], causal=False)
        self.decoder = Stack(o, a, sizes["max_length"], a.get("causal", True), has_source=True)
        self.head = None if o["tie_embeddings"] else nn.Linear(o["d_model"], sizes["vocabulary"], bias=False)
        self.cap = o.get("logit_cap", 0.0)

    def forward(self, source, target, padding=None):  # [B, Ts], [B, Tt], [B, Ts] -> [B, Tt, V]
        encoded = self.encoder.stack(self.token_embedding(source), padding)
        x = self.decoder.stack(self.token_embedding(target), None, encoded, padding)
        return capped(x @ (self.head or self.token_embedding).weight.T, self.cap)


class Classifier(Stack):
    def __init__(self, o, a, sizes):
        C, P, pooled = o["d_model"], o["patch_size"], o["pool"] == "class_token"
        of_images = "height" in sizes
        read = sizes["height"] // P * (sizes["width"] // P) if of_images else sizes["max_length"]
        super().__init__(o, a, read + pooled, causal=False)
        self.patch = P if of_images else 0
        if of_images:
            self.patch_embedding = nn.Linear(sizes["channels"] * P**2, C, o["bias"])
        else:
            self.token_embedding = nn.Embedding(sizes["vocabulary"], C)
        self.class_token = nn.Parameter(torch.zeros(C)) if pooled else None
        self.head = nn.Linear(C, sizes["classes"], o["bias"])

    def forward(self, read, padding=None):  # [B, T] or [B, channels, height, width] -> [B, classes]
        if self.patch:  # row by row; of each patch its channels, rows, columns
            x = self.patch_embedding(functional.unfold(read, self.patch, stride=self.patch).transpose(1, 2))
        else:
            x = self.token_embedding(read)
        if self.class_token is not None:
            x = torch.cat([self.class_token.expand(len(x), 1, -1), x], 1)
            padding = functional.pad(padding, (1, 0)) if padding is not None else None
        x = self.stack(x, padding)
        if self.class_token is not None:
            return self.head(x[:, 0])
        kept = torch.ones(x.shape[:2]) if padding is None else 1.0 - padding.to(x.dtype)
        return self.head((x * kept[:, :, None]).sum(1) / kept.sum(1, keepdim=True))


def cross_entropy(logits, targets, smoothing=0.0, reduction="mean"):
    flat = logits.flatten(0, -2), targets.flatten()
    return functional.cross_entropy(*flat, ignore_index=-1, label_smoothing=smoothing, reduction=reduction)


def model_of(config, sizes):
    kinds = {"decoder": Decoder, "encoder_decoder": EncoderDecoder, "classifier": Classifier}
    return kinds[config["model"]["kind"]](config["model"], config.get("attention", {}), sizes)
