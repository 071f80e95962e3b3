"""The formulas of the rungs in NumPy, forward and backward, each beside what a usual mistake makes of it.

A function takes the arguments of the student's forward and the gradient of its result, and returns all that it has
computed by name: with `slip` "", what is right, and with the name of a mistake, what somebody has who makes it.
"""

import threading

import numpy as np

lock = threading.RLock()  # files of a class are checked beside each other
slip = ""  # the mistake that is made now
seen = {}  # those that there are in what was computed


def pick(right, **wrong):
    seen.update(dict.fromkeys(wrong))
    return wrong.get(slip, right)()


def add(**terms):
    """Their sum; one of them may be missing, or have the wrong sign."""
    seen.update(dict.fromkeys(f"term_{how} {name}" for name in terms for how in ("missing", "sign")))
    how, _, slipped = slip.partition(" ")
    factor = {"term_missing": 0, "term_sign": -1}.get(how, 1)
    return sum(x * (factor if name == slipped else 1) for name, x in terms.items())


def mean_of(name, x, axis=-1):
    """The mean of each row; it may be taken over the columns, or be a sum."""
    return pick(lambda: x.mean(axis, keepdims=True), **{f"mean_over_columns {name}": lambda: x.mean(0, keepdims=True),
                                                        f"mean_is_sum {name}": lambda: x.sum(axis, keepdims=True)})


def with_slip(name, formula, args):
    """What the formula gives with this mistake; None where the shapes do not allow it."""
    global slip
    with lock:
        slip = name
        try:
            with np.errstate(all="ignore"):
                return formula(*args)
        except (ValueError, IndexError):
            return None
        finally:
            slip = ""


def slips_of(formula, args):
    """The names of the mistakes that can be made in it."""
    with lock:
        seen.clear()
        with_slip("", formula, args)
        return list(seen)


def past(T):
    return np.tril(np.ones((T, T)))


# 1 and 2: what the past says, with fixed weights and with learned ones.


def mean(X, dY):
    A, n = past(len(X)), np.arange(1, len(X) + 1)[:, None]
    A = pick(lambda: A / n, sum_not_mean=lambda: A, future=lambda: np.ones_like(A) / len(A),
             self_left_out=lambda: np.tril(A, -1) / np.maximum(n - 1, 1), count_of_all=lambda: A / len(A),
             count_off=lambda: A / (n + 1), wrong_half=lambda: A.T / n[::-1])
    Y = pick(lambda: A @ X, transposed=lambda: A.T @ X, axis=lambda: X @ past(X.shape[1]).T / np.arange(1, X.shape[1] + 1))
    dX = pick(lambda: A.T @ dY, transposed=lambda: A @ dY, divided_late=lambda: past(len(X)).T @ dY / n,
              own_share=lambda: dY / n, passed_on=lambda: dY)
    return locals()


def table(W, X, dY):
    keep = pick(lambda: past(len(X)), future=lambda: np.ones_like(W), self_left_out=lambda: np.tril(np.ones_like(W), -1),
                wrong_half=lambda: past(len(X)).T)
    W = pick(lambda: keep * W, row_divided=lambda: keep * W / (keep * W).sum(1, keepdims=True))
    Y = pick(lambda: W @ X, transposed=lambda: W.T @ X)
    dW = pick(lambda: keep * (dY @ X.T), transposed=lambda: keep * (X @ dY.T), future_in_dw=lambda: dY @ X.T)
    dX = pick(lambda: W.T @ dY, transposed=lambda: W @ dY)
    return locals()


# 3 and 4: softmax(X Xᵀ) X, and the way back through the weights.


def softmax(S):
    e, alike = np.exp(S - S.max(-1, keepdims=True)), np.exp(S - S.max())
    return pick(lambda: e / e.sum(-1, keepdims=True), row_not_divided=lambda: np.exp(S), row_max_only=lambda: e,
                softmax_axis=lambda: alike / alike.sum(0), sum_axis=lambda: e / e.sum(0),
                max_axis=lambda: np.exp(S - S.max(0)) / np.exp(S - S.max(0)).sum(-1, keepdims=True),
                keepdims=lambda: e / e.sum(-1),
                divided_by_all=lambda: alike / alike.sum(), no_exp=lambda: S / S.sum(-1, keepdims=True),
                exp_of_minus=lambda: np.exp(-S) / np.exp(-S).sum(-1, keepdims=True))


