// The program that libFuzzer drives: fuzzer --target=NAME [options of libFuzzer] CORPUS…

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "tests/fuzz/targets.h"

namespace {

void (*target)(std::string_view) = nullptr;

}  // namespace

// The names are libFuzzer's. NOLINTBEGIN(readability-identifier-naming)

// libFuzzer passes over what begins with two dashes, and starts itself again with all arguments.
extern "C" int LLVMFuzzerInitialize(const int* argc, char*** argv) {
  constexpr std::string_view kOption = "--target=";
  for (int i = 1; i < *argc; ++i) {
    const std::string_view argument = (*argv)[i];
    if (!argument.starts_with(kOption)) continue;
    for (const qkv::FuzzTarget& known : qkv::fuzz_targets()) {
      if (known.name == argument.substr(kOption.size())) target = known.run;
    }
  }
  if (target != nullptr) return 0;
  std::fprintf(stderr, "fuzzer needs --target=NAME; there are");
  for (const qkv::FuzzTarget& known : qkv::fuzz_targets()) {
    std::fprintf(stderr, " %s", known.name.c_str());
  }
  std::fprintf(stderr, "\n");
  std::exit(2);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  target({reinterpret_cast<const char*>(data), size});
  return 0;
}

// NOLINTEND(readability-identifier-naming)
