"""Models that go to Hugging Face's layouts and come from there, against their published definitions in PyTorch.

    tests/pytorch/run ../apps/exchange/hugging_face_test.py [NAME…]      # the tests that are named, or all
"""
import importlib
import json
import os
import pathlib
import random
import subprocess
import sys

import torch

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "tests/pytorch")]

run_tests = importlib.import_module("every_model").run_tests
published = importlib.import_module("hugging_face_models")
to_pytorch = importlib.import_module("to-pytorch")
to_pytorch.QKV = os.path.abspath(to_pytorch.QKV)  # the tests run in a folder of their own

TOLERANCE = 1e-12  # of logits, in f64
LOSS_TOLERANCE = 1e-6  # of losses, in f32
MODEL = {"model.num_layers": 2, "model.d_model": 24, "model.num_heads": 3, "model.d_ff": 40}
TRAIN = {"train.steps": 6, "train.eval_interval": 6, "train.batch_size": 8, "optimizer.learning_rate": 0.05}
KEEP = {"train.steps": 1, "train.eval_interval": 1, "optimizer.learning_rate": 0.0}
CHARACTERS = "\n abcdefg.äé漢"


def qkv(*arguments, status=0):
    result = subprocess.run([to_pytorch.QKV, *arguments], capture_output=True, text=True)
    assert result.returncode == status, f"qkv {' '.join(arguments)}: {result.stdout}{result.stderr}"
    return result.stdout + result.stderr


def train(name, settings, *more):
    config = pathlib.Path(f"{name}.toml")
    tables = {}
    for key, value in settings.items():
        table, field = key.split(".")
        tables.setdefault(table, []).append(f"{field} = {json.dumps(value)}\n")
    config.write_text(f'name = "{name}"\n' + "".join(f"[{table}]\n" + "".join(lines) for table, lines in tables.items()))
    return qkv("train", str(config), "--out", f"runs/{name}", *more)


def exported(*arguments):
    """The inputs and the logits of all batches that eval has."""
    return [(inputs, logits) for inputs, _, logits in exported_batches(*arguments)]


def exported_batches(*arguments):
    qkv("eval", *arguments, "--export", "batches.safetensors", "--batches", "1000")
    batches = to_pytorch.read_batches("batches.safetensors")
    os.remove("batches.safetensors")
    return batches


def imported(folder):
    qkv("import", folder, "--out", f"runs/in-{folder}")
    return f"runs/in-{folder}"


def close(made, logits, what):
    difference = (made - logits).abs().max().item() / logits.abs().max().item()
    assert difference <= TOLERANCE, f"{what}: logits differ by {difference:.1e}"


def config_of(folder):
    return json.loads(pathlib.Path(folder, "config.json").read_text())


def write_text(length):
    text = "".join(random.Random(length).choices(CHARACTERS, k=length)) + "."
    pathlib.Path("text.txt").write_text(text)
    return text


def small_gpt2(**more):
    return {
        "model_type": "gpt2", "n_layer": 2, "n_embd": 24, "n_head": 3, "n_inner": None, "n_positions": 16,
        "vocab_size": len(CHARACTERS), "activation_function": "gelu_new", "layer_norm_epsilon": 1e-5, **more,
    }  # fmt: skip


