import numpy as np


def normal(X):
    x = X - X.mean(axis=1, keepdims=True)
    s = np.sqrt((x ** 2).mean(axis=1, keepdims=True) + 1e-5)
    return x / s, s


def norm(X, g):
    x, s = normal(X)
    return x * g


def norm_backward(dY, X, g):
    x, s = normal(X)
    dg = (dY * x).sum(axis=0)
    a = dY * g
    mean_a = a.mean(axis=1, keepdims=True)
    mean_ax = (a * x).mean(axis=1, keepdims=True)
    dX = (a - mean_a - x * mean_ax) / s
    return dX, dg


def residual(X, F):
    return X + F


def residual_backward(dY, X, F):
    return dY, dY
