import numpy as np


def forward(tokens, E, Pos):
    T = len(tokens)
    return E[tokens] + Pos[:T]


def backward(dX, tokens, E, Pos):
    T = len(tokens)
    dE = np.zeros(E.shape)
    for t in range(T):
        dE[tokens[t]] += dX[t]
    dPos = np.zeros(Pos.shape)
    dPos[:T] = dX
    return dE, dPos
