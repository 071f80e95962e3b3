#include "models/classifier.h"

#include "absl/strings/str_cat.h"
#include "framework/core/error.h"
#include "framework/graph/modes.h"
#include "framework/graph/op.h"
#include "framework/ops/ops.h"
#include "framework/ops/support/scaled_dot_product_attention.h"

namespace qkv {
namespace {

// The most that the stack reads: tokens or patches, and the class token.
int64_t longest(const ModelOptions& o, const DataShape& data) {
  const int64_t p = o.patch_size;
  if (data.is_image() && (p < 1 || data.height % p != 0 || data.width % p != 0)) {
    fail(absl::StrCat("classifier: patches of ", p, " x ", p, " pixels do not divide images of ",
                      data.height, " x ", data.width));
  }
  const int64_t read = data.is_image() ? data.height / p * (data.width / p) : data.max_length;
  return read + (o.pool == Pool::kClassToken ? 1 : 0);
}

// The class token is not padding.   [B, T] -> [B, 1 + T]
Tensor with_class_token(const Tensor& padding) {
  const int64_t rows = padding.dim(0), length = padding.dim(1);
  Array all({rows, length + 1}, DType::boolean);
  const bool* from = padding.array().data<bool>();
  bool* to = all.mutable_data<bool>();
  for (int64_t row = 0; row < rows; ++row) {
    *to++ = false;
    for (int64_t t = 0; t < length; ++t) *to++ = *from++;
  }
  return Tensor(all);
}

// x [B, T, C] -> [B, C], over the positions that are not padding.
Tensor mean_over_positions(const Tensor& x, const Tensor& padding) {
  if (!padding.defined()) return mean(x, 1);
  const Tensor kept = 1.0 - cast(padding, x.dtype());             // [B, T]
  const Tensor shares = kept / sum(kept, 1, /*keep_axis=*/true);  // [B, T]
  return sum(without_padding(x, padding) * reshape(shares, {x.dim(0), x.dim(1), 1}), 1);
}

}  // namespace

std::vector<std::string> Classifier::keys() { return transformer_keys({"pool", "patch_size"}); }

Classifier::Classifier(const ModelOptions& o, const DataShape& data, Initializer init)
    : data_(data),
      patch_size_(o.patch_size),
      stack_(init, o, Stack::Role::kEncoder, longest(o, data)) {
  if (data.is_image()) {
    const int64_t numbers = data.channels * o.patch_size * o.patch_size;
    patch_embedding_ = Linear(init, numbers, o.d_model, o.bias, o.init_std);
  } else {
    token_embedding_ = Embedding(init, data.vocabulary_size, o.d_model, o.init_std);
  }
  if (o.pool == Pool::kClassToken) class_token_ = init.normal({o.d_model}, o.init_std);
  head_ = Linear(init, o.d_model, data.classes, o.bias, o.init_std);
}

Tensor Classifier::patches(const Tensor& pixels) const {
  const Shape any_batch = {0, data_.channels, data_.height, data_.width};
  if (pixels.rank() != 4 || pixels.shape().with(0, 0) != any_batch) {
    fail(absl::StrCat("classifier: needs pixels [B, ", data_.channels, ", ", data_.height, ", ",
                      data_.width, "]: pixels ", pixels.describe()));
  }
  const int64_t b = pixels.dim(0), c = pixels.dim(1), p = patch_size_;
  const int64_t rows = data_.height / p, columns = data_.width / p;
  const Tensor cut = permute(reshape(pixels, {b, c, rows, p, columns, p}), {0, 2, 4, 1, 3, 5});
  return reshape(cut, {b, rows * columns, c * p * p});
}

Tensor Classifier::embed(const Tensor& read) const {
  if (data_.is_image()) {
    return patch_embedding_(cast(patches(read), patch_embedding_.weight.dtype()));
  }
  check_tokens("classifier", "tokens", read);
  return token_embedding_(read);
}

Tensor Classifier::operator()(std::span<const Tensor> inputs, ForwardContext& context) const {
  if (inputs.empty() || inputs.size() > (data_.is_image() ? 1 : 2)) {
    fail(absl::StrCat("classifier: needs ",
                      data_.is_image() ? "pixels alone" : "tokens [B, T], and their padding",
                      ", not ", inputs.size(), inputs.size() == 1 ? " input" : " inputs"));
  }
  Tensor x = embed(inputs[0]);
  Tensor padding = inputs.size() > 1 ? inputs[1] : Tensor();
  if (class_token_.defined()) {
    x = concat({broadcast_to(class_token_, Shape{x.dim(0), 1, x.dim(2)}), x}, 1);
    if (padding.defined()) padding = with_class_token(padding);
  }
  x = stack_(x, padding, context);  // [B, T, C]
  const Tensor pooled = class_token_.defined() ? reshape(slice(x, 1, 0, 1), {x.dim(0), x.dim(2)})
                                               : mean_over_positions(x, padding);
  return head_(pooled);  // [B, classes]
}

Tensor Classifier::next_logits(const Array& prompts, const Array& written,
                               KeyValueCache* /*cache*/) const {
  if (written.defined()) fail("classifier: the answer is one token, which is already written");
  const NoGrad no_grad;
  ForwardContext context;
  const std::vector<Tensor> inputs = {Tensor(prompts)};
  return (*this)(inputs, context);
}

void Classifier::visit(Visitor& v) {
  v.child(token_embedding_);
  v.child(patch_embedding_);
  v.parameter("class_token", class_token_);
  stack_.visit(v);
  v.child(head_);
}

}  // namespace qkv
