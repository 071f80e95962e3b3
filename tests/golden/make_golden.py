"""Makes the golden numbers that the tests compare the engine with, in PyTorch's float64.

    python3 tests/golden/make_golden.py            # writes the files beside this script
    python3 tests/golden/make_golden.py --check    # makes them again, compares them with the files
    python3 tests/golden/make_golden.py --only ops # writes, or compares, one of them

Needs PyTorch 2.1 or newer and the safetensors package; the tests themselves need neither, because
the files are committed. Every model and op is computed twice: in the plain formulas of
reference.py, whose autograd gradients are what is stored, and with PyTorch's own fused functions.
The script stops unless both agree to 1e-12.

Legend for shapes: B batch, T length, C d_model, H heads, D head width, F d_ff, V vocabulary.

NAME.safetensors, one for each model of MODELS; its options are in the file's metadata:
    weight.PARAMETER, gradient.PARAMETER    f64, under the parameter names of the project
    inputs, targets                         i64 [B, T]; a target of -1 is ignored
    inputs.1, inputs.2                      of an encoder_decoder, whose inputs are the source: the
                                            target i64 [B, T], the padding of the source [B, Ts]
    inputs, inputs.1, targets               of a classifier: tokens i64 [B, T] and their padding, or
                                            pixels f64 [B, channels, height, width]; i64 [B]
    logits, loss                            f64 [B, T, V], of a classifier [B, classes]; a scalar

training.safetensors, ten steps of AdamW on the first of MODELS, each on a batch of its own:
    weight.PARAMETER, final.PARAMETER       f64, before the first step and after the last
    inputs, targets                         i64 [steps, B, T]
    losses, gradient_norms                  f64 [steps]; the norms are those before clipping

ops.safetensors and mixers.safetensors, single functions, each tensor under the name of its case, as in "softmax.x": the
inputs by name, the output "y", a random cotangent "dy", and the gradient of sum(y * dy) with
respect to an input NAME as "dNAME".
"""

import argparse
import functools
import json
import math
import pathlib
import sys

import torch
from safetensors import safe_open
from safetensors.torch import save

import reference
from reference import IGNORED, NORM_EPSILON, PLAIN, TORCH

FOLDER = pathlib.Path(__file__).resolve().parent

DEFAULTS = dict(
    num_layers=2,
    d_model=16,
    num_heads=4,
    d_ff=32,
    vocabulary=11,
    length=8,
    batch_size=3,
    position="learned",
    norm="pre",
    norm_kind="layer",
    activation="gelu",
    scale_scores=True,
    tie_embeddings=True,
    bias=True,
    label_smoothing=0.0,
    ignored_targets=0,
    kind="decoder",
    source_length=0,
    padded=0,
    sinusoidal_scale=1.0,
    projections="separate",
    heads="split",
    num_key_value_heads=0,
    window=0,
    causal=True,
    scale=0.0,
)

CLASSIFIER = dict(
    DEFAULTS,
    kind="classifier",
    num_layers=1,
    tie_embeddings=False,
    classes=5,
    pool="class_token",
    patch_size=1,
    channels=0,
    height=0,
    width=0,
)

MODELS = {
    "pre_norm": dict(DEFAULTS),
    "post_norm": dict(
        DEFAULTS, norm="post", position="sinusoidal", tie_embeddings=False, activation="relu"
    ),
    "rms_norm": dict(
        DEFAULTS,
        norm_kind="rms",
        activation="silu",
        position="none",
        scale_scores=False,
        tie_embeddings=False,
        batch_size=2,
    ),
    "smoothing": dict(
        DEFAULTS,
        activation="gelu_tanh",
        label_smoothing=0.1,
        ignored_targets=7,
        bias=False,
        norm="post",
        batch_size=2,
    ),
    "encoder_decoder": dict(
        DEFAULTS,
        kind="encoder_decoder",
        num_layers=1,
        length=6,
        source_length=7,
        padded=3,
        batch_size=2,
        position="relative",
    ),
    "encoder_decoder_post": dict(
        DEFAULTS,
        kind="encoder_decoder",
        num_layers=1,
        length=5,
        source_length=6,
        batch_size=2,
        norm="post",
        position="sinusoidal",
        sinusoidal_scale=0.3,
        tie_embeddings=False,
    ),
    "rotary": dict(
        DEFAULTS, num_layers=1, batch_size=2, position="rotary", projections="shared_key_value"
    ),
    "alibi": dict(
        DEFAULTS, num_layers=1, batch_size=2, position="alibi", num_key_value_heads=2, window=3
    ),
    "relative": dict(
        DEFAULTS, num_layers=1, batch_size=2, position="relative", projections="shared", scale=0.3
    ),
    "narrow": dict(DEFAULTS, num_layers=1, batch_size=2, heads="narrow", causal=False, window=2),
    "wide": dict(
        DEFAULTS, num_layers=1, batch_size=2, heads="wide", num_key_value_heads=1, bias=False
    ),
    "bare": dict(DEFAULTS, num_layers=1, batch_size=2, projections="none"),
    "vision_transformer": dict(
        CLASSIFIER, vocabulary=5, length=0, patch_size=2, channels=3, height=4, width=6
    ),
    "classifier": dict(
        CLASSIFIER,
        vocabulary=5,
        length=7,
        padded=3,
        pool="mean",
        norm="post",
        position="relative",
    ),
    "normless": dict(DEFAULTS, norm="none", position="none", bias=False, batch_size=2),
}

