#include "cli/verbs.h"

namespace qkv {

std::vector<Verb> verbs() {
  return {train_verb(),     eval_verb(),  generate_verb(), data_verb(),
          gradcheck_verb(), bench_verb(), config_verb(),   info_verb()};
}

}  // namespace qkv
