"""Three models of Hugging Face's transformers in PyTorch, by their published definitions, and the files they come in.

GPT2LMHeadModel (Radford et al. 2019), ViTForImageClassification (Dosovitskiy et al. 2021) and
MegatronBertForTokenClassification (Shoeybi et al. 2019), without dropout. Each takes a config.json and the tensors of a
model.safetensors under the names that these classes give them. Nothing here comes from qkv. Needs Python 3.11 and PyTorch
1.13 or newer.
"""
import json
import math
import pathlib

import numpy
import torch
from torch.nn import functional

NUMBERS = {"F64": numpy.float64, "F32": numpy.float32, "BOOL": numpy.bool_}


def read_safetensors(path):
    data = pathlib.Path(path).read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    header, tensors = json.loads(data[8:start]), {}
    assert header.pop("__metadata__")["format"] == "pt"  # transformers reads no other file
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        array = numpy.frombuffer(data[start + begin : start + end], NUMBERS[entry["dtype"]]).reshape(entry["shape"])
        tensors[name] = torch.from_numpy(array.copy())
    return tensors


def write_safetensors(path, tensors):
    names = {torch.float32: "F32", torch.float64: "F64", torch.bool: "BOOL"}
    header, end = {"__metadata__": {"format": "pt"}}, 0
    tensors = dict(sorted(tensors.items(), key=lambda item: -item[1].element_size()))
    for name, tensor in tensors.items():
        begin, end = end, end + tensor.numel() * tensor.element_size()
        header[name] = {"dtype": names[tensor.dtype], "shape": list(tensor.shape), "data_offsets": [begin, end]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for tensor in tensors.values():
            file.write(tensor.contiguous().numpy().tobytes())


def activation(name):
    def gelu_new(x):
        return 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * x**3)))

    return {"gelu_new": gelu_new, "gelu": functional.gelu, "relu": functional.relu, "silu": functional.silu}[name]


class Weights:
    """The tensors, of which it hears which were read."""

    def __init__(self, tensors, dtype):
        self.tensors = {name: t.to(dtype) if t.is_floating_point() else t for name, t in tensors.items()}
        self.unread = set(tensors)

    def __getitem__(self, name):
        self.unread.discard(name)
        return self.tensors[name]

    def linear(self, name, x):
        return functional.linear(x, self[name + ".weight"], self[name + ".bias"])

    def conv1d(self, name, x):
        return x @ self[name + ".weight"] + self[name + ".bias"]

    def norm(self, name, x, epsilon):
        return functional.layer_norm(x, x.shape[-1:], self[name + ".weight"], self[name + ".bias"], epsilon)


def attention(q, k, v, heads, scales, hidden):
    """[B, T, C] each; hidden is true where a query does not see a key, and broadcasts to [B, heads, T, T]."""
    q, k, v = (x.unflatten(-1, (heads, -1)).transpose(1, 2) for x in (q, k, v))
    scores = q @ k.transpose(-1, -2)
    if scales:
        scores = scores / math.sqrt(q.shape[-1])
    if hidden is not None:
        scores = scores.masked_fill(hidden, torch.finfo(scores.dtype).min)
    return (scores.softmax(-1) @ v).transpose(1, 2).flatten(2)


def gpt2(config, tensors, tokens, dtype=torch.float64):
    """tokens [B, T] -> logits [B, T, vocab_size], and the names of the tensors that were not read."""
    w, epsilon, length = Weights(tensors, dtype), config["layer_norm_epsilon"], tokens.shape[1]
    act, heads = activation(config["activation_function"]), config["n_head"]
    future = torch.ones(length, length, dtype=torch.bool).triu(1)
    x = w["transformer.wte.weight"][tokens] + w["transformer.wpe.weight"][:length]
    for n in range(config["n_layer"]):
        block = f"transformer.h.{n}."
        q, k, v = w.conv1d(block + "attn.c_attn", w.norm(block + "ln_1", x, epsilon)).split(config["n_embd"], -1)
        y = attention(q, k, v, heads, config.get("scale_attn_weights", True), future)
        x = x + w.conv1d(block + "attn.c_proj", y)
        y = act(w.conv1d(block + "mlp.c_fc", w.norm(block + "ln_2", x, epsilon)))
        x = x + w.conv1d(block + "mlp.c_proj", y)
    head = "transformer.wte.weight" if config.get("tie_word_embeddings", True) else "lm_head.weight"
    return functional.linear(w.norm("transformer.ln_f", x, epsilon), w[head]), w.unread


def encoder_layer(w, names, x, config, hidden):
    before, query, output, after, block = names
    epsilon, act = config["layer_norm_eps"], activation(config["hidden_act"])
    y = w.norm(before, x, epsilon)
    q, k, v = (w.linear(query + name, y) for name in ("query", "key", "value"))
    x = x + w.linear(output, attention(q, k, v, config["num_attention_heads"], True, hidden))
    y = act(w.linear(block + "intermediate.dense", w.norm(after, x, epsilon)))
    return x + w.linear(block + "output.dense", y)