# clip_grad_norm_ multiplies the gradients by min(1, grad_clip / (norm + clip_epsilon)).
TRAINING = dict(
    steps=10,
    learning_rate=1e-2,
    beta1=0.9,
    beta2=0.99,
    epsilon=1e-8,
    weight_decay=0.1,
    grad_clip=1.0,
    clip_epsilon=1e-6,
)


def require_close(a, b, what):
    """Stops unless max|a - b| <= 1e-12 max|b|; 1e-15 for gradients that are zero by mathematics."""
    difference = (a - b).abs().max().item()
    if not difference <= 1e-12 * max(b.abs().max().item(), 1e-3):
        sys.exit(f"make_golden.py: {what}: plain and PyTorch's own differ by {difference:g}")


def random_parameters(o):
    """Large enough that no gradient is tiny; biases are random too."""
    parameters = {}
    for name, shape in reference.parameter_shapes(o).items():
        value = 0.3 * torch.randn(shape)
        if name.endswith("norm.weight"):
            value = 1.0 + value
        parameters[name] = value.requires_grad_()
    return parameters


def some_padding(o, length):
    padding = torch.zeros(o["batch_size"], length, dtype=torch.bool)
    padding[1, -o["padded"] :] = True
    return padding


def random_classes(o):
    """Of a classifier: the inputs of a batch and its targets."""
    if o["height"]:
        inputs = [torch.randn(o["batch_size"], o["channels"], o["height"], o["width"])]
    else:
        inputs = [torch.randint(0, o["vocabulary"], (o["batch_size"], o["length"]))]
        inputs.append(some_padding(o, o["length"]))
    return inputs, torch.randint(0, o["classes"], (o["batch_size"],))


def random_batch(o):
    if o["kind"] == "classifier":
        return random_classes(o)
    shape = (o["batch_size"], o["length"])
    inputs = [torch.randint(0, o["vocabulary"], shape)]
    targets = torch.randint(0, o["vocabulary"], shape)
    targets.view(-1)[torch.randperm(targets.numel())[: o["ignored_targets"]]] = IGNORED
    if o["kind"] == "encoder_decoder":
        source = (o["batch_size"], o["source_length"])
        inputs.insert(0, torch.randint(0, o["vocabulary"], source))
        if o["padded"]:
            inputs.append(some_padding(o, o["source_length"]))
    return inputs, targets


def named_inputs(inputs):
    return {"inputs" if i == 0 else f"inputs.{i}": x for i, x in enumerate(inputs)}


def model_case(name, seed):
    o = MODELS[name]
    torch.manual_seed(seed)
    parameters = random_parameters(o)
    inputs, targets = random_batch(o)
    results = reference.forward_and_gradients(o, parameters, inputs, targets, PLAIN)
    for key, expected in reference.forward_and_gradients(
        o, parameters, inputs, targets, TORCH
    ).items():
        require_close(results[key], expected, f"{name}: {key}")
    tensors = dict(
        **named_inputs(inputs),
        targets=targets,
        **results,
        **{"weight." + k: p for k, p in parameters.items()},
    )
    return tensors, o