def softmax_backward(dP, P):
    inner = P * dP
    return pick(lambda: inner - P * inner.sum(-1, keepdims=True), row_sum=lambda: inner, diagonal=lambda: inner * (1 - P),
                p_left_out=lambda: dP - inner.sum(-1, keepdims=True), softmax_skipped=lambda: dP,
                sum_without_p=lambda: P * (dP - dP.sum(-1, keepdims=True)),
                row_mean=lambda: inner - P * inner.mean(-1, keepdims=True), sum_of_columns=lambda: inner - P * inner.sum(0),
                sum_of_all=lambda: inner - P * inner.sum(), sum_added=lambda: inner + P * inner.sum(-1, keepdims=True),
                sum_not_weighted=lambda: inner - inner.sum(-1, keepdims=True), keepdims_back=lambda: inner - P * inner.sum(-1))


def weights(X, dP):
    S = pick(lambda: X @ X.T, columns_compared=lambda: X.T @ X, scale_early=lambda: X @ X.T / np.sqrt(X.shape[1]))
    P = softmax(pick(lambda: S, mask_early=lambda: np.where(past(len(S)) > 0, S, -np.inf)))
    return locals()


def weighted(P, X, dY):
    Y = pick(lambda: P @ X, transposed=lambda: P.T @ X, input_added=lambda: X + P @ X)
    dP = pick(lambda: dY @ X.T, transposed=lambda: X @ dY.T, softmax_early=lambda: softmax_backward(dY @ X.T, P))
    dX = pick(lambda: P.T @ dY, transposed=lambda: P @ dY, passed_on=lambda: dY, input_added=lambda: dY + P.T @ dY)
    return locals()


def softmax_alone(S, dP):
    P = softmax(S)
    dS = softmax_backward(dP, P)
    return locals()


def scores(X, dS):
    S = X @ X.T
    dX = pick(lambda: add(**{"dS X": dS @ X, "dSᵀ X": dS.T @ X}), twice_one_role=lambda: 2 * dS @ X)
    return locals()


# 5 to 8: attention with maps, its scale, its mask, its heads.


def core(Q, K, V, dY, scale=1.0, masked=False):
    T, d = Q.shape
    with_scale = scale is None
    if with_scale:
        scale = pick(lambda: 1 / np.sqrt(d), scale_missing=lambda: 1.0, scale_by_d=lambda: 1 / d,
                     scale_by_T=lambda: 1 / np.sqrt(T), scale_times=lambda: np.sqrt(d))
    S = scale * pick(lambda: Q @ K.T, scores_transposed=lambda: K @ Q.T)
    keep = past(T) > 0 if masked else np.ones((T, T), bool)
    if masked:
        keep = pick(lambda: keep, future=lambda: np.ones((T, T), bool), self_left_out=lambda: np.tril(keep, -1),
                    wrong_half=lambda: keep.T, one_ahead=lambda: np.tril(np.ones((T, T), bool), 1))
        P = pick(lambda: softmax(np.where(keep, S, -1e300)), mask_is_zero=lambda: softmax(np.where(keep, S, 0)),
                 mask_too_late=lambda: softmax(S) * keep)
    else:
        P = softmax(S)
    if with_scale and not masked:
        P = pick(lambda: P, scale_after=lambda: softmax(S / scale) * scale)
    Y = pick(lambda: P @ V, transposed=lambda: P.T @ V)
    dV = pick(lambda: P.T @ dY, dv_transposed=lambda: P @ dY)
    dP = pick(lambda: dY @ V.T, dp_transposed=lambda: V @ dY.T)
    dS = softmax_backward(dP, P)
    back = scale
    if with_scale:
        back = pick(lambda: scale, scale_not_back=lambda: 1.0, scale_back_inverse=lambda: 1 / scale,
                    scale_back_twice=lambda: scale * scale)
    dZ = back * dS
    dQ = pick(lambda: dZ @ K, dq_transposed=lambda: dZ.T @ K, dq_of_q=lambda: dZ @ Q)
    dK = pick(lambda: dZ.T @ Q, dk_transposed=lambda: dZ @ Q, dk_of_k=lambda: dZ.T @ K)
    return locals()


def scaled(Q, K, V, dY):
    return core(Q, K, V, dY, scale=None)


