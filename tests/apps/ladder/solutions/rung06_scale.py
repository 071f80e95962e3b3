import numpy as np

import rung04_softmax as softmax


def forward(Q, K, V):
    scale = 1 / np.sqrt(Q.shape[1])
    P = softmax.forward(scale * (Q @ K.T))
    return P @ V


def backward(dY, Q, K, V):
    scale = 1 / np.sqrt(Q.shape[1])
    S = scale * (Q @ K.T)
    P = softmax.forward(S)
    dV = P.T @ dY
    dP = dY @ V.T
    dS = softmax.backward(dP, S)
    dQ = scale * (dS @ K)
    dK = scale * (dS.T @ Q)
    return dQ, dK, dV
