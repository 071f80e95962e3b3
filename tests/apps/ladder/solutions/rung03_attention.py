import numpy as np


def weights(X):
    S = X @ X.T
    e = np.exp(S - S.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def forward(P, X):
    return P @ X


def backward(dY, P, X):
    dP = dY @ X.T
    dX = P.T @ dY
    return dP, dX
