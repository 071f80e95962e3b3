// Why positions are added to tokens and not concatenated.
#include "apps/labs/kit/lab_kit.h"
#include "framework/nn/mixers/position.h"

namespace qkv {
namespace {

// Tokens at positions, [T] each, and W of [one-hot position, one-hot token] W.
struct Words {
  Tensor tokens, positions;
  int64_t count = 0, length = 0;  // of different tokens, of positions
  Tensor weight;                  // [length + count, C]

  Tensor position_part() const { return slice(weight, 0, 0, length); }
  Tensor token_part() const { return slice(weight, 0, length, count); }
};

Words make_words(const LabContext& lab) {
  const int64_t length = lab.integer("n"), count = lab.integer("words"), d = lab.integer("d");
  const RandomStream random(lab.integer("seed"));
  return {.tokens = random_tokens(random, {length}, count),
          .positions = counted(length),
          .count = count,
          .length = length,
          .weight = as_parameter(random_normal(random, "W", {length + count, d}))};
}

// The control puts a bend behind each map.
Tensor bent(const LabContext& lab, const Tensor& x) { return lab.is_control() ? tanh(x) : x; }

Tensor side_by_side(const Words& words) {
  return concat({one_hot(words.positions, words.length, DType::f64),
                 one_hot(words.tokens, words.count, DType::f64)},
                -1);
}

HeatMap map_of(const char* title, const Tensor& matrix, const Text& columns = say("numbers"),
               const Text& rows = say("position")) {
  HeatMap map = heat_map_of(title, matrix);
  map.row_axis = rows;
  map.column_axis = columns;
  return map;
}

Section one_hot_section(const LabContext& lab, const Words& words) {
  const Tensor through_map = bent(lab, matmul(side_by_side(words), words.weight));
  const Tensor positions = bent(lab, embedding(words.position_part(), words.positions));
  const Tensor tokens = bent(lab, embedding(words.token_part(), words.tokens));
  return make_section("add-concat.one-hot",
                      {same(say("[p, x] W, and the sum of two embeddings"),
                            largest_difference(through_map, positions + tokens))},
                      {HeatMaps{.title = say("Positions E, tokens A, and their sum"),
                                .maps = {map_of("E", positions), map_of("A", tokens),
                                         map_of("X = A + E", positions + tokens)}}});
}

Section code_section(const LabContext& lab, const Words& words) {
  const int64_t d = lab.integer("d");
  const RandomStream random(lab.integer("seed"));
  const Tensor code = sinusoidal_positions(words.length, d, DType::f64);
  const Tensor x = random_normal(random, "x", {words.length, d});
  const Tensor upper = random_normal(random, "upper", {d, d});
  const Tensor lower = random_normal(random, "lower", {d, d});
  const Tensor whole = bent(lab, matmul(concat({code, x}, -1), concat({upper, lower}, 0)));
  const Tensor parts = bent(lab, matmul(code, upper)) + bent(lab, matmul(x, lower));
  const Tensor twice = matmul(concat({code, x}, -1), concat({lower, lower}, 0));
  return make_section(
      "add-concat.code",
      {same(say("[e, x] W, and e W_e + x W_x, of sinusoids"), largest_difference(whole, parts)),
       same(say("(e + x) W, and [e, x] [W; W]"),
            largest_difference(matmul(code + x, lower), twice))});
}

Section gradient_section(const LabContext& lab, const Words& words) {
  const Tensor concatenated = side_by_side(words);
  const Tensor result = bent(lab, matmul(concatenated, words.weight));
  const Tensor pushed = random_normal(RandomStream(lab.integer("seed")), "dX", result.shape());
  const Tensor back = backward(result, {.cotangent = pushed})[words.weight];
  const Tensor position_part = slice(back, 0, 0, words.length);
  const Tensor token_part = slice(back, 0, words.length, words.count);
  const Tensor added =
      matmul(one_hot(words.tokens, words.count, DType::f64), pushed, {.transpose_a = true});
  return make_section(
      "add-concat.gradient",
      {same(say("block of the positions, and dX"), largest_difference(position_part, pushed)),
       same(say("block of the tokens, and dX added up by token"),
            largest_difference(token_part, added))},
      {map_of("[p, x]", concatenated, say("positions, tokens")),
       map_of("dW", back, say("numbers"), say("positions, tokens"))});
}

std::vector<Section> run(const LabContext& lab) {
  const Words words = make_words(lab);
  return {one_hot_section(lab, words), code_section(lab, words), gradient_section(lab, words)};
}

}  // namespace

Lab add_concat_lab() { return make_lab("add-concat", run); }

}  // namespace qkv
