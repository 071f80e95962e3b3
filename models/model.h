#pragma once

#include <span>
#include <string>
#include <variant>
#include <vector>

#include "models/decoder.h"

namespace qkv {

// What model.kind may name.
struct ModelKind {
  std::string name;               // "decoder"
  std::vector<std::string> keys;  // of the options that it reads
};
std::vector<ModelKind> model_kinds();

// One of the kinds of models, which a config chooses by its name. Who trains, evaluates, checks,
// saves or measures a model names none of them.
class Model {
 public:
  // Throws Error on options that do not fit each other, and where there is no such kind.
  Model(const ModelOptions& options, const DataShape& data, const Initializer& init);

  // The inputs of a batch -> logits, one row for each of its targets.
  Tensor operator()(std::span<const Tensor> inputs, ForwardContext& context) const;

  // For generation, token by token: Decoder::next_logits.
  Tensor next_logits(std::span<const int64_t> tokens, KeyValueCache* cache) const;

  void visit(Visitor& v);
  const DataShape& data() const;

 private:
  friend std::vector<ModelKind> model_kinds();
  using Kind = std::variant<Decoder>;  // all that there are

  Kind kind_;
};

}  // namespace qkv
