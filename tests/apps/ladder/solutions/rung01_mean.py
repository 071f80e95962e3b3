import numpy as np


def weights(T):
    return np.tril(np.ones((T, T))) / np.arange(1, T + 1)[:, None]


def forward(X):
    return weights(len(X)) @ X


def backward(dY, X):
    return weights(len(X)).T @ dY
