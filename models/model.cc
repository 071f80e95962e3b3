#include "models/model.h"

#include <optional>

#include "framework/core/error.h"

namespace qkv {
namespace {

template <class... Kinds>
void make(const ModelOptions& options, const DataShape& data, const Initializer& init,
          std::optional<std::variant<Kinds...>>& made) {
  const bool known =
      ((Kinds::kKind == options.kind && (made.emplace(Kinds(options, data, init)), true)) || ...);
  if (!known) fail("model: there is no such kind");
}

template <class Kind>
Kind make(const ModelOptions& options, const DataShape& data, const Initializer& init) {
  std::optional<Kind> made;
  make(options, data, init, made);
  return *std::move(made);
}

}  // namespace

Model::Model(const ModelOptions& options, const DataShape& data, const Initializer& init)
    : kind_(make<Kind>(options, data, init)) {}

Tensor Model::operator()(std::span<const Tensor> inputs, ForwardContext& context) const {
  return std::visit([&](const auto& kind) { return kind(inputs, context); }, kind_);
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
