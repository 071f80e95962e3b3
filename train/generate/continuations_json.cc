#include <nlohmann/json.hpp>

#include "train/generate/continue_texts.h"

namespace qkv {
namespace {

const char* name_of(TextEnd end) {
  switch (end) {
    case TextEnd::kLength:
      return "length";
    case TextEnd::kStop:
      return "stop";
    case TextEnd::kLastToken:
      return "last token";
    case TextEnd::kInterrupted:
      return "interrupted";
  }
  return "";
}

nlohmann::ordered_json continuation_json(const Continuation& written) {
  nlohmann::ordered_json object = {{"prompt", written.prompt},
                                   {"sample", written.sample},
                                   {"text", written.text},
                                   {"tokens", written.tokens},
                                   {"end", name_of(written.end)}};
  for (const auto& [text, hypothesis] : written.beam) {
    object["beam"].push_back({{"text", text},
                              {"log_probability", hypothesis.log_probability},
                              {"score", hypothesis.score}});
  }
  return object;
}

}  // namespace

std::string continuations_json(const LoadedRun& run, const TextsToContinue& texts,
                               const Continuations& written) {
  nlohmann::ordered_json object = {{"generate", run.path}, {"step", run.checkpoint.state.step}};
  if (!texts.beam) object["seed"] = texts.sampling.seed;
  object["texts"] = nlohmann::ordered_json::array();
  for (const Continuation& one : written.all) object["texts"].push_back(continuation_json(one));
  return object.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace qkv
