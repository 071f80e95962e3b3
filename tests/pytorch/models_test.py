"""Every model of qkv, rebuilt in PyTorch from docs/models.md (tools/pytorch_models.py), has qkv's numbers.

Run by tests/pytorch/run. Runs are of a few steps in f64.
"""
import importlib
import json
import math
import os
import pathlib
import sys

import torch

from every_model import BITS, QKV, TRAIN, WORDS, every_model, qkv, run_tests, settings_text, train

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
to_pytorch = importlib.import_module("to-pytorch")
cross_entropy = importlib.import_module("pytorch_models").cross_entropy
to_pytorch.QKV = QKV
TOLERANCE = to_pytorch.TOLERANCE


def metrics_of(run):
    return [json.loads(line) for line in pathlib.Path(run, "metrics.jsonl").read_text().splitlines()]


def test_every_model_has_the_same_logits():
    models, worst = every_model(), 0.0
    for n, settings in enumerate(models):
        run = train(f"model-{n}", {**TRAIN, **settings})
        difference, _ = to_pytorch.compare(run, ".")
        assert difference <= TOLERANCE, f"logits differ by {difference:.1e}: {settings_text(settings)}"
        worst = max(worst, difference)
    print(f"{len(models)} models: logits differ by at most {worst:.1e} of the largest")


def test_the_validation_loss_is_the_mean_over_all_targets():
    for n, data in enumerate([WORDS, BITS]):
        kind = "decoder" if data is WORDS else "classifier"
        run = train(f"loss-{n}", {**TRAIN, **data, "model.kind": kind, "train.label_smoothing": 0.1})
        qkv("eval", run, "--export", "loss.safetensors")
        batches = to_pytorch.read_batches("loss.safetensors")
        os.remove("loss.safetensors")
        loss = sum(cross_entropy(logits, targets, reduction="sum").item() for _, targets, logits in batches)
        count = sum((targets >= 0).sum().item() for _, targets, _ in batches)
        assert abs(loss / count - metrics_of(run)[-1]["val_loss"]) <= TOLERANCE


STEPS = 6
TRAINING = [
    {"optimizer.kind": "adamw", "optimizer.schedule": "cosine", "train.label_smoothing": 0.1},
    {"optimizer.kind": "adamw", "optimizer.schedule": "linear", "optimizer.warmup_steps": 2, "optimizer.grad_clip": 0.3},
    {"optimizer.kind": "adamw", "optimizer.schedule": "constant", "optimizer.grad_clip": 0.0, "model.position": "relative"},
    {"optimizer.kind": "adamw", "optimizer.warmup_steps": 3, "optimizer.min_learning_rate": 1e-3, "model.mixer": "recurrence"},
    {"optimizer.kind": "adamw", "model.position": "sinusoidal", "model.mixer": "learned"},
    {"optimizer.kind": "adamw", "attention.heads": "narrow"},
    {"optimizer.kind": "muon", "optimizer.matrix_rate": 2.0, "optimizer.embedding_rate": 0.5, "model.tie_embeddings": False},
    {"optimizer.kind": "muon", "attention.heads": "narrow", "model.position": "relative"},
    {"optimizer.schedule": "stable", "optimizer.decay_steps": 3, "optimizer.warmup_steps": 1},
    {"optimizer.kind": "muon", "model.mixer": "convolution"},
    {"optimizer.kind": "adam", "train.accumulation_steps": 4, "model.tie_embeddings": False},
    {"optimizer.kind": "sgd", "optimizer.momentum": 0.9, "model.kind": "encoder_decoder", "train.label_smoothing": 0.2},
    {"optimizer.kind": "adamw", "model.kind": "classifier", "model.pool": "class_token"},
]


def learning_rate(o, step):
    """docs/models.md, Training."""
    R, M, W = o["learning_rate"], o.get("min_learning_rate", 0.0), o["warmup_steps"]
    if step < W:
        return R * (step + 1) / (W + 1)
    u = min(1.0, (step - W) / max(1, STEPS - 1 - W))
    D = o.get("decay_steps", 0)
    v = max(0.0, 1 - (STEPS - 1 - step) / D) if D else 0.0
    return {
        "constant": R,
        "linear": R + (M - R) * u,
        "cosine": M + (R - M) * (1 + math.cos(math.pi * u)) / 2,
        "stable": R + (M - R) * v,
    }[o["schedule"]]