def test_gpt2_has_the_published_loss_and_logits():
    text = write_text(333)
    tokens = [CHARACTERS.index(c) for c in text]
    variants = [{}, {"activation_function": "relu", "n_inner": 40}, {"tie_word_embeddings": False, "layer_norm_epsilon": 1e-3},
                {"scale_attn_weights": False, "activation_function": "gelu"}]  # fmt: skip
    for n, more in enumerate(variants):
        config, folder = small_gpt2(**more), f"gpt2-{n}"
        tensors = published.random_gpt2(config, seed=n, deviation=0.3)
        head = tensors["transformer.wte.weight"].flip(0)  # where the embedding is not tied
        tensors |= {} if config.get("tie_word_embeddings", True) else {"lm_head.weight": head}
        stored = dict(tensors)
        for layer in range(2):  # as published files have them
            stored[f"transformer.h.{layer}.attn.bias"] = torch.ones(16, 16, dtype=torch.bool).tril()[None, None]
            stored[f"transformer.h.{layer}.attn.masked_bias"] = torch.tensor(-1e4)
        if n % 2 == 0:
            stored = {name.removeprefix("transformer."): tensor for name, tensor in stored.items()}
        published.write_folder(folder, config, stored, CHARACTERS)
        run = imported(folder)
        loss = json.loads(qkv("eval", run, "--text", "text.txt", "--json", "-"))["loss"]
        expected = published.gpt2_loss(config, tensors, tokens)
        assert abs(loss - expected) <= LOSS_TOLERANCE, f"{more}: the loss is {loss}, not {expected}"
        for inputs, logits in exported(run, "--text", "text.txt"):
            close(published.gpt2(config, tensors)(inputs[0]), logits, folder)


def test_an_exported_gpt2_has_the_logits_of_the_run():
    write_text(500)
    data = {"data.task": "text", "data.path": "text.txt", "data.length": 16}
    variants = [{"model.activation": "gelu_tanh"}, {"model.tie_embeddings": False, "model.scale_scores": False},
                {"model.activation": "silu", "model.norm_epsilon": 1e-3}, {"train.precision": "f64"}]  # fmt: skip
    for n, more in enumerate(variants):
        name = f"decoder-{n}"
        train(name, {**data, **MODEL, **TRAIN, **more})
        qkv("export", f"runs/{name}", "--hf", name)
        tensors, config = published.read_safetensors(f"{name}/model.safetensors"), config_of(name)
        for inputs, logits in exported(f"runs/{name}"):
            close(published.gpt2(config, tensors)(inputs[0]), logits, name)


def test_a_vision_transformer_goes_there_and_back():
    data = {"data.task": "idx", "data.path": "images", "data.class_names": "cat dog owl"}
    settings = {**data, **MODEL, **TRAIN, "model.kind": "classifier", "model.patch_size": 2, "model.norm_epsilon": 1e-12}
    train("vit", settings)
    qkv("export", "runs/vit", "--hf", "vit")
    tensors, config = published.read_safetensors("vit/model.safetensors"), config_of("vit")
    assert config["id2label"] == {"0": "cat", "1": "dog", "2": "owl"} and config["image_size"] == [4, 6]
    # other weights in that layout, as files without a head have them: without the prefix, with a pooler
    made = torch.Generator().manual_seed(1)
    tensors = {name: t + 0.1 * torch.randn(t.shape, generator=made, dtype=t.dtype) for name, t in tensors.items()}
    stored = {name.removeprefix("vit."): tensor for name, tensor in tensors.items()}
    stored |= {"pooler.dense.weight": tensors["classifier.weight"], "pooler.dense.bias": tensors["classifier.bias"]}
    published.write_folder("there", config, stored)
    told = train("back", {**settings, **KEEP}, "--from", imported("there"))
    assert "begins with 40 of its 40 parameters from runs/in-there/" in told.replace("\n  ", " "), told
    for inputs, logits in exported("runs/back"):
        close(published.vit(config, tensors)(inputs[0]), logits, "vit")
    qkv("export", "runs/back", "--hf", "again")
    again = published.read_safetensors("again/model.safetensors")
    assert set(again) == set(tensors) and all(again[name].equal(tensors[name]) for name in again)
    assert config_of("again") == config


def test_a_classifier_of_tokens_is_a_megatron_bert_whose_first_token_answers():
    data = {"data.task": "parity", "data.length": 8, "data.min_length": 2, "data.train_fraction": 0.5}
    train("bert", {**data, **MODEL, **TRAIN, "model.kind": "classifier"})
    qkv("export", "runs/bert", "--hf", "bert")
    tensors, config = published.read_safetensors("bert/model.safetensors"), config_of("bert")
    for inputs, logits in exported("runs/bert"):
        close(published.megatron_bert(config, tensors)(*inputs), logits, "bert")


if __name__ == "__main__":
    torch.set_num_threads(1)
    run_tests(globals())
