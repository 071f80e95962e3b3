#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "apps/report/facts.h"
#include "apps/runs/replay/replay.h"
#include "framework/core/shape.h"
#include "framework/core/text/columns.h"
#include "framework/core/text/terminal.h"
#include "framework/core/text/utf8.h"

namespace qkv {
namespace {

std::string wrapped_line(const std::string& text, const std::string& indent = "") {
  return wrapped(text, text_columns(), indent);
}

std::string plural(int64_t count, const std::string& what) {
  return absl::StrCat(count, " ", what, count == 1 ? "" : "s");
}

std::string beginning_of(const StepReplay& replay) {
  return replay.checkpoint.empty() ? "the weights that the run began with"
                                   : printable(replay.checkpoint);
}

std::string how_it_came_there(const StepReplay& replay) {
  const int64_t repeated = replay.step - replay.first_step - (replay.recording ? 1 : 0);
  std::string text =
      absl::StrCat("begins with ", beginning_of(replay), ", step ", replay.first_step);
  if (repeated > 0) absl::StrAppend(&text, "; repeats ", plural(repeated, "step"));
  if (replay.differs_at) {
    absl::StrAppend(&text, "; the loss of step ", *replay.differs_at,
                    " is not that of metrics.jsonl: the run had another config there, or "
                    "another program or processor computed it");
  } else if (replay.compared > 0) {
    absl::StrAppend(&text, ", of which ", replay.compared,
                    replay.compared == 1 ? " is in metrics.jsonl: the same, to the bit"
                                         : " are in metrics.jsonl: the same, to the bit");
  }
  return text;
}

std::string all_is_finite(const StepReplay& replay) {
  std::string text =
      absl::StrCat(printable(replay.run),
                   ": all losses are finite: ", plural(replay.logged, "line"), " of metrics.jsonl");
  if (replay.step > replay.first_step) {
    absl::StrAppend(&text, ", and steps ", replay.first_step + 1, " to ", replay.step,
                    " once more");
  }
  return absl::StrCat(text, "; --step N shows any step op by op");
}

std::string range_text(const NumberRange& range) {
  std::string text =
      absl::StrFormat("from %.4g to %.4g, norm %.4g", range.least, range.greatest, range.norm);
  if (range.not_finite > 0) absl::StrAppend(&text, ", ", range.not_finite, " not finite");
  return text;
}

std::string operand_text(const BadOperand& each) {
  std::string text = absl::StrCat(
      "  ", each.operand.name, ": ", each.operand.tensor.describe(), ", ", range_text(each.range),
      each.operand.is_masked ? " (-inf where something is hidden)" : "");
  if (each.feeding == 0) absl::StrAppend(&text, "; its derivative by any of them is 0");
  if (each.feeding > 0) {
    std::vector<std::string> shown;
    for (const FedElement& fed : each.fed) {
      shown.push_back(absl::StrCat(place_text(each.operand.tensor.shape(), fed.element), " ",
                                   number_text(fed.value)));
    }
    absl::StrAppend(&text, "; ", plural(*each.feeding, "element"),
                    *each.feeding == 1 ? " feeds it: " : " feed it: ");
    for (size_t i = 0; i < shown.size(); ++i) absl::StrAppend(&text, i ? ", " : "", shown[i]);
    if (*each.feeding > std::ssize(shown)) absl::StrAppend(&text, ", …");
  }
  return wrapped_line(text.substr(2), "  ");
}

std::vector<Facts> growth_of(const StepReplay& replay) {
  std::vector<Facts> rows;
  for (const WeightGrowth& each : replay.growth) {
    rows.push_back({{"name", absl::StrCat("norms since step ", replay.growth_since), each.name},
                    {"before", "from", each.before},
                    {"now", "to", each.now},
                    {"each_step", "each step", json_number(each.each_step),
                     "× " + format_number(each.each_step)}});
  }
  return rows;
}

std::string growth_text(const StepReplay& replay) {
  constexpr size_t kRows = 5;
  if (replay.growth.empty()) return "";
  std::vector<Facts> rows = growth_of(replay);
  const size_t more = rows.size() - std::min(kRows, rows.size());
  rows.erase(rows.end() - more, rows.end());
  const auto cells = in_english(tabled(rows, {"name", "before", "now", "each_step"}));
  return aligned(cells, {.left = 1}) + (more > 0 ? absl::StrCat("and ", more, " more\n") : "");
}

std::string bad_text(const StepReplay& replay) {
  const StepEntry& entry = replay.recording->entries[replay.bad->entry];
  const FirstBad& bad = *replay.bad;
  std::string text =
      wrapped_line(absl::StrCat("first bad number: ", entry.describe(), ", op ", bad.entry + 1,
                                " of ", replay.recording->entries.size()));
  const std::string value =
      entry.output.size() == 1
          ? absl::StrCat("its ", entry.output.describe(), " is ", number_text(bad.value))
          : absl::StrCat("element ", place_text(entry.output.shape(), bad.element), " of its ",
                         entry.output.describe(), " is ", number_text(bad.value), "; ",
                         bad.not_finite, " of its ", entry.output.size(),
                         " numbers are not finite");
  absl::StrAppend(&text, wrapped_line(value));
  absl::StrAppend(&text, "computed from\n");
  size_t shown = 0;
  for (const BadOperand& each : bad.operands) {
    if (entry.part == StepPart::kNorm && ++shown > 5) break;
    absl::StrAppend(&text, operand_text(each));
  }
  absl::StrAppend(&text,
                  wrapped_line(absl::StrCat(
                      "likely cause: ", bad.cause.empty() ? "none can be derived. " : bad.cause,
                      replay.advice)));
  return absl::StrCat(text, growth_text(replay));
}

// Ops in the order in which they ran; above them, the place in the model where it changes.
std::string table_text(const StepRecording& recording) {
  std::string text =
      absl::StrFormat("%5s  %-25s %-17s%9s%9s%9s\n", "op", "", "shape", "min", "max", "norm");
  std::string head = "-";
  for (size_t i = 0; i < recording.entries.size(); ++i) {
    const StepEntry& entry = recording.entries[i];
    const std::string here =
        absl::StrCat(name_of(entry.part), entry.path.empty() ? "" : ", ", entry.path);
    if (here != head) absl::StrAppend(&text, here, "\n");
    head = here;
    const NumberRange range = range_of(entry.output.array());
    const std::string name = entry.within.empty() || entry.within == entry.op
                                 ? entry.op
                                 : absl::StrCat(entry.within, ": ", entry.op);
    const std::string what = absl::StrFormat("%-25s %s", name, entry.output.shape().to_string());
    absl::StrAppendFormat(&text, "%5d  %-43s%9.3g%9.3g%9.3g", i + 1, what, range.least,
                          range.greatest, range.norm);
    if (range.not_finite > 0) {
      absl::StrAppendFormat(&text, "\n%7s%d %s", "", range.not_finite,
                            entry.masks() ? "hidden (-inf)" : "not finite");
    }
    text += '\n';
  }
  return text;
}

Json range_json(const NumberRange& range) {
  return {{"min", json_number(range.least)},
          {"max", json_number(range.greatest)},
          {"norm", json_number(range.norm)},
          {"not_finite", range.not_finite}};
}

Json entry_json(const StepEntry& entry) {
  Json json = {{"op", entry.op}, {"part", name_of(entry.part)}, {"path", entry.path}};
  if (!entry.within.empty()) json["within"] = entry.within;
  json["dtype"] = dtype_name(entry.output.dtype());
  json["shape"] = json_sizes(entry.output.shape());
  return json;
}

Json bad_json(const StepRecording& recording, const FirstBad& bad) {
  const StepEntry& entry = recording.entries[bad.entry];
  Json json = entry_json(entry);
  json["number"] = bad.entry + 1;
  json["element"] = index_of(entry.output.shape(), bad.element);
  json["value"] = json_number(bad.value);
  json["not_finite"] = bad.not_finite;
  json["in_f64"] = bad.in_f64 ? json_number(*bad.in_f64) : Json();
  json["operands"] = Json::array();
  for (const BadOperand& each : bad.operands) {
    Json operand = {{"name", each.operand.name},
                    {"parameter", each.operand.is_parameter},
                    {"masked", each.operand.is_masked},
                    {"dtype", dtype_name(each.operand.tensor.dtype())},
                    {"shape", json_sizes(each.operand.tensor.shape())}};
    operand.update(range_json(each.range));
    operand["feeding"] = json_or_null(each.feeding);
    operand["fed"] = Json::array();
    for (const FedElement& fed : each.fed) {
      operand["fed"].push_back({{"element", index_of(each.operand.tensor.shape(), fed.element)},
                                {"value", json_number(fed.value)}});
    }
    json["operands"].push_back(operand);
  }
  json["cause"] = bad.cause;
  return json;
}

}  // namespace

std::string replay_text(const StepReplay& replay, bool with_table) {
  std::string text;
  if (!replay.recording) {
    text = wrapped_line(all_is_finite(replay));
  } else {
    const StepRecording& recording = *replay.recording;
    const bool by_evaluation = !std::isfinite(recording.validation_loss);
    text = wrapped_line(
        absl::StrCat(printable(replay.run), ": step ", replay.step,
                     replay.bad ? " makes a number that is not finite" : ", op by op"));
    if (recording.learning_rate > 0 || !by_evaluation) {
      absl::StrAppend(&text, "loss ", number_text(recording.loss), ", gradient norm ",
                      number_text(recording.grad_norm), ", learning rate ",
                      number_text(recording.learning_rate), "\n");
    }
    if (by_evaluation) {
      absl::StrAppend(&text, "the validation loss after it is ",
                      number_text(recording.validation_loss), "\n");
    }
  }
  if (replay.recording || replay.step > replay.first_step) {
    absl::StrAppend(&text, wrapped_line(how_it_came_there(replay)));
  }
  for (const std::string& note : replay.notes) {
    absl::StrAppend(&text, wrapped_line(printable(note)));
  }
  if (with_table && replay.recording) absl::StrAppend(&text, "\n", table_text(*replay.recording));
  if (replay.bad) absl::StrAppend(&text, "\n", bad_text(replay));
  return text;
}

std::string replay_json(const StepReplay& replay, bool with_table) {
  Json json = {{"run", replay.run},
               {"step", replay.step},
               {"finite", !replay.bad},
               {"checkpoint", replay.checkpoint.empty() ? Json() : Json(replay.checkpoint)},
               {"checkpoint_step", replay.first_step},
               {"compared", replay.compared},
               {"differs_at", json_or_null(replay.differs_at)},
               {"notes", replay.notes}};
  if (replay.recording) {
    json["loss"] = json_number(replay.recording->loss);
    json["grad_norm"] = json_number(replay.recording->grad_norm);
    json["learning_rate"] = json_number(replay.recording->learning_rate);
    if (!std::isfinite(replay.recording->validation_loss)) {
      json["validation_loss"] = json_number(replay.recording->validation_loss);
    }
    json["ops"] = replay.recording->entries.size();
  }
  if (replay.bad) {
    json["first"] = bad_json(*replay.recording, *replay.bad);
    json["advice"] = replay.advice;
    json["growth_since"] = replay.growth_since;
    json["growth"] = json_of(growth_of(replay));
  }
  if (with_table && replay.recording) {
    json["table"] = Json::array();
    for (const StepEntry& entry : replay.recording->entries) {
      Json row = entry_json(entry);
      row.update(range_json(range_of(entry.output.array())));
      json["table"].push_back(row);
    }
  }
  return json_text(json);
}

}  // namespace qkv
