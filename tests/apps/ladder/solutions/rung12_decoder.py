import numpy as np

import rung09_positions as positions
import rung10_norm as rung10
import rung11_block as block


def stack(tokens, w, H):
    X = [positions.forward(tokens, w["E"], w["Pos"])]
    for each in w["blocks"]:
        X.append(block.forward(X[-1], each, H))
    return X


def forward(tokens, w, H):
    X = stack(tokens, w, H)
    return rung10.norm(X[-1], w["g"]) @ w["U"]


def backward(dlogits, tokens, w, H):
    X = stack(tokens, w, H)
    dU = rung10.norm(X[-1], w["g"]).T @ dlogits
    dX, dg = rung10.norm_backward(dlogits @ w["U"].T, X[-1], w["g"])
    dblocks = []
    for x, each in reversed(list(zip(X, w["blocks"]))):
        dX, dw = block.backward(dX, x, each, H)
        dblocks.insert(0, dw)
    dE, dPos = positions.backward(dX, tokens, w["E"], w["Pos"])
    return {"E": dE, "Pos": dPos, "blocks": dblocks, "g": dg, "U": dU}


def probabilities(logits):
    e = np.exp(logits - logits.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def loss(logits, targets):
    P = probabilities(logits)
    rows = np.arange(len(targets))
    return -np.log(P[rows, targets]).mean()


def loss_backward(dL, logits, targets):
    P = probabilities(logits)
    rows = np.arange(len(targets))
    P[rows, targets] -= 1
    return dL * P / len(targets)