def training_case(seed):
    o, t = MODELS["pre_norm"], TRAINING
    torch.manual_seed(seed)
    parameters = random_parameters(o)
    tensors = {"weight." + name: p.detach().clone() for name, p in parameters.items()}
    matrices = [p for p in parameters.values() if p.dim() >= 2]
    vectors = [p for p in parameters.values() if p.dim() < 2]
    optimizer = torch.optim.AdamW(
        [
            dict(params=matrices, weight_decay=t["weight_decay"]),
            dict(params=vectors, weight_decay=0.0),
        ],
        lr=t["learning_rate"],
        betas=(t["beta1"], t["beta2"]),
        eps=t["epsilon"],
    )
    batches, losses, gradient_norms = [], [], []
    for _ in range(t["steps"]):
        inputs, targets = random_batch(o)
        optimizer.zero_grad()
        logits = reference.transformer(o, parameters, inputs, PLAIN)
        loss = PLAIN["cross_entropy"](logits, targets)
        loss.backward()
        gradient_norms.append(torch.nn.utils.clip_grad_norm_(parameters.values(), t["grad_clip"]))
        optimizer.step()
        batches.append((inputs[0], targets))
        losses.append(loss)
    inputs, targets = zip(*batches)
    tensors |= {"final." + name: p for name, p in parameters.items()}
    tensors |= dict(
        inputs=torch.stack(inputs),
        targets=torch.stack(targets),
        losses=torch.stack(losses),
        gradient_norms=torch.stack(gradient_norms),
    )
    return tensors, o | t


def add_case(tensors, name, function, inputs, constants=None, **options):
    """Stores y = function(inputs) and the gradients of sum(y * dy); `constants` have none."""
    constants = constants or {}
    leaves = {key: value.detach().requires_grad_() for key, value in inputs.items()}
    y = PLAIN[function](**leaves, **constants, **options)
    dy = torch.randn(y.shape)
    gradients = torch.autograd.grad(y, list(leaves.values()), dy)
    expected_y = TORCH[function](**leaves, **constants, **options)
    require_close(y, expected_y, name)
    expected_gradients = torch.autograd.grad(expected_y, list(leaves.values()), dy)
    for key, gradient, expected in zip(leaves, gradients, expected_gradients):
        require_close(gradient, expected, f"{name}: gradient of {key}")
        tensors[f"{name}.d{key}"] = gradient
    for key, value in (leaves | constants | dict(y=y, dy=dy)).items():
        tensors[f"{name}.{key}"] = value


def op_cases(seed):
    torch.manual_seed(seed)
    tensors = {}
    case = functools.partial(add_case, tensors)

    far = torch.zeros(3, 4, 1)
    # Rows on which exp without the shift would overflow f32, or give 0 / 0.
    far[0, 0], far[1, 2] = 100.0, -100.0
    for name in ("softmax", "log_softmax"):
        case(name, name, dict(x=2 * torch.randn(3, 4, 7) + far))

    C = 16
    x = 2 * torch.randn(3, 4, C) + 1
    weight, bias = torch.randn(C), torch.randn(C)
    case("layer_norm", "layer_norm", dict(x=x, weight=weight, bias=bias))
    case("rms_norm", "rms_norm", dict(x=x, weight=weight))

    x = 2 * torch.randn(5, 9)
    x[0, :5] = torch.tensor([0.0, -6.0, 6.0, -20.0, 20.0])
    for name in ("gelu", "gelu_tanh", "silu"):
        case(name, name, dict(x=x))

    V = 11
    logits = 2 * torch.randn(6, V)
    targets = torch.randint(0, V, (6,))
    some_ignored = targets.clone()
    some_ignored[[1, 4]] = IGNORED
    for name, chosen, label_smoothing in (
        ("cross_entropy", targets, 0.0),
        ("cross_entropy_smoothing", targets, 0.1),
        ("cross_entropy_ignored", some_ignored, 0.0),
        ("cross_entropy_smoothing_ignored", some_ignored, 0.1),
    ):
        inputs, constants = dict(logits=logits), dict(targets=chosen)
        case(name, "cross_entropy", inputs, constants, label_smoothing=label_smoothing)

    indices = torch.randint(0, V, (2, 8))
    indices[1, :3] = indices[0, 0]  # a token that comes back: its gradients add up
    case("embedding", "embedding", dict(weight=torch.randn(V, C)), dict(indices=indices))

    B, H, T, D = 2, 3, 6, 4
    tail = torch.zeros(B, T, dtype=torch.bool)
    tail[1, 4:] = True
    for name, causal, padding, Tq, scale in (
        ("attention", False, None, T, D**-0.5),
        ("attention_unscaled", False, None, T, 1.0),
        ("attention_causal", True, None, T, D**-0.5),
        ("attention_padding", False, tail, 5, D**-0.5),
        ("attention_causal_padding", True, tail, T, D**-0.5),
    ):
        inputs = dict(query=torch.randn(B, H, Tq, D))
        inputs |= dict(key=torch.randn(B, H, T, D), value=torch.randn(B, H, T, D))
        constants = {} if padding is None else dict(padding=padding)
        case(name, "attention", inputs, constants, causal=causal, scale=scale)
    return tensors, dict(norm_epsilon=NORM_EPSILON, label_smoothing=0.1, ignored_target=IGNORED)


