#include "framework/graph/middleware.h"

#include "absl/strings/str_cat.h"
#include "framework/core/engine_state.h"
#include "framework/core/error.h"

namespace qkv {

Middleware::Middleware(Role role) : role_(role), place_(&engine_state().middleware) {
  Middleware* head = *place_;
  const bool is_behind_change = head && head->role_ == Role::kChanges;
  if (role == Role::kWatches && is_behind_change) place_ = &head->next_;
  outer_ = *place_;
  next_ = role == Role::kChanges && is_behind_change ? head->next_ : outer_;
  *place_ = this;
}

Middleware::~Middleware() { *place_ = outer_; }

Middleware* Middleware::first() { return engine_state().middleware; }

Tensor Middleware::next(const std::shared_ptr<Op>& op, TensorSpan x) {
  return next_ ? next_->forward(op, x) : run_directly(op, {x.begin(), x.end()});
}

std::vector<Tensor> Middleware::next(const Op& op, const Saved& saved, const Tensor& dy) {
  return next_ ? next_->backward(op, saved, dy) : op.backward(saved, dy);
}

bool Middleware::any_watches() {
  const Middleware* const head = first();
  return head && (head->role_ == Role::kWatches || head->next_);
}

void note(std::string_view name, const Tensor& x) {
  if (!Middleware::first()) return;
  const std::string& scope = Scope::current();
  const std::string path = absl::StrCat(scope, scope.empty() ? "" : ".", std::string(name));
  for (Middleware* m = Middleware::first(); m; m = m->next_) m->on_tensor(path, x);
}

ObservedSection::ObservedSection(std::string_view name) : name_(name) {
  for (Middleware* m = Middleware::first(); m; m = m->next_) m->before_section(name);
}

ObservedSection::~ObservedSection() {
  for (Middleware* m = Middleware::first(); m; m = m->next_) m->after_section(name_);
}

}  // namespace qkv
