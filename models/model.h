#pragma once

#include <span>
#include <string>
#include <variant>
#include <vector>

#include "models/classifier.h"
#include "models/decoder.h"
#include "models/encoder_decoder.h"

namespace qkv {

// What model.kind may name.
struct ModelKind {
  std::string name;               // "decoder"
  DataForm form;                  // that it takes its data in
  std::vector<std::string> keys;  // of the options that it reads
};
std::vector<ModelKind> model_kinds();

// Of the kind of that name. Throws Error where there is none.
DataForm form_of(const std::string& kind);

// One of the kinds of models, which a config chooses by its name. Who trains, evaluates, checks,
// saves or measures a model names none of them.
class Model {
 public:
  // Throws Error on options that do not fit each other, and where there is no such kind.
  Model(const ModelOptions& options, const DataShape& data, const Initializer& init);

  // The inputs of a batch -> logits, one row for each of its targets.
  Tensor operator()(std::span<const Tensor> inputs, ForwardContext& context) const;

  // For generation, token by token: the logits [B, V] of what follows in each row.
  //   prompts i64 [B, Tp], Tp ≥ 1, and what followed them so far: written i64 [B, n], undefined at
  //   first
  // A `cache`, where given, holds what was read of them before, and then of all: the same logits in
  // less time. A model whose mask is not causal reads all tokens again.
  Tensor next_logits(const Array& prompts, const Array& written, KeyValueCache* cache) const;

  void visit(Visitor& v);
  const DataShape& data() const;

 private:
  friend std::vector<ModelKind> model_kinds();

  using Kind = std::variant<Decoder, EncoderDecoder, Classifier>;  // all that there are

  Kind kind_;
};

}  // namespace qkv