def mixer_cases(seed):
    """What mixes tokens beside attention."""
    torch.manual_seed(seed)
    tensors = {}
    case = functools.partial(add_case, tensors)
    B, T, C, H = 2, 7, 5, 4

    for name, K, before, depthwise in (
        ("convolution_causal", 3, 2, False),
        ("convolution_centred", 4, 1, False),
        ("depthwise_convolution_causal", 3, 2, True),
        ("depthwise_convolution_centred", 5, 2, True),
    ):
        N = C if depthwise else 6
        weight = torch.randn(N, 1 if depthwise else C, K)
        inputs = dict(x=torch.randn(B, T, C), weight=weight, bias=torch.randn(N))
        case(name, "conv1d", inputs, before=before, depthwise=depthwise)

    for cell, gates, states in (("rnn", 1, ("h0",)), ("lstm", 4, ("h0", "c0"))):
        for name, suffixes in ((cell, ("",)), (cell + "_both_directions", ("", "_reverse"))):
            inputs = dict(x=torch.randn(B, T, C))
            for suffix in suffixes:
                inputs["weight_ih_l0" + suffix] = 0.5 * torch.randn(gates * H, C)
                inputs["weight_hh_l0" + suffix] = 0.5 * torch.randn(gates * H, H)
                inputs["bias_ih_l0" + suffix] = 0.5 * torch.randn(gates * H)
                inputs["bias_hh_l0" + suffix] = 0.5 * torch.randn(gates * H)
            if len(suffixes) == 1:
                inputs |= {state: torch.randn(B, H) for state in states}
            case(name, cell, inputs)
    return tensors, {}


def as_text(value):
    return str(value).lower() if isinstance(value, bool) else str(value)


def serialized(tensors, metadata):
    """A safetensors file, its metadata sorted so that the same numbers are the same bytes."""
    tensors = {name: value.detach().contiguous().clone() for name, value in sorted(tensors.items())}
    data = save(tensors, {key: as_text(value) for key, value in metadata.items()})
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + size])
    header = {"__metadata__": dict(sorted(header.pop("__metadata__").items())), **header}
    header = json.dumps(header, separators=(",", ":")).encode()
    header += b" " * (-len(header) % 8)
    return len(header).to_bytes(8, "little") + header + data[8 + size :]


def largest_difference(path, tensors):
    """The largest max|a - b| / max|b| of the file's tensors; infinite when they are others."""
    with safe_open(path, framework="pt") as file:
        if sorted(file.keys()) != sorted(tensors):
            return math.inf
        largest = 0.0
        for name, value in tensors.items():
            stored = file.get_tensor(name)
            if stored.shape != value.shape or stored.dtype != value.dtype:
                return math.inf
            scale = max(stored.double().abs().max().item(), 1e-3)
            difference = (value.double() - stored.double()).abs().max().item()
            largest = max(largest, difference / scale)
        return largest


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare with the files, write none")
    parser.add_argument("--only", metavar="NAME", help="of all files, NAME.safetensors")
    arguments = parser.parse_args()
    check = arguments.check

    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(1)
    cases = {name: model_case(name, seed) for seed, name in enumerate(MODELS, start=1)}
    cases["training"] = training_case(seed=10)
    cases["ops"] = op_cases(seed=20)
    cases["mixers"] = mixer_cases(seed=30)
    passed = True
    for name, (tensors, metadata) in cases.items():
        if arguments.only not in (None, name):
            continue
        path = FOLDER / f"{name}.safetensors"
        if check:
            difference = largest_difference(path, tensors)
            passed = passed and difference <= 1e-10
            print(f"{path.name}: largest relative difference {difference:.2g}")
        else:
            metadata = metadata | dict(pytorch=torch.__version__.split("+")[0])
            path.write_bytes(serialized(tensors, metadata))
            print(f"{path.name}: {len(tensors)} tensors, {path.stat().st_size} bytes")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
