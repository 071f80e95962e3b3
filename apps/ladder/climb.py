"""Trains the model of a rung with the student's functions: characters in, the next character out. What a rung does not
have yet stands here: the embedding, the maps, the loss. Runs in the student's process."""

import time

import numpy as np

FIRST_WITH_MASK, FIRST_WITH_POSITIONS, FIRST_WITH_NORM, DECODER = 7, 9, 10, 12


def of(modules, number):
    return next(module for name, module in modules.items() if name.startswith(f"rung{number:02}"))


def mixed(rung, modules, w, X, H):
    """What the rung makes of X, and its backward: dY → dX and the gradients of its weights."""
    student, T = of(modules, rung), len(X)
    if rung == 1:
        return student.forward(X), lambda dY: (student.backward(dY, X), {})
    if rung == 2:
        W = w["W"][:T, :T]

        def backward(dY):
            dW, dX = student.backward(dY, W, X)
            return dX, {"W": np.pad(dW, (0, len(w["W"]) - T))}
        return student.forward(W, X), backward
    if rung in (3, 4):
        third = of(modules, 3)
        S = student.scores(X) if rung == 4 else None
        P = third.weights(X) if rung == 3 else student.forward(S)

        def backward(dY):
            dP, dX = third.backward(dY, P, X)
            return (dX if rung == 3 else dX + student.scores_backward(student.backward(dP, S), X)), {}
        return third.forward(P, X), backward
    if rung in (6, 7):
        names = ("Wq", "Wk", "Wv")
        projected = [X @ w[name] for name in names]

        def backward(dY):
            gradients = student.backward(dY, *projected)
            return (sum(d @ w[name].T for d, name in zip(gradients, names)),
                    {name: X.T @ d for d, name in zip(gradients, names)})
        return student.forward(*projected), backward
    if rung == 11:
        return student.forward(X, w["block"], H), lambda dY: of_block(*student.backward(dY, X, w["block"], H))
    names = ("Wq", "Wk", "Wv") if rung == 5 else ("Wq", "Wk", "Wv", "Wo")
    maps = [w[name] for name in names] + [H] * (rung != 5)
    attention = student if rung == 5 else of(modules, 8)
    if rung < FIRST_WITH_NORM:
        return attention.forward(X, *maps), lambda dY: named(names, *attention.backward(dY, X, *maps))
    N = student.norm(X, w["g1"])
    F = attention.forward(N, *maps)

    def backward(dY):
        dX, dF = student.residual_backward(dY, X, F)
        dN, gradients = named(names, *attention.backward(dF, N, *maps))
        by_norm, gradients["g1"] = student.norm_backward(dN, X, w["g1"])
        return dX + by_norm, gradients
    return student.residual(X, F), backward


def of_block(dX, dw):
    return dX, {"block": dw}


def named(names, dX, *gradients):
    return dX, dict(zip(names, gradients))


def model(rung, modules, w, tokens, H):
    """The logits, and their backward: dlogits → the gradient of each weight."""
    if rung == DECODER:
        return of(modules, 12).forward(tokens, w, H), lambda d: of(modules, 12).backward(d, tokens, w, H)
    places = of(modules, 9) if rung >= FIRST_WITH_POSITIONS else None
    norms = of(modules, 10) if rung >= FIRST_WITH_NORM else None
    X = places.forward(tokens, w["E"], w["Pos"]) if places else w["E"][tokens]
    Y, back = mixed(rung, modules, w, X, H)
    N = norms.norm(Y, w["g"]) if norms else Y

    def backward(dlogits):
        gradients = {"U": N.T @ dlogits}
        dY = dlogits @ w["U"].T
        if norms:
            dY, gradients["g"] = norms.norm_backward(dY, Y, w["g"])
        dX, of_rung = back(dY)
        if places:
            gradients["E"], gradients["Pos"] = places.backward(dX, tokens, w["E"], w["Pos"])
        else:
            gradients["E"] = np.zeros_like(w["E"])
            np.add.at(gradients["E"], tokens, dX)
        return gradients | of_rung
    return N @ w["U"], backward


