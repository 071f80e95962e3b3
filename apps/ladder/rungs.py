"""The twelve rungs: the functions that a student writes, their arguments, and the engine's answer to them."""

from dataclasses import dataclass, field
from typing import Callable

import numpy as np
import qkv

import formulas


@dataclass(eq=False)
class Part:
    """A function of a rung and its backward, which takes the gradient of the result and then the same arguments. It
    returns the gradients of those in `wrt`, in this order."""
    forward: str
    backward: str  # "": it has none on this rung
    args: str
    result: str
    wrt: str
    engine: Callable
    formula: Callable
    by_hand: dict = field(default_factory=dict)  # of an output: how element [i, j] of it is computed


@dataclass(eq=False)
class Rung:
    number: int
    name: str
    parts: list
    uses: tuple = ()  # the rungs whose files this one imports

    @property
    def module(self) -> str:
        return f"rung{self.number:02}_{self.name}"


def hidden(T: int) -> qkv.Tensor:
    return qkv.tensor(np.triu(np.ones((T, T), bool), 1))


def attend(Q, K, V, scale=1.0, causal=False):
    S = scale * qkv.matmul(Q, K, transpose_b=True)
    if causal:
        S = qkv.masked_fill(S, hidden(Q.shape[-2]), -np.inf)
    return qkv.matmul(qkv.softmax(S), V)


def of_engine_heads(X, Wq, Wk, Wv, Wo, H):
    T, D = X.shape[0], Wq.shape[1] // H
    Q, K, V = (qkv.permute(qkv.reshape(qkv.matmul(X, W), (T, H, D)), (1, 0, 2)) for W in (Wq, Wk, Wv))
    Z = attend(Q, K, V, D ** -0.5, causal=True)
    return qkv.matmul(qkv.reshape(qkv.permute(Z, (1, 0, 2)), (T, H * D)), Wo)


def of_engine_block(X, w, H):
    X = X + of_engine_heads(qkv.layer_norm(X, w["g1"]), w["Wq"], w["Wk"], w["Wv"], w["Wo"], H)
    return X + qkv.matmul(qkv.relu(qkv.matmul(qkv.layer_norm(X, w["g2"]), w["W1"])), w["W2"])


def of_engine_decoder(tokens, w, H):
    X = qkv.embedding(w["E"], tokens) + w["Pos"][:len(tokens)]
    for each in w["blocks"]:
        X = of_engine_block(X, each, H)
    return qkv.matmul(qkv.layer_norm(X, w["g"]), w["U"])


def mean_of_past(X):
    T = X.shape[0]
    return qkv.matmul(qkv.softmax(qkv.masked_fill(qkv.zeros((T, T), dtype="f64"), hidden(T), -np.inf)), X)


BY_HAND = {
    "rows_of_P": {"P": "exp(S[i,j] − m) / Σₖ exp(S[i,k] − m) with m = max(S[i]): "
                       "{np.exp(S[i,j] - S[i].max()):.4g} / {np.exp(S[i] - S[i].max()).sum():.4g}"},
    "dS": {"dS": "P[i,j] (dP[i,j] − Σₖ P[i,k] dP[i,k]) = {P[i,j]:.4g} ({dP[i,j]:.4g} − {P[i] @ dP[i]:.4g})"},
    "attention": {"Y": "Σₖ P[i,k] V[k,j] = {dot(P[i], V[:,j])}", "dV": "Σₖ P[k,i] dY[k,j] = {dot(P[:,i], dY[:,j])}",
                  "dQ": "Σₖ dS[i,k] K[k,j] · scale = ({dot(dS[i], K[:,j])}) · {scale:.4g}",
                  "dK": "Σₖ dS[k,i] Q[k,j] · scale = ({dot(dS[:,i], Q[:,j])}) · {scale:.4g}"},
    "maps": {"dWq": "Σₖ X[k,i] dQ[k,j] = {dot(X[:,i], dQ[:,j])}", "dWk": "Σₖ X[k,i] dK[k,j] = {dot(X[:,i], dK[:,j])}",
             "dWv": "Σₖ X[k,i] dV[k,j] = {dot(X[:,i], dV[:,j])}",
             "dX": "by Q {dQ[i] @ Wq[j]:.4g} + by K {dK[i] @ Wk[j]:.4g} + by V {dV[i] @ Wv[j]:.4g}"},
}

