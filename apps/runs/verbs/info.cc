#include <algorithm>
#include <array>

#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "cli/kit.h"
#include "framework/core/memory/out_of_memory.h"
#include "framework/core/text/columns.h"
#include "framework/io/safetensors.h"
#include "train/folder/checkpoint.h"
#include "train/folder/run_folder.h"

namespace qkv {
namespace {

constexpr size_t kShownTensors = 20;  // of a group, in short

struct Kind {
  const char* prefix;  // of the names of tensors
  const char* name;
  const char* meaning = "";
};
// The last but one has what else an optimizer may keep.
constexpr std::array kKinds = {
    Kind{"optimizer.first_moment.", "optimizer: first moments", ", running means of the gradients"},
    Kind{"optimizer.second_moment.", "optimizer: second moments",
         ", running means of the gradients' squares"},
    Kind{"optimizer.velocity.", "optimizer: velocities", ", sums of the gradients with momentum"},
    Kind{"optimizer.weight.", "optimizer: weights",
         ", with which training continues; the model has their mean over the steps"},
    Kind{"optimizer.", "optimizer: the rest"},
    Kind{"", "model"}};

const Kind& kind_of(const std::string& tensor) {
  return *std::ranges::find_if(kKinds,
                               [&](const Kind& each) { return tensor.starts_with(each.prefix); });
}

// The tensors of a file in groups: those of the model, the state of the optimizer by its kind, the
// rest. All are in one group if the file is not a checkpoint of qkv.
struct TensorGroup {
  std::string name;     // "model", "optimizer: first moments"
  std::string meaning;  // ", running means of the gradients"
  std::vector<const NamedArray*> tensors;
};
std::vector<TensorGroup> groups_of_tensors(const TensorFile& file) {
  const bool is_checkpoint = std::ranges::any_of(file.metadata, [](const auto& each) {
    return each.first == "format" && each.second.starts_with("qkv-checkpoint-");
  });
  std::vector<TensorGroup> groups;
  for (const NamedArray& tensor : file.tensors) {
    const Kind kind = is_checkpoint ? kind_of(tensor.name) : Kind{"", "tensors"};
    const std::string name = kind.name;
    auto group = std::ranges::find(groups, name, &TensorGroup::name);
    if (group == groups.end())
      group = groups.insert(group, {.name = name, .meaning = kind.meaning, .tensors = {}});
    group->tensors.push_back(&tensor);
  }
  return groups;
}

std::vector<std::string> row_of(const std::string& name,
                                std::span<const NamedArray* const> tensors) {
  int64_t numbers = 0;
  uint64_t bytes = 0;
  for (const NamedArray* tensor : tensors) {
    numbers += tensor->array.size();
    bytes += static_cast<uint64_t>(tensor->array.bytes());
  }
  return {name, absl::StrCat(tensors.size()), absl::StrCat(numbers), describe_bytes(bytes)};
}

std::string lines_of_tensors(const TensorGroup& group, bool all) {
  std::vector<std::vector<std::string>> rows;
  for (const NamedArray* tensor : group.tensors) {
    const int64_t bad = not_finite_in(tensor->array).count;
    if (bad == 0 && !all) continue;
    rows.push_back({escape(tensor->name), tensor->array.describe(),
                    bad > 0 ? absl::StrCat("not finite: ", bad) : ""});
  }
  return aligned(rows, {.left = 3, .indent = "  "});
}

// A line of each entry.
std::string lines_of_metadata(const TensorFile& file) {
  constexpr int64_t kShown = 50;  // columns
  std::vector<std::vector<std::string>> rows;
  for (const auto& [key, value] : file.metadata) {
    const auto lines = std::ranges::count(value, '\n');
    const std::string line = escape(value), shown = first_columns(line, kShown);
    rows.push_back({escape(key), lines > 0                    ? absl::StrCat(lines, " lines")
                                 : shown.size() < line.size() ? shown + " …"
                                                              : line});
  }
  return aligned(rows, {.left = 2}) + "\n--verbose prints all tensors and all metadata\n";
}

// A table of the tensors of a file by what they are, with their sizes; the tensors of each group,
// the metadata. Not `all`: of a large group or an optimizer only tensors with numbers that are not
// finite; a line of each entry.
std::string describe_tensors(const TensorFile& file, bool all) {
  std::vector<const NamedArray*> tensors;
  for (const NamedArray& tensor : file.tensors) tensors.push_back(&tensor);
  std::vector<std::vector<std::string>> table = {{"", "tensors", "numbers", "size"}};
  const std::vector<TensorGroup> groups = groups_of_tensors(file);
  std::string lists;
  for (const TensorGroup& group : groups) {
    table.push_back(row_of(group.name, group.tensors));
    const bool is_short = group.tensors.size() <= kShownTensors && !group.name.starts_with("optim");
    const std::string lines = lines_of_tensors(group, all || is_short);
    if (!lines.empty()) absl::StrAppend(&lists, "\n", group.name, group.meaning, ":\n", lines);
  }
  if (groups.size() != 1) table.push_back(row_of("all", tensors));
  std::string text = aligned(table, {.left = 1}) + lists;
  if (!all) return absl::StrCat(text, "\n", lines_of_metadata(file));
  for (const auto& [key, value] : file.metadata) {
    absl::StrAppend(&text, "\n[", escape(key), "]\n");
    for (const absl::string_view line : absl::StrSplit(absl::StripSuffix(value, "\n"), '\n')) {
      absl::StrAppend(&text, escape(std::string(line)), "\n");
    }
  }
  return text;
}

void add_info_options(OptionList& options) {
  options.flag("verbose", "Prints all tensors and all metadata");
}

absl::Status run_info(const std::string& file, const GivenOptions& given) {
  ASSIGN_OR_RETURN(std::string path, find_checkpoint(file));
  std::set<std::string> types;  // that are none of DType
  absl::StatusOr<TensorFile> tensors = read_safetensors(path, [&](const TensorEntry& entry) {
    if (!entry.type.empty()) types.insert(entry.type);
    return entry.type.empty() || entry.type == "F16";
  });
  if (!tensors.ok()) return tensors.status();
  for (const std::string& type : types) {
    say_note(absl::StrCat("tensors of the type ", type,
                          type == "F16" ? " are shown as f32" : " are left out"));
  }
  show_table(absl::StrCat(printable(path), "\n", describe_tensors(*tensors, given.has("verbose"))));
  return absl::OkStatus();
}

}  // namespace

Verb info_verb() {
  return {{"info", "RUN|FILE", "shows a checkpoint: model, optimizer, metadata"},
          add_info_options,
          run_info};
}

}  // namespace qkv
