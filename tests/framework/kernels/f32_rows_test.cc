// Kernels in f32 that look at a whole row, softmaxes and norms, against their formulas.

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "framework/kernels/norm.h"
#include "framework/kernels/softmax.h"
#include "tests/framework/kernels/f32.h"

namespace qkv::kernels {
namespace {

// A row x[0 … n - 1] as exp(x - shift), with the largest x for shift, and the sum of these.
struct RowOfExps {
  double shift;
  std::vector<Rounded> exps;
  Rounded total;
};
RowOfExps exps_of(const float* x, int64_t n) {
  RowOfExps row;
  row.shift = *std::max_element(x, x + n);
  for (int64_t i = 0; i < n; ++i) row.exps.push_back(exp(Rounded(x[i]) - Rounded(row.shift)));
  row.total = sum(n, [&](int64_t i) { return row.exps[static_cast<size_t>(i)]; });
  return row;
}

TEST(F32, SoftmaxesAreWithinRounding) {
  for (const Shape& shape : shapes(2, 15)) {
    const int64_t n = shape[1], rows = n == 0 ? 0 : shape[0];
    const Array x = f32(shape, 16), dy = f32(shape, 17);
    Array p = empty_f32(shape), log_p = empty_f32(shape);
    Array dx = empty_f32(shape), dlog = empty_f32(shape);
    softmax(x, p);
    softmax_backward(p, dy, dx);
    log_softmax(x, log_p);
    log_softmax_backward(log_p, dy, dlog);
    Expected e_p, e_dx, e_log, e_dlog;
    for (int64_t r = 0; r < rows; ++r) {
      const float* xr = x.data<float>() + r * n;
      const float* d = dy.data<float>() + r * n;
      const float* pr = p.data<float>() + r * n;
      const float* lr = log_p.data<float>() + r * n;
      const RowOfExps row = exps_of(xr, n);
      const Rounded inverse = Rounded(1) / row.total;
      const Rounded dot = sum(n, [&](int64_t i) { return Rounded(pr[i]) * Rounded(d[i]); });
      const Rounded total = sum(n, [&](int64_t i) { return Rounded(d[i]); });
      for (int64_t i = 0; i < n; ++i) {
        e_p.push_back(row.exps[static_cast<size_t>(i)] * inverse);
        e_dx.push_back(Rounded(pr[i]) * (Rounded(d[i]) - dot));
        e_log.push_back((Rounded(xr[i]) - Rounded(row.shift)) - log(row.total));
        e_dlog.push_back(Rounded(d[i]) - exp(Rounded(lr[i])) * total);
      }
    }
    EXPECT_EQ(outside(p, e_p) + outside(dx, e_dx), 0) << shape.to_string();
    EXPECT_EQ(outside(log_p, e_log) + outside(dlog, e_dlog), 0) << shape.to_string();
  }
}

TEST(F32, CrossEntropyIsWithinRounding) {
  for (const Shape& shape : shapes(2, 18)) {
    const int64_t rows = shape[0], n = shape[1];
    if (n == 0) continue;  // no class to aim at
    const Array x = f32(shape, 19), dloss = f32({rows}, 20);
    std::vector<int64_t> targets;
    for (int64_t r = 0; r < rows; ++r) targets.push_back(r % 5 == 4 ? -1 : r % n);
    const Array t = Array::of({rows}, targets);
    for (const double s : {0.0, 0.125}) {
      Array loss = empty_f32({rows}), lse = empty_f32({rows}), dx = empty_f32(shape);
      cross_entropy(x, t, -1, s, loss, lse);
      cross_entropy_backward(x, t, lse, -1, s, dloss, dx);
      Expected e_loss, e_dx;
      const Rounded spread = constant(s / static_cast<double>(n));
      for (int64_t r = 0; r < rows; ++r) {
        const float* xr = x.data<float>() + r * n;
        const int64_t target = targets[static_cast<size_t>(r)];
        const RowOfExps row = exps_of(xr, n);
        const auto shifted = [&](int64_t i) { return Rounded(xr[i]) - Rounded(row.shift); };
        const Rounded d = dloss.data<float>()[r];
        for (int64_t i = 0; i < n; ++i) {
          const Rounded p = exp(Rounded(xr[i]) - Rounded(lse.data<float>()[r]));
          const Rounded hot = i == target ? Rounded(1 - s) * d : Rounded(0);
          e_dx.push_back(target < 0 ? Rounded(0) : (p - spread) * d - hot);
        }
        if (target < 0) {
          e_loss.push_back(0);
          continue;
        }
        const Rounded aimed = Rounded(1 - s) * shifted(target) + Rounded(s) * mean(n, shifted);
        e_loss.push_back(log(row.total) - aimed);
      }
      EXPECT_EQ(outside(loss, e_loss) + outside(dx, e_dx), 0) << shape.to_string() << " " << s;
    }
  }
}

TEST(F32, NormsAreWithinRounding) {
  constexpr double kEpsilon = 0x1p-10;
  for (const Shape& shape : shapes(2, 21)) {
    const int64_t n = shape[1], rows = n == 0 ? 0 : shape[0];
    const Array x = f32(shape, 22), w = f32({n}, 23), b = f32({n}, 24), dy = f32(shape, 25);
    Array y = empty_f32(shape), center = empty_f32({shape[0]}), rstd = empty_f32({shape[0]});
    Array y_rms = empty_f32(shape), rstd_rms = empty_f32({shape[0]});
    layer_norm(x, w, b, kEpsilon, y, center, rstd);
    rms_norm(x, w, kEpsilon, y_rms, rstd_rms);
    Array dx = empty_f32(shape), dw = empty_f32({n}), db = empty_f32({n});
    Array dx_rms = empty_f32(shape), dw_rms = empty_f32({n});
    layer_norm_backward(x, w, center, rstd, dy, dx, dw, db);
    rms_norm_backward(x, w, rstd_rms, dy, dx_rms, dw_rms);
    // The backwards are checked at the mean and rstd that they were given.
    const auto at = [](const Array& array, int64_t i) { return Rounded(array.data<float>()[i]); };
    const auto x_hat = [&](int64_t r, int64_t i) {
      return (at(x, r * n + i) - at(center, r)) * at(rstd, r);
    };
    const auto x_hat_rms = [&](int64_t r, int64_t i) { return at(x, r * n + i) * at(rstd_rms, r); };
    const auto d_hat = [&](int64_t r, int64_t i) { return at(dy, r * n + i) * at(w, i); };
    Expected e_y, e_dx, e_y_rms, e_dx_rms, e_dw, e_db, e_dw_rms;
    for (int64_t r = 0; r < rows; ++r) {
      const Rounded m = mean(n, [&](int64_t i) { return at(x, r * n + i); });
      const auto centered = [&](int64_t i) { return at(x, r * n + i) - m; };
      const Rounded variance = mean(n, [&](int64_t i) { return centered(i) * centered(i); });
      const Rounded square =
          mean(n, [&](int64_t i) { return at(x, r * n + i) * at(x, r * n + i); });
      const Rounded inverse = Rounded(1) / sqrt(variance + Rounded(kEpsilon));
      const Rounded inverse_rms = Rounded(1) / sqrt(square + Rounded(kEpsilon));
      const Rounded mean_d = mean(n, [&](int64_t i) { return d_hat(r, i); });
      const Rounded dot = mean(n, [&](int64_t i) { return d_hat(r, i) * x_hat(r, i); });
      const Rounded dot_rms = mean(n, [&](int64_t i) { return d_hat(r, i) * x_hat_rms(r, i); });
      for (int64_t i = 0; i < n; ++i) {
        e_y.push_back(centered(i) * inverse * at(w, i) + at(b, i));
        e_dx.push_back(at(rstd, r) * (d_hat(r, i) - mean_d - x_hat(r, i) * dot));
        e_y_rms.push_back(at(x, r * n + i) * inverse_rms * at(w, i));
        e_dx_rms.push_back(at(rstd_rms, r) * (d_hat(r, i) - x_hat_rms(r, i) * dot_rms));
      }
    }
    for (int64_t i = 0; i < n; ++i) {
      const auto over_rows = [&](auto term) { return sum(rows, term); };
      e_dw.push_back(over_rows([&](int64_t r) { return at(dy, r * n + i) * x_hat(r, i); }));
      e_db.push_back(over_rows([&](int64_t r) { return at(dy, r * n + i); }));
      e_dw_rms.push_back(over_rows([&](int64_t r) { return at(dy, r * n + i) * x_hat_rms(r, i); }));
    }
    SCOPED_TRACE(shape.to_string());
    EXPECT_EQ(outside(y, e_y) + outside(y_rms, e_y_rms), 0);
    EXPECT_EQ(outside(dx, e_dx) + outside(dw, e_dw) + outside(db, e_db), 0);
    EXPECT_EQ(outside(dx_rms, e_dx_rms) + outside(dw_rms, e_dw_rms), 0);
  }
}

}  // namespace
}  // namespace qkv::kernels
