#include "models/model.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "framework/core/error.h"

namespace qkv {
namespace {

template <class... Kinds>
std::vector<ModelKind> list(const std::variant<Kinds...>* /*sum*/) {
  return {{Kinds::kName, Kinds::kForm, Kinds::keys()}...};
}

template <class... Kinds>
std::variant<Kinds...> make(const std::variant<Kinds...>* /*sum*/, const ModelOptions& options,
                            const DataShape& data, const Initializer& init) {
  std::optional<std::variant<Kinds...>> made;
  const bool known =
      ((options.kind == Kinds::kName && (made.emplace(Kinds(options, data, init)), true)) || ...);
  if (!known) fail(absl::StrCat("model: there is no kind \"", options.kind, "\""));
  return *std::move(made);
}

}  // namespace

Model::Model(const ModelOptions& options, const DataShape& data, const Initializer& init)
    : kind_(make(static_cast<Kind*>(nullptr), options, data, init)) {}

std::vector<ModelKind> model_kinds() { return list(static_cast<Model::Kind*>(nullptr)); }

DataForm form_of(const std::string& kind) {
  for (const ModelKind& known : model_kinds()) {
    if (known.name == kind) return known.form;
  }
  fail(absl::StrCat("model: there is no kind \"", kind, "\""));
}

bool attends_to_source(const std::string& kind) {
  return std::ranges::any_of(model_kinds(), [&kind](const ModelKind& known) {
    return known.name == kind && known.form == DataForm::kSourceTarget;
  });
}

Tensor Model::operator()(std::span<const Tensor> inputs, ForwardContext& context) const {
  return std::visit([&](const auto& kind) { return kind(inputs, context); }, kind_);
}

Tensor Model::next_logits(const Array& prompts, const Array& written, KeyValueCache* cache) const {
  const auto next = [&](const auto& kind) { return kind.next_logits(prompts, written, cache); };
  return std::visit(next, kind_);
}

void Model::visit(Visitor& v) {
  std::visit([&](auto& kind) { kind.visit(v); }, kind_);
}

const DataShape& Model::data() const {
  return std::visit([](const auto& kind) -> const DataShape& { return kind.data(); }, kind_);
}

}  // namespace qkv
