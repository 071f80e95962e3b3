import rung04_softmax as softmax


def forward(X, Wq, Wk, Wv):
    Q, K, V = X @ Wq, X @ Wk, X @ Wv
    P = softmax.forward(Q @ K.T)
    return P @ V


def backward(dY, X, Wq, Wk, Wv):
    Q, K, V = X @ Wq, X @ Wk, X @ Wv
    S = Q @ K.T
    P = softmax.forward(S)
    dV = P.T @ dY
    dP = dY @ V.T
    dS = softmax.backward(dP, S)
    dQ = dS @ K
    dK = dS.T @ Q
    dWq, dWk, dWv = X.T @ dQ, X.T @ dK, X.T @ dV
    dX = dQ @ Wq.T + dK @ Wk.T + dV @ Wv.T
    return dX, dWq, dWk, dWv
