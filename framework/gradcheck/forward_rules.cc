#include "framework/gradcheck/forward_rules.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "framework/core/error.h"
#include "framework/ops/ops.h"

namespace qkv {
namespace {

Tensor op_of(const ForwardCall& call, std::span<const Tensor> inputs) {
  return Tensor(call.op.forward(Inputs(inputs)));
}

template <class T>
T attribute(const ForwardCall& call, std::string_view name) {
  for (const Attribute& each : call.op.attributes()) {
    if (each.name == name) return std::get<T>(each.value);
  }
  fail(absl::StrCat(
      "gradcheck: ", std::string(call.op.name()), " has no attribute \"", std::string(name),
      "\", which forward mode needs; give your own op a name that no built-in op has"));
}

// Ops that are linear in all of their inputs together: op(x + dx) = op(x) + op(dx).
Tensor linear_op(const ForwardCall& call) {
  std::vector<Tensor> tangents(call.dx.begin(), call.dx.end());
  for (size_t i = 0; i < tangents.size(); ++i) {
    if (!tangents[i].defined()) tangents[i] = zeros(call.x[i].shape(), call.x[i].dtype());
  }
  return op_of(call, tangents);
}

// The product rule, for ops that are linear in each of two inputs: op(da, b) + op(a, db).
Tensor product(const ForwardCall& call) {
  Tensor sum;
  for (size_t i = 0; i < 2; ++i) {
    if (!call.dx[i].defined()) continue;
    std::vector<Tensor> inputs(call.x.begin(), call.x.end());
    inputs[i] = call.dx[i];
    const Tensor term = op_of(call, inputs);
    sum = sum.defined() ? sum + term : term;
  }
  return sum;
}

// Functions of one number: f'(x) dx, with y = f(x). What does not move stays, even where f' is
// infinite.
template <class Derivative>
Tensor chain_rule(const ForwardCall& call, Derivative derivative) {
  const double *x = call.x[0].array().data<double>(), *y = call.y.array().data<double>(),
               *dx = call.dx[0].array().data<double>();
  Array result(call.y.shape(), DType::f64);
  double* dy = result.mutable_data<double>();
  for (int64_t i = 0; i < result.size(); ++i) {
    dy[i] = dx[i] == 0.0 ? 0.0 : derivative(x[i], y[i]) * dx[i];
  }
  return Tensor(result);
}

double square(double x) { return x * x; }

Tensor exp_tangent(const ForwardCall& call) {
  return chain_rule(call, [](double, double y) { return y; });
}
Tensor log_tangent(const ForwardCall& call) {
  return chain_rule(call, [](double x, double) { return 1.0 / x; });
}
Tensor sqrt_tangent(const ForwardCall& call) {
  return chain_rule(call, [](double, double y) { return 0.5 / y; });
}
Tensor rsqrt_tangent(const ForwardCall& call) {
  return chain_rule(call, [](double x, double y) { return -0.5 * y / x; });
}
Tensor erf_tangent(const ForwardCall& call) {
  return chain_rule(
      call, [](double x, double) { return 2.0 * std::numbers::inv_sqrtpi * std::exp(-x * x); });
}
Tensor tanh_tangent(const ForwardCall& call) {
  return chain_rule(call, [](double x, double) { return 1.0 / square(std::cosh(x)); });
}
// sigmoid(x) = (1 + tanh(x / 2)) / 2
Tensor sigmoid_tangent(const ForwardCall& call) {
  return chain_rule(call, [](double x, double) { return 0.25 / square(std::cosh(0.5 * x)); });
}
Tensor relu_tangent(const ForwardCall& call) {
  return chain_rule(call, [](double x, double) { return x > 0.0 ? 1.0 : 0.0; });
}

Tensor power(const ForwardCall& call, double n) {
  return chain_rule(call, [n](double x, double) { return n * std::pow(x, n - 1.0); });
}

// a^b = exp(b log(a)): b moves it by y log(a) db. A number for b does not move.
Tensor pow_tangent(const ForwardCall& call) {
  if (call.x.size() == 1) return power(call, attribute<double>(call, "exponent"));
  const Tensor &a = call.x[0], &b = call.x[1], &da = call.dx[0], &db = call.dx[1];
  Tensor dy = zeros(call.y.shape(), DType::f64);
  if (da.defined()) dy = dy + b * pow(a, b - 1.0) * da;
  if (db.defined()) dy = dy + call.y * log(a) * db;
  return dy;
}

// y b = a, so that dy b + y db = da.
Tensor quotient(const ForwardCall& call) {
  const Tensor &b = call.x[1], &da = call.dx[0], &db = call.dx[1];
  if (!db.defined()) return da / b;
  const Tensor y_db = call.y * db;
  return (da.defined() ? da - y_db : neg(y_db)) / b;
}

Tensor add_scalar_tangent(const ForwardCall& call) { return call.dx[0]; }

// What is filled in does not move.
Tensor masked_fill_tangent(const ForwardCall& call) {
  return masked_fill(call.dx[0], Tensor(attribute<Array>(call, "mask")), 0.0);
}

// The larger one moves it; of two equals, both by half.
Tensor maximum_tangent(const ForwardCall& call) {
  const std::vector<double> a = call.x[0].to_vector(), b = call.x[1].to_vector();
  std::vector<double> da(a.size()), db(a.size()), dy(a.size());
  if (call.dx[0].defined()) da = call.dx[0].to_vector();
  if (call.dx[1].defined()) db = call.dx[1].to_vector();
  for (size_t i = 0; i < dy.size(); ++i) {
    dy[i] = a[i] > b[i] ? da[i] : a[i] < b[i] ? db[i] : (da[i] + db[i]) / 2;
  }
  return Tensor(Array::of(call.y.shape(), DType::f64, dy));
}

// The first of the largest moves it. y has 1 in the place of x's axis of n; `inner` elements stand
// between neighbours along that axis.
Tensor max_tangent(const ForwardCall& call) {
  const Shape& shape = call.x[0].shape();
  const auto axis = static_cast<int>(attribute<int64_t>(call, "axis"));
  const int64_t n = shape[axis];
  int64_t inner = 1;
  for (int after = axis + 1; after < shape.rank(); ++after) inner *= shape[after];
  const std::vector<double> x = call.x[0].to_vector(), y = call.y.to_vector(),
                            dx = call.dx[0].to_vector();
  std::vector<double> dy(y.size());
  for (int64_t i = 0; i < call.y.size(); ++i) {
    int64_t place = i / inner * n * inner + i % inner;
    for (int64_t k = 1; k < n && x[place] != y[i]; ++k) place += inner;
    dy[i] = dx[place];
  }
  return Tensor(Array::of(call.y.shape(), DType::f64, dy));
}

// log(y) = x - log(sum(exp(x))): it moves by dx less the mean of dx, weighted by y.
Tensor log_softmax_tangent(const ForwardCall& call) {
  const Tensor& dx = call.dx[0];
  return dx - sum(exp(call.y) * dx, -1, /*keep_axis=*/true);
}
Tensor softmax_tangent(const ForwardCall& call) {
  const Tensor &y = call.y, &dx = call.dx[0];
  return y * (dx - sum(y * dx, -1, /*keep_axis=*/true));
}

constexpr ForwardRule kForwardRules[] = {
    // They are linear: sums, and what moves, repeats, leaves out or turns numbers.
    {"add", "op(da, db)", linear_op},
    {"sub", "op(da, db)", linear_op},
    {"concat", "op(da, db, ...)", linear_op},
    {"where", "op(da, db)", linear_op},
    {"broadcast_to", "op(dx)", linear_op},
    {"cast", "op(dx)", linear_op},
    {"dropout", "op(dx), by the same mask", linear_op},
    {"dropout_backward", "op(dx), by the same mask", linear_op},
    {"embedding", "op(dx)", linear_op},
    {"embedding_backward", "op(dx)", linear_op},
    {"fold", "op(dx)", linear_op},
    {"gather", "op(dx)", linear_op},
    {"neg", "op(dx)", linear_op},
    {"pad", "op(dx)", linear_op},
    {"permute", "op(dx)", linear_op},
    {"reshape", "op(dx)", linear_op},
    {"rotary", "op(dx)", linear_op},
    {"rotary_backward", "op(dx)", linear_op},
    {"scale", "op(dx)", linear_op},
    {"scatter_add", "op(dx)", linear_op},
    {"slice", "op(dx)", linear_op},
    {"sum", "op(dx)", linear_op},
    {"sum_to", "op(dx)", linear_op},
    {"unfold", "op(dx)", linear_op},
    // A constant is added, or stands in the place of some.
    {"add_scalar", "dx", add_scalar_tangent},
    {"masked_fill", "mask ? 0 : dx", masked_fill_tangent},
    // Products and quotients.
    {"mul", "da b + a db", product},
    {"matmul", "dA B + A dB", product},
    {"div", "(da - y db) / b", quotient},
    {"attention_output", "(dN - O ds) / s", quotient},
    // Functions of one number.
    {"exp", "y dx", exp_tangent},
    {"log", "dx / x", log_tangent},
    {"sqrt", "dx / (2 y)", sqrt_tangent},
    {"rsqrt", "-y dx / (2 x)", rsqrt_tangent},
    {"erf", "2 / sqrt(pi) exp(-x^2) dx", erf_tangent},
    {"tanh", "dx / cosh(x)^2", tanh_tangent},
    {"sigmoid", "dx / (4 cosh(x / 2)^2)", sigmoid_tangent},
    {"relu", "x > 0 ? dx : 0", relu_tangent},
    {"pow", "b a^(b - 1) da + y log(a) db", pow_tangent},
    // The largest.
    {"maximum", "a > b ? da : a < b ? db : (da + db) / 2", maximum_tangent},
    {"max", "dx where the first of the largest stands", max_tangent},
    // Rows.
    {"softmax", "y (dx - sum(y dx))", softmax_tangent},
    {"log_softmax", "dx - sum(exp(y) dx)", log_softmax_tangent},
};

}  // namespace

std::span<const ForwardRule> forward_rules() { return kForwardRules; }

const ForwardRule* forward_rule_of(std::string_view op) {
  const auto* found = std::ranges::find(kForwardRules, op, &ForwardRule::op);
  return found == std::end(kForwardRules) ? nullptr : found;
}

}  // namespace qkv