def log_softmax(logits):
    logits = logits - logits.max(-1, keepdims=True)
    return logits - np.log(np.exp(logits).sum(-1, keepdims=True))


def loss_and_gradients(rung, modules, w, tokens, targets, H):
    logits, backward = model(rung, modules, w, tokens, H)
    if rung == DECODER:
        student = of(modules, 12)
        return student.loss(logits, targets), backward(student.loss_backward(1.0, logits, targets))
    rows = np.arange(len(targets)) if rung >= FIRST_WITH_MASK else [-1]  # without a mask a row sees its own answer
    log_p, dlogits = log_softmax(logits[rows]), np.zeros_like(logits)
    dlogits[rows] = np.exp(log_p)
    dlogits[rows, targets[rows]] -= 1
    return -log_p[np.arange(len(rows)), targets[rows]].mean(), backward(dlogits / len(rows))


def validation_loss(rung, modules, w, tokens, length, H):
    losses = []
    for first in range(0, len(tokens) - 1, length):
        x, y = tokens[first:first + length], tokens[first + 1:first + length + 1]
        x = x[:len(y)]
        if rung >= FIRST_WITH_MASK:
            losses.extend(-log_softmax(model(rung, modules, w, x, H)[0])[np.arange(len(y)), y])
        else:
            losses.extend(-log_softmax(model(rung, modules, w, x[:n + 1], H)[0][-1])[y[n]] for n in range(len(y)))
    return float(np.mean(losses))


def sample(rung, modules, w, start, length, count, H):
    random, tokens = np.random.default_rng(1), list(start)
    for _ in range(count):
        logits = model(rung, modules, w, np.array(tokens[-length:]), H)[0][-1]
        p = np.exp(log_softmax(logits / 0.7))
        tokens.append(int(random.choice(len(p), p=p / p.sum())))
    return tokens[len(start):]


def leaves(value):
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return [value] if parts is None else [leaf for each in parts for leaf in leaves(each)]


def in_order_of(w, gradients):
    """The gradients in the order of the weights: a dict may list them in another one."""
    if isinstance(w, dict):
        return {name: in_order_of(w[name], gradients[name]) for name in w}
    return [in_order_of(*pair) for pair in zip(w, gradients)] if isinstance(w, list) else gradients


def climb(modules, rung, w, windows, validation, learning_rate, betas, H, start):
    """Trains with Adam on windows [steps, batch, length + 1]. The loss of the whole validation text, and a sample."""
    began, (steps, batch, length) = time.process_time(), np.subtract(windows.shape, (0, 0, 1))
    random, weights = np.random.default_rng(1), leaves(w)
    first, second = [np.zeros_like(x) for x in weights], [np.zeros_like(x) for x in weights]
    losses = []
    for step in range(steps):
        loss, total = 0.0, [np.zeros_like(x) for x in weights]
        for window in windows[step]:
            n = length if rung >= FIRST_WITH_MASK else random.integers(1, length + 1)
            each, gradients = loss_and_gradients(rung, modules, w, window[:n], window[1:n + 1], H)
            loss += each / batch
            for x, gradient in zip(total, leaves(in_order_of(w, gradients))):
                x += gradient / batch
        losses.append(float(loss))
        rate = learning_rate * (1 + np.cos(np.pi * step / max(1, steps - 1))) / 2
        for x, g, m, v in zip(weights, total, first, second):
            m += (1 - betas[0]) * (g - m)
            v += (1 - betas[1]) * (g * g - v)
            x -= rate * m / (1 - betas[0] ** (step + 1)) / (np.sqrt(v / (1 - betas[1] ** (step + 1))) + 1e-8)
    return {"losses": losses, "loss": validation_loss(rung, modules, w, validation, length, H),
            "sample": sample(rung, modules, w, start, length, 70, H), "seconds": time.process_time() - began}
