"""A decoder-only transformer in plain formulas, and the same from PyTorch's own functions.

The options `o` of a model are those of MODELS in make_golden.py. Legend for shapes: B batch,
T length, C d_model, H heads, D head width, F d_ff, V vocabulary.
"""

import math

import torch
import torch.nn.functional as functional

IGNORED = -1
NORM_EPSILON = 1e-5


# The parameters.


def parameter_shapes(o):
    """Name to shape, in the forward's order; linear weights [out_features, in_features]."""
    V, C, T, F = o["vocabulary"], o["d_model"], o["length"], o["d_ff"]
    shapes = {"token_embedding.weight": (V, C)}
    if o["position"] == "learned":
        shapes["position_embedding.weight"] = (T, C)

    def norm(name):
        shapes[name + ".weight"] = (C,)
        if o["norm_kind"] == "layer" and o["bias"]:
            shapes[name + ".bias"] = (C,)

    def linear(name, out_features, in_features):
        shapes[name + ".weight"] = (out_features, in_features)
        if o["bias"]:
            shapes[name + ".bias"] = (out_features,)

    for n in range(o["num_layers"]):
        block = f"blocks.{n}."
        norm(block + "attention_norm")
        for name in ("query", "key", "value", "output"):
            linear(block + "attention." + name, C, C)
        norm(block + "feed_forward_norm")
        linear(block + "feed_forward.up", F, C)
        linear(block + "feed_forward.down", C, F)
    if o["norm"] == "pre":
        norm("final_norm")
    if not o["tie_embeddings"]:
        shapes["head.weight"] = (V, C)
    return shapes


# The formulas, written out.


def sinusoidal(T, C):
    """e[t, 2i] = sin(t / 10000^(2i / C)), e[t, 2i + 1] = cos of the same (Vaswani et al. 2017)."""
    angle = torch.arange(T)[:, None] / 10000.0 ** (torch.arange(0, C, 2) / C)  # [T, C / 2]
    return torch.stack([angle.sin(), angle.cos()], dim=-1).reshape(T, C)


def softmax(x):
    e = (x - x.amax(-1, keepdim=True)).exp()
    return e / e.sum(-1, keepdim=True)


def log_softmax(x):
    shifted = x - x.amax(-1, keepdim=True)
    return shifted - shifted.exp().sum(-1, keepdim=True).log()


def layer_norm(x, weight, bias=None):
    centered = x - x.mean(-1, keepdim=True)
    y = centered / (centered.square().mean(-1, keepdim=True) + NORM_EPSILON).sqrt() * weight
    return y if bias is None else y + bias


def rms_norm(x, weight):
    return x / (x.square().mean(-1, keepdim=True) + NORM_EPSILON).sqrt() * weight


def gelu(x):
    return 0.5 * x * (1 + torch.erf(x / math.sqrt(2)))


def gelu_tanh(x):
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def relu(x):
    return torch.where(x > 0, x, 0.0)


def silu(x):
    return x / (1 + torch.exp(-x))


def cross_entropy(logits, targets, label_smoothing=0.0):
    """The mean over the targets not ignored, with 1 - s on the target and s / V on every class."""
    log_p = log_softmax(logits)
    counted = targets != IGNORED
    at_target = log_p.gather(-1, targets.clamp(min=0).unsqueeze(-1)).squeeze(-1)
    per_token = -(1 - label_smoothing) * at_target - label_smoothing * log_p.mean(-1)
    return torch.where(counted, per_token, 0.0).sum() / counted.sum()


def attention(query, key, value, causal, scale, padding=None):
    """query [B, H, Tq, D], key and value [B, H, Tk, D]; padding [B, Tk] is true there."""
    scores = query @ key.transpose(-1, -2) * scale  # [B, H, Tq, Tk]
    if causal:
        future = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
        scores = scores.masked_fill(future, -math.inf)
    if padding is not None:
        scores = scores.masked_fill(padding[:, None, None, :], -math.inf)
    return softmax(scores) @ value


