import numpy as np

import rung07_mask as attention


def parts(X, H):
    return np.split(X, H, axis=1)


def all_heads(X, Wq, Wk, Wv, H):
    Q, K, V = parts(X @ Wq, H), parts(X @ Wk, H), parts(X @ Wv, H)
    Z = [attention.forward(Q[h], K[h], V[h]) for h in range(H)]
    return Q, K, V, np.concatenate(Z, axis=1)


def forward(X, Wq, Wk, Wv, Wo, H):
    Q, K, V, Z = all_heads(X, Wq, Wk, Wv, H)
    return Z @ Wo


def backward(dY, X, Wq, Wk, Wv, Wo, H):
    Q, K, V, Z = all_heads(X, Wq, Wk, Wv, H)
    dWo = Z.T @ dY
    dZ = parts(dY @ Wo.T, H)
    back = [attention.backward(dZ[h], Q[h], K[h], V[h]) for h in range(H)]
    dQ = np.concatenate([each[0] for each in back], axis=1)
    dK = np.concatenate([each[1] for each in back], axis=1)
    dV = np.concatenate([each[2] for each in back], axis=1)
    dX = dQ @ Wq.T + dK @ Wk.T + dV @ Wv.T
    return dX, X.T @ dQ, X.T @ dK, X.T @ dV, dWo
