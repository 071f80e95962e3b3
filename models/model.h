#pragma once

#include <span>
#include <string>
#include <variant>
#include <vector>

#include "framework/nn/forward_context.h"
#include "models/classifier.h"
#include "models/decoder.h"
#include "models/encoder_decoder.h"

namespace qkv {

// A value of model.kind.
struct ModelKind {
  std::string name;               // "decoder"
  DataForm form;                  // the form of its data
  std::vector<std::string> keys;  // the options that it reads
};
std::vector<ModelKind> model_kinds();

// The form of the kind with that name. Throws Error where there is none.
DataForm form_of(const std::string& kind);

// Whether a model of that kind has attention to a source, whatever its mixer is.
bool attends_to_source(const std::string& kind);

// A model of any kind; a config chooses the kind by its name. The code that trains, evaluates,
// checks, saves or measures a model names no kind.
class Model {
 public:
  // Throws Error on options that do not fit each other, and where there is no such kind.
  Model(const ModelOptions& options, const DataShape& data, const Initializer& init);

  // The inputs of a batch -> logits, one row for each of its targets.
  Tensor operator()(std::span<const Tensor> inputs, ForwardContext& context) const;

  // For generation, token by token: the logits [B, V] of the next token in each row.
  //   prompts i64 [B, Tp], Tp ≥ 1; the tokens after them: written i64 [B, n], undefined at first
  // A `cache`, where given, holds the tokens that were read before, and afterwards all tokens: the
  // logits are the same, in less time. A model without a causal mask reads all tokens again.
  Tensor next_logits(const Array& prompts, const Array& written, KeyValueCache* cache) const;

  void visit(Visitor& v);
  const DataShape& data() const;

 private:
  friend std::vector<ModelKind> model_kinds();

  using Kind = std::variant<Decoder, EncoderDecoder, Classifier>;  // all kinds

  Kind kind_;
};

}  // namespace qkv