def vit(config, tensors, pixels, dtype=torch.float64):
    """pixels [B, channels, height, width] -> logits [B, labels], and the names of the tensors that were not read."""
    w = Weights(tensors, dtype)
    projection, patch = "vit.embeddings.patch_embeddings.projection", config["patch_size"]
    patches = functional.conv2d(pixels.to(dtype), w[projection + ".weight"], w[projection + ".bias"], stride=patch)
    x = patches.flatten(2).transpose(1, 2)
    x = torch.cat([w["vit.embeddings.cls_token"].expand(len(x), -1, -1), x], 1) + w["vit.embeddings.position_embeddings"]
    for n in range(config["num_hidden_layers"]):
        block = f"vit.encoder.layer.{n}."
        names = ("layernorm_before", "attention.attention.", "attention.output.dense", "layernorm_after", "")
        x = encoder_layer(w, [block + name for name in names], x, config, None)
    x = w.norm("vit.layernorm", x, config["layer_norm_eps"])
    return w.linear("classifier", x[:, 0]), w.unread


def megatron_bert(config, tensors, tokens, padding=None, dtype=torch.float64):
    """tokens [B, T], padding boolean [B, T] -> logits [B, T, labels], and the names of the tensors that were not read."""
    w = Weights(tensors, dtype)
    hidden = None if padding is None else padding[:, None, None, :]
    x = w["bert.embeddings.word_embeddings.weight"][tokens] + w["bert.embeddings.token_type_embeddings.weight"][0]
    x = x + w["bert.embeddings.position_embeddings.weight"][: tokens.shape[1]]
    for n in range(config["num_hidden_layers"]):
        block = f"bert.encoder.layer.{n}."
        names = ("attention.ln", "attention.self.", "attention.output.dense", "ln", "")
        x = encoder_layer(w, [block + name for name in names], x, config, hidden)
    return w.linear("classifier", w.norm("bert.encoder.ln", x, config["layer_norm_eps"])), w.unread


def random_gpt2(config, seed, deviation=0.02):
    """Weights under the names of GPT2LMHeadModel; norms near 1, biases not 0, so that each has its part."""
    made, width, inner = torch.Generator().manual_seed(seed), config["n_embd"], config["n_inner"] or 4 * config["n_embd"]

    def normal(*shape, around=0.0):
        return around + deviation * torch.randn(*shape, generator=made, dtype=torch.float32)

    tensors = {"wte.weight": normal(config["vocab_size"], width), "wpe.weight": normal(config["n_positions"], width)}
    for n in range(config["n_layer"]):
        linear = {"attn.c_attn": (width, 3 * width), "attn.c_proj": (width, width)}
        linear |= {"mlp.c_fc": (width, inner), "mlp.c_proj": (inner, width)}
        for name, shape in linear.items():
            tensors |= {f"h.{n}.{name}.weight": normal(*shape), f"h.{n}.{name}.bias": normal(shape[1])}
        for name in ("ln_1", "ln_2"):
            tensors |= {f"h.{n}.{name}.weight": normal(width, around=1.0), f"h.{n}.{name}.bias": normal(width)}
    tensors |= {"ln_f.weight": normal(width, around=1.0), "ln_f.bias": normal(width)}
    return {f"transformer.{name}": tensor for name, tensor in tensors.items()}


def gpt2_loss(config, tensors, tokens, dtype=torch.float64):
    """The mean over all tokens of a text but its first, in windows of n_positions that follow one another."""
    length, total = config["n_positions"], 0.0
    with torch.no_grad():
        for begin in range(0, len(tokens) - 1, length):
            window = torch.tensor(tokens[begin : begin + length + 1])
            logits, _ = gpt2(config, tensors, window[None, :-1], dtype)
            total += functional.cross_entropy(logits[0], window[1:], reduction="sum").item()
    return total / (len(tokens) - 1)


def write_folder(folder, config, tensors, characters=None):
    """config.json, model.safetensors, and a tokenizer.json in which token n is the n-th of the characters."""
    folder = pathlib.Path(folder)
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config))
    write_safetensors(folder / "model.safetensors", tensors)
    if characters:
        split = {"type": "Split", "pattern": {"Regex": "[\\s\\S]"}, "behavior": "Isolated", "invert": False}
        model = {"type": "WordLevel", "vocab": {c: n for n, c in enumerate(characters)}, "unk_token": ""}
        tokenizer = {"version": "1.0", "pre_tokenizer": split, "decoder": {"type": "Fuse"}, "model": model}
        (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
