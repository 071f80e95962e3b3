#include "framework/nn/mixers/mixer.h"

namespace qkv {

std::string_view Mixer::name() const {
  return std::visit([](const auto& layer) { return layer.name(); }, kind);
}

std::string Mixer::norm_name() const { return std::string(name()) + "_norm"; }

Tensor Mixer::normalized(const Tensor& x, const Norm& norm) const {
  const std::string name = norm_name();
  const auto y = [&] {
    const Scope scope(name);
    return norm(x);
  };
  return noted(name, y());
}

Tensor Mixer::operator()(const Tensor& x, const AttentionMask& mask,
                         ForwardContext& context) const {
  return std::visit([&](const auto& layer) { return layer(x, mask, context); }, kind);
}

void Mixer::visit(Visitor& v) {
  std::visit([&](auto& layer) { v.child(layer); }, kind);
}

}  // namespace qkv
