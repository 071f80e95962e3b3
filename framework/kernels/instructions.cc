#include "framework/kernels/instructions.h"

namespace qkv::kernels {

const char* instructions() {
#if defined(__AVX512BF16__)
  return "AVX-512 with bf16";
#elif defined(__AVX512F__)
  return "AVX-512";
#elif defined(__AVX2__)
  return "AVX2";
#elif defined(__x86_64__)
  return "x86-64";
#elif defined(__aarch64__)
  return "arm64";
#else
  return "an unknown processor";
#endif
}

}  // namespace qkv::kernels
