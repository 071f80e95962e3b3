"""Transformers in plain formulas, and the same from PyTorch's own functions.

The options `o` of a model are those of MODELS in make_golden.py. Legend for shapes: B batch,
T length, C d_model, H heads, K heads of keys, D head width, F d_ff, V vocabulary.
"""

import math

import torch
import torch.nn.functional as functional

IGNORED = -1
NORM_EPSILON = 1e-5


# The parameters.


def stacks(o):
    """Prefix, length, whether it is causal, whether it attends to a source."""
    if o["kind"] == "encoder_decoder":
        return [
            ("encoder.", o["source_length"], False, False),
            ("decoder.", o["length"], o["causal"], True),
        ]
    if o["kind"] == "classifier":
        patches = o["height"] // o["patch_size"] * (o["width"] // o["patch_size"])
        class_token = 1 if o["pool"] == "class_token" else 0
        return [("", o["length"] + patches + class_token, False, False)]
    return [("", o["length"], o["causal"], False)]


def head_shape(o):
    """H, K, D."""
    H, C = o["num_heads"], o["d_model"]
    return H, o["num_key_value_heads"] or H, C if o["heads"] == "wide" else C // H


def parameter_shapes(o):
    """Name to shape, in the forward's order; linear weights [out_features, in_features]."""
    V, C, F = o["vocabulary"], o["d_model"], o["d_ff"]
    H, K, D = head_shape(o)
    classifier = o["kind"] == "classifier"
    shapes = {}

    def norm(name):
        if o["norm"] == "none":
            return
        shapes[name + ".weight"] = (C,)
        if o["norm_kind"] == "layer" and o["bias"]:
            shapes[name + ".bias"] = (C,)

    def linear(name, out_features, in_features, parts=0):
        if parts:
            shapes[name + ".weight"] = (parts, out_features // parts, in_features // parts)
        else:
            shapes[name + ".weight"] = (out_features, in_features)
        if o["bias"]:
            shapes[name + ".bias"] = (out_features,)

    def attention(name, position_rows):
        maps = {"separate": ("query", "key", "value"), "shared_key_value": ("query", "value")}
        maps = maps.get(o["projections"], ("value",) if o["projections"] == "shared" else ())
        for part in maps:
            width = (H if part == "query" else K) * D
            linear(f"{name}.{part}", width, C, parts=H if o["heads"] == "narrow" else 0)
        if maps:
            linear(name + ".output", C, H * D)
        if position_rows:
            shapes[name + ".position.distance_bias"] = (position_rows, H)

    if classifier and o["height"]:
        linear("patch_embedding", C, o["channels"] * o["patch_size"] ** 2)
    else:
        shapes["token_embedding.weight"] = (V, C)
    if classifier and o["pool"] == "class_token":
        shapes["class_token"] = (C,)
    for prefix, length, causal, attends_to_source in stacks(o):
        if o["position"] == "learned":
            shapes[prefix + "position_embedding.weight"] = (length, C)
        for n in range(o["num_layers"]):
            block = f"{prefix}blocks.{n}."
            norm(block + "attention_norm")
            rows = 0 if o["position"] != "relative" else length if causal else 2 * length - 1
            attention(block + "attention", rows)
            if attends_to_source:
                norm(block + "cross_attention_norm")
                attention(block + "cross_attention", 0)
            norm(block + "feed_forward_norm")
            linear(block + "feed_forward.up", F, C)
            linear(block + "feed_forward.down", C, F)
        if o["norm"] == "pre":
            norm(prefix + "final_norm")
    if classifier:
        linear("head", o["classes"], C)
    elif not o["tie_embeddings"]:
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


def attention(query, key, value, causal, scale, padding=None, window=0, bias=None):
    """query [B, H, Tq, D], key and value [B, H, Tk, D]; padding [B, Tk] is true there; keys up to
    `window` away are seen, 0: all; bias [H, Tq, Tk] is added to the scores."""
    scores = query @ key.transpose(-1, -2) * scale  # [B, H, Tq, Tk]
    if bias is not None:
        scores = scores + bias
    for i in range(scores.shape[-2]):
        for j in range(scores.shape[-1]):
            if (causal and j > i) or (window and abs(i - j) > window):
                scores = scores.masked_fill(one_place(scores.shape, i, j), -math.inf)
    if padding is not None:
        scores = scores.masked_fill(padding[:, None, None, :], -math.inf)
    return softmax(scores) @ value


def one_place(shape, i, j):
    place = torch.zeros(shape[-2:], dtype=torch.bool)
    place[i, j] = True
    return place


def alibi_slopes(H):
    return torch.tensor([2.0 ** (-8 * (h + 1) / H) for h in range(H)])


def rotary(x):
    """x [B, H, T, D]: each pair (2i, 2i + 1) as a complex number, turned by t 10000^(-2i / D)."""
    T, D = x.shape[-2:]
    angle = torch.arange(T)[:, None] * 10000.0 ** -(torch.arange(0, D, 2) / D)  # [T, D / 2]
    even, odd = x[..., 0::2], x[..., 1::2]
    turned = (even * angle.cos() - odd * angle.sin(), even * angle.sin() + odd * angle.cos())
    return torch.stack(turned, dim=-1).flatten(-2)


def linear(x, weight, bias):
    return x @ weight.T + (0 if bias is None else bias)


def embedding(weight, indices):
    return weight[indices]


def patch_embedding(pixels, weight, bias, size):
    """pixels [B, channels, height, width]: a linear map of each patch, row by row, [B, T, C]; the
    numbers of a patch are those of the first channel, row by row, then of the next."""
    patches = [
        pixels[:, :, y : y + size, x : x + size].flatten(1)
        for y in range(0, pixels.shape[2], size)
        for x in range(0, pixels.shape[3], size)
    ]
    return linear(torch.stack(patches, dim=1), weight, bias)


def mean_of_tokens(x, padding=None):
    """x [B, T, C] -> [B, C]: of each row the mean of what is no padding."""
    rows = [row if padding is None else row[~padding[b]] for b, row in enumerate(x)]
    return torch.stack([row.sum(0) / row.shape[0] for row in rows])


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
    patch_embedding=patch_embedding,
    mean_of_tokens=mean_of_tokens,
    layer_norm=layer_norm,
    rms_norm=rms_norm,
    attention=attention,
    rotary=rotary,
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


def torch_attention(query, key, value, causal, scale, padding=None, window=0, bias=None):
    mask = None
    if padding is not None or window or bias is not None:
        Tq, Tk = query.shape[2], key.shape[2]
        seen = torch.ones(Tq, Tk, dtype=torch.bool)
        if causal:
            seen = seen.tril()
        if window:
            seen = seen.triu(-window).tril(window)
        if padding is not None:
            seen = seen & ~padding[:, None, None, :]
        mask = torch.zeros(seen.shape).masked_fill(~seen, -math.inf)
        if bias is not None:
            mask = mask + bias
    return functional.scaled_dot_product_attention(
        query, key, value, attn_mask=mask, is_causal=causal and mask is None, scale=scale
    )


def torch_rotary(x):
    T, D = x.shape[-2:]
    angle = torch.outer(torch.arange(T).double(), 10000.0 ** -(torch.arange(0, D, 2) / D))
    pairs = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous())
    return torch.view_as_real(pairs * torch.polar(torch.ones_like(angle), angle)).flatten(-2)


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


