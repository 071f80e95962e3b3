#include "cli/version.h"

#include "absl/strings/str_cat.h"
#include "framework/kernels/product_library.h"

namespace qkv {
namespace {

#if defined(__clang__)
constexpr char kCompiler[] = "clang++ " __clang_version__;
#else
constexpr char kCompiler[] = "g++ " __VERSION__;
#endif

}  // namespace

std::string version_text() {
  return absl::StrCat("qkv ", QKV_VERSION, "\ncompiled by ", kCompiler, " for ",
                      kernels::instructions(), "\nmatrix products by ", kernels::product_library(),
                      "\n");
}

}  // namespace qkv
