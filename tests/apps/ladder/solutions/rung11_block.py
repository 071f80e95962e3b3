import numpy as np

import rung08_heads as heads
import rung10_norm as rung10


def feed_forward(X, W1, W2):
    return np.maximum(X @ W1, 0) @ W2


def feed_forward_backward(dY, X, W1, W2):
    A = X @ W1
    R = np.maximum(A, 0)
    dW2 = R.T @ dY
    dR = dY @ W2.T
    dA = dR * (A > 0)
    return dA @ W1.T, X.T @ dA, dW2


def forward(X, w, H):
    N1 = rung10.norm(X, w["g1"])
    X1 = X + heads.forward(N1, w["Wq"], w["Wk"], w["Wv"], w["Wo"], H)
    N2 = rung10.norm(X1, w["g2"])
    return X1 + feed_forward(N2, w["W1"], w["W2"])


def backward(dY, X, w, H):
    maps = w["Wq"], w["Wk"], w["Wv"], w["Wo"], H
    N1 = rung10.norm(X, w["g1"])
    X1 = X + heads.forward(N1, *maps)
    N2 = rung10.norm(X1, w["g2"])
    dw = {}
    dN2, dw["W1"], dw["W2"] = feed_forward_backward(dY, N2, w["W1"], w["W2"])
    by_norm2, dw["g2"] = rung10.norm_backward(dN2, X1, w["g2"])
    dX1 = dY + by_norm2
    dN1, dw["Wq"], dw["Wk"], dw["Wv"], dw["Wo"] = heads.backward(dX1, N1, *maps)
    by_norm1, dw["g1"] = rung10.norm_backward(dN1, X, w["g1"])
    dX = dX1 + by_norm1
    return dX, dw
