#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include <filesystem>
#include <map>

#include "apps/lesson/fitted_page.h"
#include "apps/lesson/lesson_of_run.h"
#include "apps/lesson/tape.h"
#include "apps/lesson/walk.h"
#include "apps/python/binding/binding.h"
#include "apps/python/binding/long_call.h"
#include "apps/python/binding/results.h"
#include "apps/python/binding/run.h"
#include "framework/io/files.h"
#include "train/config/suggest.h"

namespace qkv::python {
namespace {

constexpr int kFrameHeight = 720;
constexpr int64_t kBytesOfMegabyte = 1000000, kMegabytesOfPage = 2;

// One example, and all that its model computed from it, forward and back.
struct TracedExample {
  std::string run;
  Lesson lesson;
  Recording recording;
  std::vector<std::string> names = {};  // in the order in which they were computed
  std::map<std::string, ValueId> ids = {};
};

void add_names(TracedExample& traced) {
  const Tape& tape = traced.recording.tape;
  const auto add = [&](const std::string& name, ValueId id) {
    if (traced.ids.emplace(name, id).second) traced.names.push_back(name);
  };
  for (ValueId id = 0; id < std::ssize(tape.values); ++id) {
    if (!tape[id].name.empty()) add(tape[id].name, id);
    for (const std::string& path : tape[id].paths) add(path, id);
  }
}

absl::Status check_example(const RunExample& example) {
  if (example.target && !example.prompt) {
    return absl::InvalidArgumentError("--target needs --prompt");
  }
  if (example.prompt && example.validation) {
    return absl::InvalidArgumentError(
        "--prompt and --validation exclude each other: both say what the model reads");
  }
  return absl::OkStatus();
}

TracedExample trace(const Run& run, const RunExample& example, const Beginning& beginning) {
  require(check_example(example));
  std::optional<TracedExample> traced;
  run_long([&](LongCall& call) {
    const Stoppable stoppable(call.stop());
    const auto tell = [&](const std::string& note) { call.warn(note); };
    Lesson lesson = required_of(lesson_of_run(run.loaded, example, tell));
    require(check_memory(lesson.config.model, lesson.model.data(), lesson.batch, lesson.form(),
                         /*as_text=*/true));
    Recording recording = record(lesson.model, lesson.batch, lesson.form());
    require(begin_at(beginning, recording, lesson));
    for (const std::string& warning : warnings_of(lesson, recording)) call.warn(warning);
    traced = TracedExample{run.name, std::move(lesson), std::move(recording)};
  });
  add_names(*traced);
  return *std::move(traced);
}

ValueId id_of(const TracedExample& traced, const std::string& name) {
  const auto found = traced.ids.find(name);
  if (found != traced.ids.end()) return found->second;
  const std::string near = nearest(name, traced.names);
  fail(absl::StrCat("the trace has no \"", name, "\"; ",
                    near.empty() ? "trace.names() lists what it has"
                                 : absl::StrCat("did you mean \"", near, "\"?")));
}

Tensor value_named(const TracedExample& traced, const std::string& name) {
  return traced.recording.tape[id_of(traced, name)].tensor.detached();
}

Tensor gradient_named(const TracedExample& traced, const std::string& name) {
  const Tape& tape = traced.recording.tape;
  const std::optional<ValueId> gradient = tape[id_of(traced, name)].gradient;
  if (!gradient) fail(absl::StrCat("the trace has no gradient of \"", name, "\""));
  return tape[*gradient].tensor.detached();
}

std::string page_of(const TracedExample& traced, int64_t megabytes) {
  if (megabytes < 1 || megabytes > 500) {
    fail(absl::StrCat("max_size must be between 1 and 500, not ", megabytes));
  }
  std::string page;
  run_long([&](LongCall& call) {
    Lesson lesson = traced.lesson;
    const auto note = [&](const std::string& text) { call.warn(text); };
    add_history(traced.run, traced.recording, megabytes, lesson, note, tell_nobody);
    page = fitted_page(traced.recording, lesson, megabytes * kBytesOfMegabyte, note);
  });
  return page;
}

std::filesystem::path explain(const TracedExample& traced,
                              const std::optional<std::filesystem::path>& file, int64_t megabytes) {
  std::filesystem::path path = file.value_or(traced.lesson.config.name + ".html");
  require(write_file_atomically(path.string(), page_of(traced, megabytes)));
  return path;
}

}  // namespace

void bind_trace(py::module_& m, RunClass& bound) {
  py::class_<TracedExample>(
      m, "Trace",
      "One example, and every number that a model computed from it, in f64: "
      "forward, and back from the loss. A notebook shows the page of qkv explain.")
      .def("__getitem__", &value_named, "name"_a)
      .def(
          "__contains__",
          [](const TracedExample& traced, const std::string& name) {
            return traced.ids.contains(name);
          },
          "name"_a)
      .def("__len__", [](const TracedExample& traced) { return traced.names.size(); })
      .def("__iter__", [](const TracedExample& traced) { return py::iter(py::cast(traced.names)); })
      .def(
          "names", [](const TracedExample& traced) { return traced.names; },
          "The names of all tensors: of parameters, inputs and what layers compute.")
      .def("gradient", &gradient_named, "name"_a, "The derivative of the loss by a tensor.")
      .def_property_readonly(
          "loss", [](const TracedExample& traced) { return traced.recording.whole_loss; })
      .def("explain", &explain, "file"_a = py::none(), py::kw_only(),
           "max_size"_a = kMegabytesOfPage,
           "Writes the page of qkv explain, of at most max_size megabytes; by default NAME.html. "
           "Returns its path.")
      .def("__str__",
           [](const TracedExample& traced) { return lesson_walk(traced.recording, traced.lesson); })
      .def("__repr__",
           [](const TracedExample& traced) {
             return absl::StrCat("<qkv.Trace of ", traced.run, ": ", traced.names.size(),
                                 " tensors, loss ", traced.recording.whole_loss, ">");
           })
      .def("_repr_html_", [](const TracedExample& traced) {
        return framed(page_of(traced, kMegabytesOfPage), kFrameHeight);
      });
  bound.def(
      "trace",
      [](const Run& self, std::optional<std::string> prompt, std::optional<std::string> target,
         std::optional<int64_t> validation, std::optional<int64_t> layer,
         std::optional<int64_t> head, std::optional<int64_t> position) {
        return trace(
            self,
            {.prompt = std::move(prompt), .target = std::move(target), .validation = validation},
            {.layer = layer, .head = head, .position = position});
      },
      "prompt"_a = py::none(), py::kw_only(), "target"_a = py::none(), "validation"_a = py::none(),
      "layer"_a = py::none(), "head"_a = py::none(), "position"_a = py::none(),
      "Every number of one example, forward and backward: a prompt and the target that should "
      "follow it, or else a validation example. The options are those of qkv explain.");
}

}  // namespace qkv::python