def causal(Q, K, V, dY):
    return core(Q, K, V, dY, scale=None, masked=True)


def maps(X, Wq, Wk, Wv):
    Q, K = X @ Wq, X @ Wk
    V = pick(lambda: X @ Wv, v_not_mapped=lambda: X + 0)
    return pick(lambda: (Q, K, V), same_map=lambda: (Q, X @ Wq, V))


def maps_backward(X, Wq, Wk, Wv, dQ, dK, dV):
    by = {name: pick(lambda: d @ W.T, **{f"w_transposed {name}": lambda: d @ W, "w_transposed W": lambda: d @ W})
          for name, d, W in (("dQ Wqᵀ", dQ, Wq), ("dK Wkᵀ", dK, Wk), ("dV Wvᵀ", dV, Wv))}
    dX = pick(lambda: add(**by), last_path=lambda: by["dV Wvᵀ"])
    dWq, dWk, dWv = (pick(lambda: X.T @ d, dw_transposed=lambda: d.T @ X,
                          dw_mean=lambda: X.T @ d / len(X)) for d in (dQ, dK, dV))
    return dX, dWq, dWk, dWv


def qkv(X, Wq, Wk, Wv, dY):
    Q, K, V = maps(X, Wq, Wk, Wv)
    inner = core(Q, K, V, dY)
    dX, dWq, dWk, dWv = maps_backward(X, Wq, Wk, Wv, inner["dQ"], inner["dK"], inner["dV"])
    return inner | locals()


def heads(X, Wq, Wk, Wv, Wo, H, dY):
    T, C = X.shape
    Q, K, V = maps(X, Wq, Wk, Wv)
    H = pick(lambda: H, one_head=lambda: 1)
    D = Q.shape[1] // H
    part = pick(lambda: [slice(h * D, h * D + D) for h in range(H)],
                heads_interleaved=lambda: [slice(h, None, H) for h in range(H)])
    dZ = pick(lambda: dY @ Wo.T, wo_transposed=lambda: dY @ Wo, wo_not_back=lambda: dY + 0)
    Z, dQ, dK, dV = np.zeros_like(Q), np.zeros_like(Q), np.zeros_like(Q), np.zeros_like(Q)
    for h in pick(lambda: range(H), first_head_only=lambda: range(1), last_head_only=lambda: range(H - 1, H)):
        inner = core(Q[:, part[h]], K[:, part[h]], V[:, part[h]], dZ[:, part[h]], scale=None, masked=True)
        for whole, name in ((Z, "Y"), (dQ, "dQ"), (dK, "dK"), (dV, "dV")):
            whole[:, h * D:h * D + D] = inner[name]
    Y = pick(lambda: Z @ Wo, wo_transposed=lambda: Z @ Wo.T, no_wo=lambda: Z, heads_reversed=lambda: Z[:, ::-1] @ Wo)
    dWo = pick(lambda: Z.T @ dY, dwo_transposed=lambda: dY.T @ Z, dwo_of_x=lambda: X.T @ dY)
    dX, dWq, dWk, dWv = maps_backward(X, Wq, Wk, Wv, dQ, dK, dV)
    return locals()


# 9 and 10: positions, the norm, the residual sum.


def embedding(tokens, E, Pos, dX):
    T = len(tokens)
    rows = pick(lambda: Pos[:T], position_of_token=lambda: Pos[tokens],
                positions_reversed=lambda: Pos[:T][::-1], one_position=lambda: Pos[:1] + np.zeros((T, 1)),
                positions_from_1=lambda: Pos[1:T + 1], last_positions=lambda: Pos[-T:])
    X = pick(lambda: add(**{"E[tokens]": E[tokens], "Pos": rows}), position_times=lambda: E[tokens] * rows,
             e_by_place=lambda: E[:T] + rows)
    dE, dPos, count = np.zeros_like(E), np.zeros_like(Pos), np.bincount(tokens, minlength=len(E))[:, None]
    np.add.at(dE, tokens, dX)
    last = np.zeros_like(E)
    last[tokens] = dX
    dE = pick(lambda: dE, overwritten=lambda: last, occurrences_averaged=lambda: dE / np.maximum(count, 1),
              e_by_place=lambda: np.concatenate([dX, 0 * E[T:]])[:len(E)])
    dPos[:T] = dX
    dPos = pick(lambda: dPos, dpos_by_token=lambda: by_token(Pos, tokens, dX), dpos_mean=lambda: dPos / T,
                positions_reversed=lambda: np.concatenate([dX[::-1], 0 * Pos[T:]]), dpos_one_row=lambda: one_row(Pos, dX),
                last_positions=lambda: np.concatenate([0 * Pos[T:], dX]))
    return locals()


