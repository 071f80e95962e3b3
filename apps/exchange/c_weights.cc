#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "apps/exchange/c_program.h"
#include "data/file.h"
#include "train/folder/checkpoint.h"

namespace qkv {
namespace {

// A member of a struct: an array, or a struct.
struct Member {
  std::string name;
  const Array* array = nullptr;
  std::vector<Member> members = {};
};

// In the order in which they come first.
Member tree_of(const std::vector<NamedArray>& arrays) {
  Member model = {.name = "model"};
  for (const NamedArray& named : arrays) {
    if (named.name.starts_with(kOptimizerPrefix) || named.name == kPositionGain) continue;
    Member* place = &model;
    for (const auto part : absl::StrSplit(named.name, '.')) {
      const std::string name(part);
      auto found = std::ranges::find(place->members, name, &Member::name);
      if (found == place->members.end()) found = place->members.insert(found, {.name = name});
      place = &*found;
    }
    place->array = &named.array;
  }
  return model;
}

bool is_list(const Member& member) {  // blocks, whose members are 0, 1, …
  int64_t number = 0;
  return !member.members.empty() && absl::SimpleAtoi(member.members.front().name, &number);
}

std::string declaration(const Member& member, const std::string& indent) {
  if (member.array) {
    std::string text = absl::StrCat(indent, "float ", member.name);
    for (const int64_t size : member.array->shape()) absl::StrAppend(&text, "[", size, "]");
    return text + ";\n";
  }
  if (is_list(member)) return absl::StrCat(indent, "struct block ", member.name, "[L];\n");
  std::string text = absl::StrCat(indent, "struct {\n");
  for (const Member& inner : member.members) text += declaration(inner, indent + "  ");
  return absl::StrCat(text, indent, "} ", member.name, ";\n");
}

void append_bytes(const Member& member, std::string& bytes) {
  if (member.array) {
    const Array& array = *member.array;
    const bool is_f32 = array.dtype() == DType::f32;
    const Array numbers = is_f32 ? array : Array::of(array.shape(), DType::f32, array.to_vector());
    bytes.append(static_cast<const char*>(numbers.raw()), numbers.bytes());
  }
  for (const Member& inner : member.members) append_bytes(inner, bytes);
}

}  // namespace

std::string c_structs(const std::vector<NamedArray>& arrays) {
  const Member model = tree_of(arrays);
  std::string block;
  for (const Member& member : model.members) {
    if (!is_list(member)) continue;
    for (const Member& inner : member.members.front().members) block += declaration(inner, "  ");
  }
  std::string rest;
  for (const Member& member : model.members) rest += declaration(member, "  ");
  return absl::StrCat("struct block {\n", block, "};\nstatic struct {\n", rest, "} model;\n");
}

std::string c_weights(const std::vector<NamedArray>& arrays) {
  std::string bytes;
  append_bytes(tree_of(arrays), bytes);
  return absl::StrCat(kBeginningOfWeights, fingerprint_of(bytes), bytes);
}

}  // namespace qkv