def linear(x, weight, bias):
    return x @ weight.T + (0 if bias is None else bias)


def embedding(weight, indices):
    return weight[indices]


def conv1d(x, weight, bias=None, before=0, depthwise=False):
    """x [B, T, C], tap k of position t reads x[t + k - before], zeros beyond the ends."""
    T, K = x.shape[1], weight.shape[2]
    B, _, C = x.shape
    padded = torch.cat([torch.zeros(B, before, C), x, torch.zeros(B, K - 1 - before, C)], dim=1)
    y = 0 if bias is None else bias
    for k in range(K):
        tap = padded[:, k : k + T]
        y = y + (tap * weight[:, 0, k] if depthwise else tap @ weight[:, :, k].T)
    return y


def recurrence(cell, x, h0=None, c0=None, **parameters):
    """One layer, in both directions where there are parameters for it: x [B, T, C] to [B, T, H],
    or [B, T, 2 H]; h0 and c0 [B, H]. The parameters have PyTorch's names."""

    def scan(positions, suffix):
        w_ih, w_hh, b_ih, b_hh = (
            parameters[name + suffix]
            for name in ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")
        )
        h = x.new_zeros(x.shape[0], w_hh.shape[1]) if h0 is None else h0
        c = torch.zeros_like(h) if c0 is None else c0
        states = {}
        for t in positions:
            a = x[:, t] @ w_ih.T + b_ih + h @ w_hh.T + b_hh
            if cell == "rnn":
                h = torch.tanh(a)
            else:
                i, f, g, o = a.chunk(4, dim=-1)
                c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
                h = torch.sigmoid(o) * torch.tanh(c)
            states[t] = h
        return torch.stack([states[t] for t in range(x.shape[1])], dim=1)

    positions = range(x.shape[1])
    y = scan(positions, "")
    if "weight_hh_l0_reverse" not in parameters:
        return y
    return torch.cat([y, scan(reversed(positions), "_reverse")], dim=-1)


PLAIN = dict(
    softmax=softmax,
    log_softmax=log_softmax,
    embedding=embedding,
    layer_norm=layer_norm,
    rms_norm=rms_norm,
    attention=attention,
    cross_entropy=cross_entropy,
    linear=linear,
    gelu=gelu,
    gelu_tanh=gelu_tanh,
    relu=relu,
    silu=silu,
    conv1d=conv1d,
    rnn=lambda **inputs: recurrence("rnn", **inputs),
    lstm=lambda **inputs: recurrence("lstm", **inputs),
)


# The same from PyTorch's own functions.


def torch_attention(query, key, value, causal, scale, padding=None):
    mask = None
    if padding is not None:
        mask = ~padding[:, None, None, :].expand(-1, 1, query.shape[2], -1)
        if causal:
            mask = mask & torch.ones(mask.shape[-2:], dtype=torch.bool).tril()
    return functional.scaled_dot_product_attention(
        query, key, value, attn_mask=mask, is_causal=causal and mask is None, scale=scale
    )


def torch_rms_norm(x, weight):
    if hasattr(functional, "rms_norm"):  # since PyTorch 2.4
        return functional.rms_norm(x, weight.shape, weight, NORM_EPSILON)
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + NORM_EPSILON) * weight


def torch_cross_entropy(logits, targets, label_smoothing=0.0):
    return functional.cross_entropy(
        logits.flatten(0, -2),
        targets.flatten(),
        ignore_index=IGNORED,
        label_smoothing=label_smoothing,
    )


def torch_conv1d(x, weight, bias=None, before=0, depthwise=False):
    K = weight.shape[2]
    padded = functional.pad(x.transpose(1, 2), (before, K - 1 - before))
    groups = x.shape[2] if depthwise else 1
    return functional.conv1d(padded, weight, bias, groups=groups).transpose(1, 2)