def by_token(Pos, tokens, dX):
    dPos = np.zeros_like(Pos)
    np.add.at(dPos, tokens, dX)
    return dPos


def one_row(Pos, dX):
    dPos = np.zeros_like(Pos)
    dPos[0] = dX.sum(0)
    return dPos


EPSILON = 1e-5


def norm(X, g, dY):
    axis = pick(lambda: -1, norm_axis=lambda: 0)
    centred = add(**{"X": X, "mean(X)": -mean_of("mean(X)", X, axis)})
    square = mean_of("mean((X − mean)²)", centred ** 2, axis)
    s = pick(lambda: np.sqrt(square + EPSILON), no_root=lambda: square + EPSILON,
             epsilon_outside=lambda: np.sqrt(square) + EPSILON, epsilon_missing=lambda: np.sqrt(square),
             c_minus_1=lambda: np.sqrt(square * X.shape[1] / (X.shape[1] - 1) + EPSILON), not_divided=lambda: 1.0)
    x = centred / s
    Y = pick(lambda: x * g, gain_left_out=lambda: x, gain_plus=lambda: x + g)
    a = pick(lambda: dY * g, gain_not_back=lambda: dY)
    mean = pick(lambda: mean_of("mean(a)", a), both_terms=lambda: 0.0,
                norm_sums=lambda: a.sum(-1, keepdims=True), terms_added=lambda: -a.mean(-1, keepdims=True))
    share = pick(lambda: mean_of("mean(a x)", a * x), both_terms=lambda: 0.0,
                 norm_sums=lambda: (a * x).sum(-1, keepdims=True), terms_added=lambda: -(a * x).mean(-1, keepdims=True))
    dX = pick(lambda: add(**{"a": a, "mean(a)": -mean, "x mean(a x)": -x * share}) / s,
              not_divided_back=lambda: a - mean - x * share,
              x_term_alone=lambda: (a - mean - share) / s)
    dg = pick(lambda: (dY * x).sum(0), dg_of_x=lambda: (dY * X).sum(0), dg_mean=lambda: (dY * x).mean(0),
              dg_of_dy=lambda: dY.sum(0), dg_of_y=lambda: (dY * Y).sum(0))
    return locals()


def residual(X, F, dY):
    Y = add(X=X, F=F)
    dX, dF = dY + 0, dY + 0
    return locals()


# 11 and 12: the block, the decoder, the loss.


def feed_forward(X, W1, W2, dY):
    A = X @ W1
    R = pick(lambda: np.maximum(A, 0), no_relu=lambda: A, relu_abs=lambda: np.abs(A), relu_of_minus=lambda: np.minimum(A, 0))
    Y = pick(lambda: R @ W2, relu_again=lambda: np.maximum(R @ W2, 0))
    dR = dY @ W2.T
    dA = pick(lambda: dR * (A > 0), relu_not_back=lambda: dR, relu_of_gradient=lambda: np.maximum(dR, 0),
              relu_back_times=lambda: dR * R, relu_of_minus=lambda: dR * (A < 0))
    dX = dA @ W1.T
    dW1 = pick(lambda: X.T @ dA, dw_mean=lambda: X.T @ dA / len(X), dw1_without_relu=lambda: X.T @ dR)
    dW2 = pick(lambda: R.T @ dY, dw_mean=lambda: R.T @ dY / len(X), dw2_before_relu=lambda: A.T @ dY)
    return locals()


def attention_of(w, N, H, dY):
    return heads(N, *(w[name] for name in ("Wq", "Wk", "Wv", "Wo")), H, dY)


