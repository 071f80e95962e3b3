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

// The widest instructions that the compiler could use.
#if defined(__AVX512BF16__)
constexpr char kInstructions[] = "AVX-512 with bf16";
#elif defined(__AVX512F__)
constexpr char kInstructions[] = "AVX-512";
#elif defined(__AVX2__)
constexpr char kInstructions[] = "AVX2";
#elif defined(__x86_64__)
constexpr char kInstructions[] = "x86-64";
#elif defined(__aarch64__)
constexpr char kInstructions[] = "arm64";
#else
constexpr char kInstructions[] = "an unknown processor";
#endif

}  // namespace

std::string version_text() {
  return absl::StrCat("qkv ", QKV_VERSION, "\ncompiled by ", kCompiler, " for ", kInstructions,
                      "\nmatrix products by ", kernels::product_library(), "\n");
}

}  // namespace qkv