RUNGS = [
    Rung(1, "mean", [
        Part("forward", "backward", "X", "Y", "X", mean_of_past, formulas.mean, {
            "Y": "Σₖ X[k,j] / {i+1} over k ≤ i = {dot(A[i,:i+1], X[:i+1,j])}",
            "dX": "Σₖ dY[k,j] / (k+1) over k ≥ i = {dot(A[i:,i], dY[i:,j])}"})]),
    Rung(2, "table", [
        Part("forward", "backward", "W X", "Y", "W X",
             lambda W, X: qkv.matmul(qkv.masked_fill(W, hidden(W.shape[0]), 0.0), X), formulas.table, {
                 "Y": "Σₖ W[i,k] X[k,j] over k ≤ i = {dot(W[i,:i+1], X[:i+1,j])}",
                 "dW": "Σₖ dY[i,k] X[j,k] where j ≤ i, else 0: {0 if j > i else dot(dY[i], X[j])}",
                 "dX": "Σₖ W[k,i] dY[k,j] over k ≥ i = {dot(W[i:,i], dY[i:,j])}"})]),
    Rung(3, "attention", [
        Part("weights", "", "X", "P", "", lambda X: qkv.softmax(qkv.matmul(X, X, transpose_b=True)), formulas.weights,
             BY_HAND["rows_of_P"]),
        Part("forward", "backward", "P X", "Y", "P X", qkv.matmul, formulas.weighted, {
            "Y": "Σₖ P[i,k] X[k,j] = {dot(P[i], X[:,j])}", "dP": "Σₖ dY[i,k] X[j,k] = {dot(dY[i], X[j])}",
            "dX": "Σₖ P[k,i] dY[k,j] = {dot(P[:,i], dY[:,j])}"})]),
    Rung(4, "softmax", [
        Part("forward", "backward", "S", "P", "S", qkv.softmax, formulas.softmax_alone, BY_HAND["rows_of_P"] | BY_HAND["dS"]),
        Part("scores", "scores_backward", "X", "S", "X", lambda X: qkv.matmul(X, X, transpose_b=True), formulas.scores, {
            "S": "Σₖ X[i,k] X[j,k] = {dot(X[i], X[j])}",
            "dX": "Σₖ dS[i,k] X[k,j] + Σₖ dS[k,i] X[k,j] = {dS[i] @ X[:,j]:.4g} + {dS[:,i] @ X[:,j]:.4g}"})]),
    Rung(5, "qkv", [Part("forward", "backward", "X Wq Wk Wv", "Y", "X Wq Wk Wv",
                         lambda X, Wq, Wk, Wv: attend(*(qkv.matmul(X, W) for W in (Wq, Wk, Wv))), formulas.qkv,
                         BY_HAND["attention"] | BY_HAND["maps"])], uses=(4,)),
    Rung(6, "scale", [Part("forward", "backward", "Q K V", "Y", "Q K V",
                           lambda Q, K, V: attend(Q, K, V, Q.shape[1] ** -0.5), formulas.scaled, BY_HAND["attention"])],
         uses=(4,)),
    Rung(7, "mask", [Part("forward", "backward", "Q K V", "Y", "Q K V",
                          lambda Q, K, V: attend(Q, K, V, Q.shape[1] ** -0.5, causal=True), formulas.causal,
                          BY_HAND["attention"])], uses=(4,)),
    Rung(8, "heads", [Part("forward", "backward", "X Wq Wk Wv Wo H", "Y", "X Wq Wk Wv Wo", of_engine_heads, formulas.heads, {
        "Y": "Σₖ Z[i,k] Wo[k,j] = {dot(Z[i], Wo[:,j])} ; Z: the heads side by side",
        "dWo": "Σₖ Z[k,i] dY[k,j] = {dot(Z[:,i], dY[:,j])} ; Z: the heads side by side"} | BY_HAND["maps"])], uses=(7,)),
    Rung(9, "positions", [
        Part("forward", "backward", "tokens E Pos", "X", "E Pos",
             lambda tokens, E, Pos: qkv.embedding(E, tokens) + Pos[:len(tokens)], formulas.embedding, {
                 "X": "E[{tokens[i]},j] + Pos[i,j] = {plus([E[tokens[i],j], Pos[i,j]])}",
                 "dE": "Σₖ dX[k,j] over the places k of token {i} = {plus(dX[tokens == i, j])}",
                 "dPos": "dX[i,j] where the text has a place i, else 0"})]),
    Rung(10, "norm", [
        Part("norm", "norm_backward", "X g", "Y", "X g", lambda X, g: qkv.layer_norm(X, g), formulas.norm, {
            "Y": "(X[i,j] − mean) / s · g[j] = {centred[i,j]:.4g} / {s[i,0]:.4g} · {g[j]:.4g}",
            "dX": "(a − mean(a) − x mean(a x)) / s, a = dY g = ({a[i,j]:.4g} − {mean[i,0]:.4g} − {x[i,j]:.4g} · "
                  "{share[i,0]:.4g}) / {s[i,0]:.4g}",
            "dg": "Σₖ dY[k,i] x[k,i] = {dot(dY[:,i], x[:,i])}"}),
        Part("residual", "residual_backward", "X F", "Y", "X F", lambda X, F: X + F, formulas.residual, {
            "Y": "X[i,j] + F[i,j] = {plus([X[i,j], F[i,j]])}", "dX": "dY[i,j]", "dF": "dY[i,j]"})]),
    Rung(11, "block", [
        Part("feed_forward", "feed_forward_backward", "X W1 W2", "Y", "X W1 W2",
             lambda X, W1, W2: qkv.matmul(qkv.relu(qkv.matmul(X, W1)), W2), formulas.feed_forward, {
                 "Y": "Σₖ R[i,k] W2[k,j] = {dot(R[i], W2[:,j])} ; R = max(X W1, 0)",
                 "dX": "Σₖ dA[i,k] W1[j,k] = {dot(dA[i], W1[j])} ; dA = dY W2ᵀ where X W1 > 0",
                 "dW1": "Σₖ X[k,i] dA[k,j] = {dot(X[:,i], dA[:,j])} ; dA = dY W2ᵀ where X W1 > 0",
                 "dW2": "Σₖ R[k,i] dY[k,j] = {dot(R[:,i], dY[:,j])} ; R = max(X W1, 0)"}),
        Part("forward", "backward", "X w H", "Y", "X w", of_engine_block, formulas.block, {
            "Y": "x₁ + feed_forward = {x1[i,j]:.4g} + {f['Y'][i,j]:.4g}",
            "dX": "dx₁ + by the first norm = {dx1[i,j]:.4g} + {by_1['dX'][i,j]:.4g}"})], uses=(8, 10)),
    Rung(12, "decoder", [
        Part("forward", "backward", "tokens w H", "logits", "w", of_engine_decoder, formulas.decoder, {
            "logits": "Σₖ n[i,k] U[k,j] = {dot(n[i], w['U'][:,j])} ; n: the last norm"}),
        Part("loss", "loss_backward", "logits targets", "L", "logits", lambda logits,
             targets: qkv.cross_entropy(logits, targets),
             formulas.loss, {"L": "the mean of −log P[i, targets[i]]",
                             "dlogits": "(P[i,j] − [j is the target]) / T = ({P[i,j]:.4g} − {one[i,j]:.0f}) / {len(T)}"})],
         uses=(9, 10, 11)),
]