def torch_recurrence(module, x, h0=None, c0=None, **parameters):
    layer = module(
        x.shape[2],
        parameters["weight_hh_l0"].shape[1],
        batch_first=True,
        bidirectional="weight_hh_l0_reverse" in parameters,
    )
    states = [state.unsqueeze(0) for state in (h0, c0) if state is not None]
    if module is torch.nn.LSTM:
        states = [tuple(states)] if states else []
    return torch.func.functional_call(layer, parameters, (x, *states))[0]


TORCH = dict(
    layer_norm=lambda x, weight, bias=None: functional.layer_norm(
        x, weight.shape, weight, bias, NORM_EPSILON
    ),
    rms_norm=torch_rms_norm,
    attention=torch_attention,
    cross_entropy=torch_cross_entropy,
    linear=functional.linear,
    embedding=lambda weight, indices: functional.embedding(indices, weight),
    gelu=lambda x: functional.gelu(x),
    gelu_tanh=lambda x: functional.gelu(x, approximate="tanh"),
    relu=lambda x: functional.relu(x),
    silu=lambda x: functional.silu(x),
    softmax=lambda x: functional.softmax(x, -1),
    log_softmax=lambda x: functional.log_softmax(x, -1),
    conv1d=torch_conv1d,
    rnn=lambda **inputs: torch_recurrence(torch.nn.RNN, **inputs),
    lstm=lambda **inputs: torch_recurrence(torch.nn.LSTM, **inputs),
)


# The model.


def transformer(o, parameters, inputs, functions):
    """The logits [B, T, V] of `inputs` [B, T], computed with `functions`: PLAIN or TORCH."""
    B, T = inputs.shape
    C, H = o["d_model"], o["num_heads"]
    D = C // H

    def linear(name, x):
        return functions["linear"](x, parameters[name + ".weight"], parameters.get(name + ".bias"))

    def norm(name, x):
        if o["norm_kind"] == "rms":
            return functions["rms_norm"](x, parameters[name + ".weight"])
        return functions["layer_norm"](
            x, parameters[name + ".weight"], parameters.get(name + ".bias")
        )

    def self_attention(name, x):  # the heads are [B, H, T, D]
        query, key, value = (
            linear(f"{name}.{part}", x).view(B, T, H, D).transpose(1, 2)
            for part in ("query", "key", "value")
        )
        scale = 1 / math.sqrt(D) if o["scale_scores"] else 1.0
        heads = functions["attention"](query, key, value, causal=True, scale=scale)
        return linear(name + ".output", heads.transpose(1, 2).reshape(B, T, C))

    def feed_forward(name, x):
        return linear(name + ".down", functions[o["activation"]](linear(name + ".up", x)))

    x = functions["embedding"](parameters["token_embedding.weight"], inputs)  # [B, T, C]
    if o["position"] == "learned":
        x = x + parameters["position_embedding.weight"][:T]
    elif o["position"] == "sinusoidal":
        x = x + sinusoidal(T, C)
    for n in range(o["num_layers"]):
        block = f"blocks.{n}."
        if o["norm"] == "pre":
            x = x + self_attention(block + "attention", norm(block + "attention_norm", x))
            x = x + feed_forward(block + "feed_forward", norm(block + "feed_forward_norm", x))
        else:
            x = norm(block + "attention_norm", x + self_attention(block + "attention", x))
            x = norm(block + "feed_forward_norm", x + feed_forward(block + "feed_forward", x))
    if o["norm"] == "pre":
        x = norm("final_norm", x)
    head = parameters["token_embedding.weight" if o["tie_embeddings"] else "head.weight"]
    return x @ head.T


def forward_and_gradients(o, parameters, inputs, targets, functions):
    logits = transformer(o, parameters, inputs, functions)
    loss = functions["cross_entropy"](logits, targets, o["label_smoothing"])
    gradients = torch.autograd.grad(loss, list(parameters.values()))
    return dict(
        logits=logits,
        loss=loss,
        **{"gradient." + name: g for name, g in zip(parameters, gradients)},
    )