def block(X, w, H, dY):
    zero = np.zeros_like(X)
    n1 = pick(lambda: norm(X, w["g1"], zero)["Y"], norm_1_left_out=lambda: X,
              gains_swapped=lambda: norm(X, w["g2"], zero)["Y"])
    a = attention_of(w, n1, H, zero)["Y"]
    x1 = add(**{"X in X1": X, "heads in X1": a})
    into_2 = pick(lambda: x1, side_by_side=lambda: X)
    n2 = pick(lambda: norm(into_2, w["g2"], zero)["Y"], norm_2_left_out=lambda: into_2,
              gains_swapped=lambda: norm(into_2, w["g1"], zero)["Y"], one_gain=lambda: norm(into_2, w["g1"], zero)["Y"])
    f = feed_forward(n2, w["W1"], w["W2"], dY)
    Y = pick(lambda: add(**{"X1 in Y": x1, "feed_forward in Y": f["Y"]}),
             norm_after=lambda: norm(x1 + f["Y"], w["g2"], zero)["Y"])
    by_2 = norm(x1, w["g2"], f["dX"])
    dx1 = pick(lambda: add(**{"dY in dX1": dY, "through feed_forward in dX1": by_2["dX"]}),
               norm_2_not_back=lambda: dY + f["dX"])
    b = attention_of(w, n1, H, pick(lambda: dx1, residual_2_only=lambda: dY))
    by_1 = norm(X, w["g1"], b["dX"])
    dX = pick(lambda: add(**{"dX1 in dX": dx1, "through the attention in dX": by_1["dX"]}),
              norm_1_not_back=lambda: dx1 + b["dX"], residual_1_of_dy=lambda: dY + by_1["dX"])
    dw = {name: b["d" + name] for name in ("Wq", "Wk", "Wv", "Wo")}
    dw |= {"g1": by_1["dg"], "g2": by_2["dg"], "W1": f["dW1"], "W2": f["dW2"]}
    return locals()


def decoder(tokens, w, H, dlogits):
    start = embedding(tokens, w["E"], w["Pos"], np.zeros((len(tokens), w["E"].shape[1])))["X"]
    blocks = pick(lambda: w["blocks"], first_block_only=lambda: w["blocks"][:1], blocks_reversed=lambda: w["blocks"][::-1],
                  last_block_only=lambda: w["blocks"][-1:])
    X = [start]
    for each in blocks:
        X.append(block(X[-1], each, H, np.zeros_like(start))["Y"])
    n = pick(lambda: norm(X[-1], w["g"], 0 * start)["Y"], final_norm_left_out=lambda: X[-1])
    logits = pick(lambda: n @ w["U"], tied=lambda: n @ w["E"].T)
    dn = dlogits @ w["U"].T
    final = norm(X[-1], w["g"], dn)
    dx, inner = pick(lambda: final["dX"], final_norm_not_back=lambda: dn), []
    for each, x in reversed(list(zip(blocks, X))):
        back = block(x, each, H, dx)
        inner.insert(0, back["dw"])
        dx = pick(lambda: back["dX"], blocks_not_back=lambda: dx)
    inner = pick(lambda: inner, block_gradients_reversed=lambda: inner[::-1])
    rows = embedding(tokens, w["E"], w["Pos"], pick(lambda: dx, embedding_of_last=lambda: final["dX"]))
    dU = pick(lambda: n.T @ dlogits, du_before_norm=lambda: X[-1].T @ dlogits)
    dw = {"E": rows["dE"], "Pos": rows["dPos"], "blocks": inner, "g": final["dg"], "U": dU}
    return locals()


def loss(logits, targets, dL):
    P, T = softmax(logits), np.arange(len(targets))
    right = pick(lambda: P[T, targets], next_target=lambda: P[T, np.roll(targets, 1)])
    L = pick(lambda: -np.log(right).mean(), sum_not_mean=lambda: -np.log(right).sum(),
             log_base_2=lambda: -np.log2(right).mean(), minus_left_out=lambda: np.log(right).mean(),
             log_left_out=lambda: -right.mean(), of_all_classes=lambda: -np.log(P).mean())
    one = np.zeros_like(P)
    one[T, targets] = 1
    difference = pick(lambda: add(softmax=P, **{"one-hot": -one}), minus_left_out=lambda: one - P,
                      only_target=lambda: -one / P, only_target_row=lambda: (P - one) * one)
    dlogits = pick(lambda: dL * difference / len(T), sum_not_mean=lambda: dL * difference,
                   dl_left_out=lambda: difference / len(T), mean_of_classes=lambda: dL * difference / P.size)
    return locals()
