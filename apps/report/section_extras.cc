#include "apps/report/section_extras.h"

namespace qkv {

const std::map<std::string, std::string>& sliders_of_sections() {
  static const std::map<std::string, std::string> kSliders = {
      {"scaling.steepness", "scaling"},
      {"softmax.saturation", "softmax"},
      {"sinusoid.distance", "sinusoid"},
      {"restricted.pairs", "window"},
  };
  return kSliders;
}

const std::map<std::string, std::string>& code_of_sections() {
  static const std::map<std::string, std::string> kRegions = {
      {"bare.pairs", "scores"},          {"key-value.exchange", "weighted sum"},
      {"heads-split.two-ways", "heads"}, {"mask.weights", "mask"},
      {"scaling.steepness", "scale"},    {"softmax.gradient", "gradient of softmax"},
      {"softmax.sums", "softmax"},       {"thinking.steps", "projections"},
  };
  return kRegions;
}

}  // namespace qkv