def inputs(part: Part, square: bool) -> list:
    """Arguments of the part's forward: by chance, and no two sizes the same unless they are `square`."""
    random = np.random.default_rng([7, square])
    T, C, U, F, V, H = (4, 4, 4, 4, 4, 2) if square else (5, 6, 3, 7, 8, 2)

    def normal(*shape):
        return random.normal(size=shape)

    def of_block():
        shapes = {"g1": (C,), "Wq": (C, C), "Wk": (C, C), "Wv": (C, C), "Wo": (C, C), "g2": (C,), "W1": (C, F), "W2": (F, C)}
        return {name: 0.7 * normal(*shape) for name, shape in shapes.items()}

    weights = np.exp(normal(T, T))
    tokens = np.array([1, 3, 1, 2, 3][:T])
    made = {
        "X": lambda: normal(T, C), "F": lambda: normal(T, C), "W": lambda: normal(T, T) + 0.1, "H": lambda: H,
        "P": lambda: weights / weights.sum(1, keepdims=True), "S": lambda: normal(T, U) + 1000 * square,
        "Q": lambda: normal(T, C),
        "K": lambda: normal(T, C), "V": lambda: normal(T, C if square else U), "g": lambda: normal(C),
        "tokens": lambda: tokens,
        "E": lambda: normal(V, C), "Pos": lambda: normal(T + 3, C), "W1": lambda: normal(C, F), "W2": lambda: normal(F, C),
        "logits": lambda: normal(T, V), "targets": lambda: np.array([2, 0, 3, 1, 1][:T]),
        "w": of_block if part.result == "Y" else lambda: {
            "E": normal(V, C), "Pos": normal(T + 3, C), "blocks": [of_block(), of_block()], "g": normal(C), "U": normal(C, V)},
    }
    maps = {name: lambda: normal(C, C) for name in ("Wq", "Wk", "Wv", "Wo")}
    return [(made | maps)[name]() for name in part.args.split()]


def leaves(value, path="") -> dict:
    """The arrays of a number, an array, a list, a dict of them, by their paths: blocks.0.Wq."""
    if isinstance(value, dict):
        parts = value.items()
    elif isinstance(value, (list, tuple)):
        parts = enumerate(value)
    else:
        return {path: value}
    return {name: leaf for key, each in parts for name, leaf in leaves(each, f"{path}.{key}".strip(".")).items()}


def mapped(f: Callable, value):
    if isinstance(value, dict):
        return {name: mapped(f, each) for name, each in value.items()}
    return [mapped(f, each) for each in value] if isinstance(value, list) else f(value)


def as_tensor(value):
    if not isinstance(value, np.ndarray):
        return value
    return qkv.tensor(value, copy=True, requires_grad=value.dtype == np.float64)


def of_engine(part: Part, args: list, upstream=None) -> list:
    """The result and, for an upstream gradient, those of `wrt`: the engine's forward and backward."""
    tensors = [mapped(as_tensor, each) for each in args]
    result = part.engine(*tensors)
    if upstream is None:
        return [np.array(result.numpy())]
    gradients = qkv.backward(result, np.asarray(upstream))
    named = dict(zip(part.args.split(), tensors))
    return [mapped(lambda x: np.array(gradients[x]), named[name]) for name in part.wrt.split()]
