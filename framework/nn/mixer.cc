#include "framework/nn/mixer.h"

namespace qkv {

std::string_view Mixer::name() const {
  return std::visit([](const auto& layer) { return layer.name(); }, kind);
}

Tensor Mixer::operator()(const Tensor& x, const AttentionMask& mask,
                         ForwardContext& context) const {
  return std::visit([&](const auto& layer) { return layer(x, mask, context); }, kind);
}

void Mixer::visit(Visitor& v) {
  std::visit([&](auto& layer) { v.child(layer); }, kind);
}

}  // namespace qkv
