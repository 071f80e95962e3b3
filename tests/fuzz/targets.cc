#include "tests/fuzz/targets.h"

namespace qkv {

std::vector<FuzzTarget>& fuzz_targets() {
  static auto& targets =
      *new std::vector<FuzzTarget>{{"config", fuzz_config},
                                   {"set", fuzz_set},
                                   {"safetensors_header", fuzz_safetensors_header},
                                   {"safetensors_body", fuzz_safetensors_body},
                                   {"metrics", fuzz_metrics},
                                   {"text", fuzz_text},
                                   {"lines", fuzz_lines},
                                   {"cached_text", fuzz_cached_text},
                                   {"csv", fuzz_csv},
                                   {"records", fuzz_records},
                                   {"pairs", fuzz_pairs},
                                   {"classes", fuzz_classes},
                                   {"idx", fuzz_idx},
                                   {"png", fuzz_png},
                                   {"jpeg", fuzz_jpeg},
                                   {"prompt", fuzz_prompt},
                                   {"tokens", fuzz_tokens},
                                   {"tokenizer", fuzz_tokenizer}};
  return targets;
}

}  // namespace qkv