def torch_patch_embedding(pixels, weight, bias, size):
    """As most who write Vision Transformers write it: a convolution as wide as its stride."""
    kernel = weight.unflatten(1, (pixels.shape[1], size, size))
    return functional.conv2d(pixels, kernel, bias, stride=size).flatten(2).transpose(1, 2)


def torch_mean_of_tokens(x, padding=None):
    if padding is None:
        return x.mean(1)
    return x.masked_fill(padding[:, :, None], math.nan).nanmean(1)


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
    rotary=torch_rotary,
    cross_entropy=torch_cross_entropy,
    linear=functional.linear,
    embedding=lambda weight, indices: functional.embedding(indices, weight),
    patch_embedding=torch_patch_embedding,
    mean_of_tokens=torch_mean_of_tokens,
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
    """The logits [B, T, V] of the inputs of a batch, computed with `functions`: PLAIN or TORCH.

    Of a decoder they are the tokens [B, T]; of an encoder_decoder source [B, Ts], target [B, Tt],
    and where there is padding that of the source. Those of a classifier, [B, classes], are of tokens
    [B, T], and where there is padding theirs, or of pixels [B, channels, height, width].
    """
    C = o["d_model"]
    H, K, D = head_shape(o)
    separate, maps = o["projections"] == "separate", o["projections"] != "none"

    def linear(name, x):
        weight, bias = parameters[name + ".weight"], parameters.get(name + ".bias")
        if weight.dim() == 3:
            parts = x.unflatten(-1, (weight.shape[0], -1))  # [B, T, H, D]
            y = torch.einsum("bthd,hed->bthe", parts, weight).flatten(-2)
            return y if bias is None else y + bias
        return functions["linear"](x, weight, bias)

    def norm(name, x):
        if o["norm_kind"] == "rms":
            return functions["rms_norm"](x, parameters[name + ".weight"])
        return functions["layer_norm"](
            x, parameters[name + ".weight"], parameters.get(name + ".bias")
        )

    def projected(name, x, heads):  # [B, heads, T, D]
        y = linear(name, x) if maps else x
        return y.unflatten(-1, (heads, -1)).transpose(1, 2)

    def position_bias(name, T, causal):  # [H, T, T], or None
        distance = torch.arange(T)[:, None] - torch.arange(T)  # p - j
        if o["position"] == "alibi":
            return -alibi_slopes(H)[:, None, None] * distance.abs()
        if o["position"] == "relative":
            table = parameters[name + ".position.distance_bias"]
            zero = 0 if causal else table.shape[0] // 2
            return table[(distance + zero).clamp(0, table.shape[0] - 1)].permute(2, 0, 1)
        return None

    def attention(name, x, source, causal, padding):
        itself = source is x
        shared = o["projections"] in ("shared", "none")
        query = projected(name + (".value" if shared else ".query"), x, H)
        key = projected(name + (".key" if separate else ".value"), source, K)
        value = projected(name + ".value", source, K)
        if itself and o["position"] == "rotary":
            query, key = functions["rotary"](query), functions["rotary"](key)
        key, value = (t.repeat_interleave(H // K, dim=1) for t in (key, value))
        scale = o["scale"] or (1 / math.sqrt(D) if o["scale_scores"] else 1.0)
        heads = functions["attention"](
            query,
            key,
            value,
            causal=causal,
            scale=scale,
            padding=padding,
            window=o["window"] if itself else 0,
            bias=position_bias(name, x.shape[1], causal) if itself else None,
        )
        heads = heads.transpose(1, 2).flatten(-2)
        return linear(name + ".output", heads) if maps else heads

    def feed_forward(name, x):
        return linear(name + ".down", functions[o["activation"]](linear(name + ".up", x)))

    def around(layer_norm_name, x, layer):
        if o["norm"] == "none":
            return x + layer(x)
        if o["norm"] == "pre":
            return x + layer(norm(layer_norm_name, x))
        return norm(layer_norm_name, x + layer(x))

    def embedded(tokens):  # [B, T] -> [B, T, C]
        return functions["embedding"](parameters["token_embedding.weight"], tokens)

    def stack(prefix, x, causal, padding, source=None, source_padding=None):
        if o["position"] == "learned":
            x = x + parameters[prefix + "position_embedding.weight"][: x.shape[1]]
        elif o["position"] == "sinusoidal":
            x = x + o["sinusoidal_scale"] * sinusoidal(x.shape[1], C)
        for n in range(o["num_layers"]):
            block = f"{prefix}blocks.{n}."
            x = around(
                block + "attention_norm",
                x,
                lambda t: attention(block + "attention", t, t, causal, padding),
            )
            if source is not None:
                x = around(
                    block + "cross_attention_norm",
                    x,
                    lambda t: attention(block + "cross_attention", t, source, False, source_padding),
                )
            x = around(
                block + "feed_forward_norm", x, lambda t: feed_forward(block + "feed_forward", t)
            )
        return norm(prefix + "final_norm", x) if o["norm"] == "pre" else x

    def classify():
        padding = inputs[1] if len(inputs) > 1 else None
        if o["height"]:
            weight, bias = (parameters.get("patch_embedding." + part) for part in ("weight", "bias"))
            x = functions["patch_embedding"](inputs[0], weight, bias, o["patch_size"])
        else:
            x = embedded(inputs[0])
        if o["pool"] == "mean":
            return linear("head", functions["mean_of_tokens"](stack("", x, False, padding), padding))
        assert padding is None
        x = torch.cat([parameters["class_token"].expand(x.shape[0], 1, C), x], dim=1)
        return linear("head", stack("", x, False, None)[:, 0])

    if o["kind"] == "classifier":
        return classify()
    if o["kind"] == "encoder_decoder":
        padding = inputs[2] if len(inputs) > 2 else None
        encoded = stack("encoder.", embedded(inputs[0]), False, padding)
        x = stack("decoder.", embedded(inputs[1]), o["causal"], None, encoded, padding)
    else:
        x = stack("", embedded(inputs[0]), o["causal"], None)
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
