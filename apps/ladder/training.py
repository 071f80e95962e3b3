"""Trains the model of a rung with the student's functions, and the decoder of the last one with the engine."""

import tempfile
import tomllib
from pathlib import Path

import numpy as np
import qkv

import sandbox
from check import error_in, files_of
from child import encoded
from rungs import Rung

CONFIG = Path(__file__).parents[2] / "configs/ladder.toml"
SECONDS = 60


def of_config() -> dict:
    with open(CONFIG, "rb") as file:
        return tomllib.load(file)


def windows_of(config: dict, tokens: np.ndarray) -> np.ndarray:
    """The windows of every step [steps, batch, length + 1]: those that ./qkv train takes."""
    length, train = config["data"]["length"], config["train"]
    stream = qkv.RandomStream(config["seed"]).derive("training windows")
    places = [[stream.derive(step).derive(row).below(len(tokens) - length) for row in range(train["batch_size"])]
              for step in range(train["steps"])]
    return tokens[np.array(places)[:, :, None] + np.arange(length + 1)]


def first_weights(config: dict, rung: Rung, vocabulary: int) -> dict:
    """Those that ./qkv train begins with, of [in, out], as far as the rung has them."""
    model = qkv.Model(config, vocabulary_size=vocabulary, max_length=config["data"]["length"])
    numbers = {name: x.numpy().astype(float) for name, x in model.parameters().items()}

    def of_block(n):
        names = {"g1": "attention_norm", "Wq": "attention.query", "Wk": "attention.key", "Wv": "attention.value",
                 "Wo": "attention.output", "g2": "feed_forward_norm", "W1": "feed_forward.up", "W2": "feed_forward.down"}
        return {name: numbers[f"blocks.{n}.{path}.weight"].T for name, path in names.items()}

    E, U = numbers["token_embedding.weight"], numbers["head.weight"].T
    w = {"E": E, "Pos": numbers["position_embedding.weight"], "g": numbers["final_norm.weight"], "U": U}
    if rung.number == 12:
        return w | {"blocks": [of_block(n) for n in range(config["model"]["num_layers"])]}
    if rung.number == 11:
        return w | {"block": of_block(0)}
    if rung.number == 10:
        return w | {name: x for name, x in of_block(0).items() if name in ("g1", "Wq", "Wk", "Wv", "Wo")}
    # Without a norm small weights learn slowly: the maps begin so that queries find keys like them.
    random, (T, C) = np.random.default_rng(1), w["Pos"].shape
    w = {"E": E, "U": random.normal(size=U.shape) / np.sqrt(C)} | ({"Pos": w["Pos"]} if rung.number == 9 else {})
    if rung.number == 2:
        w["W"] = np.tril(np.ones((T, T))) / np.arange(1, T + 1)[:, None]
    if rung.number >= 5:
        w |= {name: 5 * np.eye(C) + random.normal(size=(C, C)) / np.sqrt(C) for name in ("Wq", "Wk", "Wv")}
    if rung.number >= 8:
        w["Wo"] = random.normal(size=(C, C)) / np.sqrt(C)
    return w


def climb(rung: Rung, folder: Path) -> dict:
    """The loss of the validation text after training, a sample, and how long it took."""
    config = of_config()
    text = (CONFIG.parent / config["data"]["path"]).read_text(encoding="utf-8")
    characters = sorted(set(text))
    tokens = np.array([characters.index(c) for c in text])
    training, validation = np.split(tokens, [int(len(tokens) * config["data"]["train_fraction"])])
    files = files_of(folder, rung)
    what = {"rung": rung.number, "w": first_weights(config, rung, len(characters)), "windows": windows_of(config, training),
            "validation": validation, "learning_rate": config["optimizer"]["learning_rate"],
            "betas": config["optimizer"]["betas"], "H": config["model"]["num_heads"],
            "start": np.array([characters.index("\n")])}
    request = {"modules": [name.removesuffix(".py") for name in files], "calls": [],
               "climb": {name: encoded(each) for name, each in what.items()}}
    answers = sandbox.run(files, request, SECONDS)
    if "error" in answers[0]:
        verdict = error_in(answers[0]["error"], rung, "")
        raise sandbox.Refused(verdict.kind, **verdict.facts)
    return answers[0] | {"sample": "".join(characters[token] for token in answers[0]["sample"])}


def of_engine() -> float:
    """The validation loss that ./qkv train configs/ladder.toml ends with."""
    with tempfile.TemporaryDirectory() as folder:
        run = qkv.train(str(CONFIG), out=f"{folder}/run", quiet=True)
        return float(run.metrics["val_loss"][-1])