class Muon(torch.optim.AdamW):
    """AdamW, but for groups of one matrix, whose numbers stand in `columns` columns."""

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            if not group["columns"]:
                continue
            p, beta = group["params"][0], group["betas"][0]
            m = self.state[p]["exp_avg"].lerp_(p.grad, 1 - beta)
            u = (beta * m + (1 - beta) * p.grad).reshape(-1, p.shape[-2] if p.dim() == 3 else len(p), p.shape[-1])
            if group["columns"] != p.shape[-1]:
                u = u.reshape(1, len(p), -1)
            x = u / (u.norm(dim=(1, 2), keepdim=True) + 1e-7)
            for _ in range(5):
                a = x @ x.mT
                x = 3.4445 * x + (-4.7750 * a + 2.0315 * a @ a) @ x
            update = 0.2 * max(x.shape[1:]) ** 0.5 * x.reshape(p.shape)
            p -= group["lr"] * (group["weight_decay"] * p + update)
            p.grad = None
        super().step()


def group_of(name, p, o):
    """docs/models.md: what a group of parameters has of its own."""
    embedding = name == "head.weight" or name.endswith("embedding.weight")
    matrix = p.dim() >= 2 and not embedding and not name.endswith(("scores", "distance_bias"))
    decay = o["weight_decay"] if p.dim() >= 2 or o["kind"] != "muon" and o["kind"] != "adamw" else 0.0
    columns = p[0].numel() if name.endswith("convolution.weight") else p.shape[-1]
    return {
        "params": [p],
        "weight_decay": decay,
        "factor": o["embedding_rate"] if embedding else o["matrix_rate"] if matrix else 1.0,
        "columns": columns if matrix and o["kind"] == "muon" else 0,
    }


def optimizer_of(o, named, state, step):
    """PyTorch's, as it is after `step` steps of qkv's."""
    groups = [group_of(name, parameter, o) for name, parameter in named.items()]
    if o["kind"] == "sgd":
        made = torch.optim.SGD(groups, lr=1.0, momentum=o["momentum"])
        kept = {"momentum_buffer": "velocity"}
    else:
        kept = {"exp_avg": "first_moment", "exp_avg_sq": "second_moment"}
        options = {"lr": 1.0, "betas": tuple(o["betas"]), "eps": o["epsilon"]}
        made = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW, "muon": Muon}[o["kind"]](groups, **options)
    for name, parameter in named.items():
        made.state[parameter] = {to: state[f"optimizer.{of}.{name}"] for to, of in kept.items()}
        made.state[parameter]["step"] = torch.tensor(float(step))
    return made


def close(a, b, what):
    difference = (a - b).abs().max().item()
    assert difference <= TOLERANCE * max(1.0, b.abs().max().item()), f"{what} differs by {difference:.1e}"


def check_step(run, step, batch, metrics):
    config, model, state = to_pytorch.load(f"{run}/checkpoints/step-{step:06}.safetensors")
    _, after, state_after = to_pytorch.load(f"{run}/checkpoints/step-{step + 1:06}.safetensors")
    o, named, (inputs, targets, _) = config["optimizer"], dict(model.named_parameters()), batch
    loss = cross_entropy(model.train()(*inputs), targets, config["train"]["label_smoothing"])
    loss.backward()
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), o["grad_clip"] or math.inf)
    made, rate = optimizer_of(o, named, state, step), learning_rate(o, step)
    for group in made.param_groups:
        group["lr"] = rate * group["factor"]
    made.step()
    for what, value in (("loss", loss), ("grad_norm", norm), ("learning_rate", torch.tensor(rate))):
        close(value.detach(), torch.tensor(metrics[what]), what)
    for name, parameter in after.named_parameters():
        close(named[name].detach(), parameter.detach(), name)
    for name, tensor in state_after.items():
        kept = {"velocity": "momentum_buffer", "first_moment": "exp_avg", "second_moment": "exp_avg_sq"}
        _, what, of = name.split(".", 2)
        close(made.state[named[of]][kept[what]], tensor, name)


def test_a_step_of_training_is_that_of_pytorchs_optimizers():
    for n, more in enumerate(TRAINING):
        data = BITS if more.get("model.kind") == "classifier" else WORDS
        settings = {**TRAIN, **data, **more, "train.steps": STEPS, "train.checkpoint_interval": 1}
        settings |= {"model.d_model": 12, "model.num_heads": 3, "optimizer.learning_rate": 0.01}
        if more.get("model.mixer", "attention") != "attention":
            del settings["model.num_heads"]
        run = train(f"steps-{n}", settings)
        qkv("data", f"{run}/config.toml", "--split", "train", "--batches", str(STEPS), "--export", f"{run}.safetensors")
        batches, metrics = to_pytorch.read_batches(f"{run}.safetensors"), metrics_of(run)
        for step in range(1, STEPS):
            check_step(run, step, batches[step], metrics[step])


if __name__ == "__main__":
    torch.set_num_threads(1)
    run_tests(globals())
