#include "models/model.h"

#include "absl/strings/str_cat.h"
#include "framework/core/error.h"

namespace qkv {
namespace {

// The inputs of a batch, of which the kind reads `count`.
void check_count(std::span<const Tensor> inputs, size_t count) {
  if (inputs.size() == count) return;
  fail(absl::StrCat("model: reads ", count, " inputs of a batch, not ", inputs.size()));
}

Tensor run(const Decoder& decoder, std::span<const Tensor> inputs, ForwardContext& context) {
  check_count(inputs, 1);
  return decoder(inputs[0], context);
}

}  // namespace

Model::Model(const ModelOptions& options, const DataShape& data, const Initializer& init)
    : kind_(make(options, data, init)) {}

Model::Kind Model::make(const ModelOptions& options, const DataShape& data,
                        const Initializer& init) {
  switch (options.kind) {
    case ModelKind::kDecoder:
      return Decoder(options, data, init);
  }
  fail("model: there is no such kind");
}

Tensor Model::operator()(std::span<const Tensor> inputs, ForwardContext& context) const {
  return std::visit([&](const auto& kind) { return run(kind, inputs, context); }, kind_);
}

Tensor Model::next_logits(std::span<const int64_t> tokens, KeyValueCache* cache) const {
  return std::visit([&](const auto& kind) { return kind.next_logits(tokens, cache); }, kind_);
}

void Model::visit(Visitor& v) {
  std::visit([&](auto& kind) { kind.visit(v); }, kind_);
}

const DataShape& Model::data() const {
  return std::visit([](const auto& kind) -> const DataShape& { return kind.data(); }, kind_);
}

}  // namespace qkv
