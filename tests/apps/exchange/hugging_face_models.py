"""Three models of Hugging Face's transformers, by their published definitions, and the files they come in.

GPT2LMHeadModel (Radford et al. 2019), ViTForImageClassification (Dosovitskiy et al. 2021) and
MegatronBertForTokenClassification (Shoeybi et al. 2019), without dropout. Each is a model of tools/pytorch_models.py that is
made from a config.json and the tensors of a model.safetensors under the names that these classes give them.
"""
import importlib
import json
import pathlib

import torch

models = importlib.import_module("pytorch_models")
files = importlib.import_module("tensor_file")
CHOICES = {"mixer": "attention", "norm": "pre", "norm_kind": "layer", "bias": True, "position": "learned", "dropout": 0.0}
ATTENTION = {"heads": "split", "projections": "separate", "num_key_value_heads": 0, "scale": 0.0}


def read_safetensors(path):
    metadata, arrays = files.read_tensors(path)
    assert metadata["format"] == "pt"  # transformers reads no other file
    return {name: torch.from_numpy(array) for name, array in arrays.items()}


def module(options, sizes, tensors, names):
    """Under the new names; a tensor that is missing, or has no place, is an error."""
    state = {}
    for name, tensor in tensors.items():
        for published, ours in names.items():
            name = name.replace(published, ours)
        state[name] = tensor
    made = models.model_of({"model": {**CHOICES, "scale_scores": True, **options}, "attention": ATTENTION}, sizes)
    made.load_state_dict(state)
    return made.eval()


def gpt2(config, tensors):
    """tokens [B, T] -> logits [B, T, vocab_size]. Its maps are [in][out], those of queries, keys and values side by side."""
    split, width = {}, config["n_embd"]
    for name, tensor in tensors.items():
        is_map = any(part in name for part in (".c_attn.", ".c_proj.", ".c_fc.")) and tensor.dim() == 2
        parts = tensor.split(width, -1) if ".c_attn." in name else [tensor]
        for part, what in zip(parts, ("query", "key", "value")):
            split[name.replace("attn.c_attn", f"attention.{what}")] = part.T if is_map else part
    options = {
        "kind": "decoder", "num_layers": config["n_layer"], "d_model": width, "num_heads": config["n_head"],
        "d_ff": config["n_inner"] or 4 * width, "norm_epsilon": config["layer_norm_epsilon"],
        "activation": config["activation_function"].replace("gelu_new", "gelu_tanh"),
        "scale_scores": config.get("scale_attn_weights", True), "tie_embeddings": config.get("tie_word_embeddings", True),
    }  # fmt: skip
    names = {
        "transformer.wte": "token_embedding", "transformer.wpe": "position_embedding", "transformer.h": "blocks",
        "transformer.ln_f": "final_norm", "lm_head": "head", "ln_1": "attention_norm", "ln_2": "feed_forward_norm",
        "attn.c_proj": "attention.output", "mlp.c_fc": "feed_forward.up", "mlp.c_proj": "feed_forward.down",
    }  # fmt: skip
    return module(options, {"vocabulary": config["vocab_size"], "max_length": config["n_positions"]}, split, names)


ENCODER = {
    "attention.output.dense": "attention.output", "intermediate.dense": "feed_forward.up",
    "output.dense": "feed_forward.down", "classifier": "head",
}  # fmt: skip


def encoder_options(config):
    return {
        "kind": "classifier", "pool": "class_token", "num_layers": config["num_hidden_layers"],
        "d_model": config["hidden_size"], "num_heads": config["num_attention_heads"], "d_ff": config["intermediate_size"],
        "norm_epsilon": config["layer_norm_eps"], "activation": config["hidden_act"],
        "patch_size": config.get("patch_size", 1),
    }  # fmt: skip


def vit(config, tensors):
    """pixels [B, channels, height, width] -> logits [B, labels]."""
    embeddings, tensors = "vit.embeddings.", dict(tensors)
    tensors["class_token"] = tensors.pop(embeddings + "cls_token")[0, 0]
    tensors["position_embedding.weight"] = tensors.pop(embeddings + "position_embeddings")[0]
    patches = embeddings + "patch_embeddings.projection"
    tensors[patches + ".weight"] = tensors[patches + ".weight"].flatten(1)
    height, width = config["image_size"]
    sizes = {"classes": len(config["id2label"]), "channels": config["num_channels"], "height": height, "width": width}
    names = {
        "vit.encoder.layer": "blocks", patches: "patch_embedding", "vit.layernorm": "final_norm",
        "layernorm_before": "attention_norm", "layernorm_after": "feed_forward_norm",
        "attention.attention": "attention", **ENCODER,
    }  # fmt: skip
    return module(encoder_options(config), sizes, tensors, names)


def megatron_bert(config, tensors):
    """tokens [B, T] and their padding -> logits [B, labels], which are those of [CLS] before them."""
    embeddings, tensors = "bert.embeddings.", dict(tensors)
    words = tensors.pop(embeddings + "word_embeddings.weight") + tensors.pop(embeddings + "token_type_embeddings.weight")[0]
    tensors |= {"token_embedding.weight": words, "class_token": words[config["cls_token_id"]]}
    length = len(tensors[embeddings + "position_embeddings.weight"]) - 1
    sizes = {"vocabulary": len(words), "max_length": length, "classes": len(config["id2label"])}
    names = {
        "bert.encoder.layer": "blocks", "bert.encoder.ln": "final_norm", "attention.ln": "attention_norm",
        ".ln.": ".feed_forward_norm.", "attention.self": "attention", **ENCODER,
        embeddings + "position_embeddings": "position_embedding",
    }  # fmt: skip
    return module(encoder_options(config), sizes, tensors, names)


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


def gpt2_loss(config, tensors, tokens):
    """The mean over all tokens of a text but its first, in windows of n_positions that follow one another."""
    length, total, model = config["n_positions"], 0.0, gpt2(config, tensors)
    with torch.no_grad():
        for begin in range(0, len(tokens) - 1, length):
            window = torch.tensor(tokens[begin : begin + length + 1])
            total += models.cross_entropy(model(window[None, :-1])[0], window[1:], reduction="sum").item()
    return total / (len(tokens) - 1)


def write_folder(folder, config, tensors, characters=None):
    """config.json, model.safetensors, and a tokenizer.json in which token n is the n-th of the characters."""
    folder = pathlib.Path(folder)
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config))
    arrays = {name: tensor.numpy() for name, tensor in tensors.items()}
    files.write_tensors(folder / "model.safetensors", arrays, {"format": "pt"})
    if characters:
        split = {"type": "Split", "pattern": {"Regex": "[\\s\\S]"}, "behavior": "Isolated", "invert": False}
        model = {"type": "WordLevel", "vocab": {c: n for n, c in enumerate(characters)}, "unk_token": ""}
        tokenizer = {"version": "1.0", "pre_tokenizer": split, "decoder": {"type": "Fuse"}, "model": model}
        (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
