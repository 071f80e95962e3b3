#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include <filesystem>
#include <map>
#include <variant>

#include "apps/python/binding/binding.h"
#include "apps/python/binding/config_of_dict.h"
#include "apps/python/binding/long_call.h"
#include "apps/python/binding/results.h"
#include "apps/python/binding/run.h"
#include "framework/core/text/terminal.h"
#include "train/loop/train.h"

namespace qkv::python {
namespace {

// An object of Python with some of the methods of a RunListener; or a function, which is called as
// report() is.
class ListenerInPython final : public RunListener {
 public:
  ListenerInPython(py::object listener, LongCall& call) : call_(call) {
    if (listener.is_none()) return;
    for (const char* name : {"before_step", "after_step", "evaluating", "report"}) {
      if (py::hasattr(listener, name)) methods_[name] = listener.attr(name);
    }
    if (methods_.empty() && PyCallable_Check(listener.ptr())) methods_["report"] = listener;
    if (methods_.empty()) {
      fail(
          "train: the listener is not a function, and has no method before_step, after_step, "
          "evaluating or report");
    }
  }

  void before_step() override { tell("before_step"); }
  absl::Status after_step() override {
    tell("after_step");
    return absl::OkStatus();
  }
  void evaluating(const std::string& what) override { tell("evaluating", what); }
  void report(const StepReport& step) override { tell("report", step); }

 private:
  // After an exception it is not called again.
  template <class... Arguments>
  void tell(const char* name, const Arguments&... arguments) {
    const auto method = methods_.find(name);
    if (method == methods_.end() || has_failed_) return;
    call_.in_caller([&] {
      has_failed_ = true;
      method->second(arguments...);
      has_failed_ = false;
    });
  }

  LongCall& call_;
  std::map<std::string, py::object> methods_;
  bool has_failed_ = false;
};

// Where the person is who reads standard output: at a terminal, or else at what Python prints to.
bool prints_to_terminal() {
  const py::module_ sys = py::module_::import("sys");
  return sys.attr("stdout").is(sys.attr("__stdout__")) && is_terminal(stdout);
}

using ConfigOrPath = std::variant<py::dict, std::filesystem::path>;

std::shared_ptr<Run> train(const ConfigOrPath& config,
                           const std::optional<std::filesystem::path>& out, bool resume,
                           const py::dict& overrides, const py::object& listener, bool profile,
                           bool quiet) {
  TrainingRunOptions options = {
      .out = out.value_or("").string(), .resume = resume, .profile = profile};
  const std::vector<std::string> set = overrides_of(overrides);
  const auto* const dict = std::get_if<py::dict>(&config);
  const LoadedConfig loaded =
      dict ? config_of_dict(*dict, set)
           : required_of(
                 config_to_train(std::get<std::filesystem::path>(config).string(), set, options));
  if (options.out.empty()) options.out = absl::StrCat("runs/", loaded.config.name);
  const bool is_on_terminal = prints_to_terminal();
  if (is_on_terminal) py::module_::import("sys").attr("stdout").attr("flush")();
  // Outlives the call, and is destroyed with Python's lock.
  std::unique_ptr<ListenerInPython> told;
  run_long([&](LongCall& call) {
    call.in_caller([&] { told = std::make_unique<ListenerInPython>(listener, call); });
    if (call.stop().stop_requested()) return;
    PythonStream stream;
    if (quiet) {
      stream.reset(std::fopen("/dev/null", "w"));
    } else if (!is_on_terminal) {
      stream = python_output(call);
    }
    options.stop = call.stop();
    options.listeners = {told.get()};
    options.output = stream ? stream.get() : stdout;
    require(run_training(loaded, options).status());
  });
  return load(options.out);
}

py::dict metrics_of_step(const StepReport& step) {
  py::dict numbers("step"_a = step.metrics.step);
  for (const auto& [name, number] : metrics_numbers(step.metrics)) numbers[py::str(name)] = number;
  return numbers;
}

}  // namespace

void bind_training(py::module_& m) {
  py::class_<StepReport>(m, "StepReport", "The results of a step.")
      .def_property_readonly("step", [](const StepReport& report) { return report.metrics.step; })
      .def_property_readonly("metrics", &metrics_of_step,
                             "The numbers of a line of metrics.jsonl, by name.")
      .def_readonly("logged", &StepReport::logged, "Whether it belongs into the files of the run.")
      .def_readonly("evaluated", &StepReport::evaluated, "Whether an evaluation was due.")
      .def_property_readonly(
          "samples", [](const StepReport& report) { return text_in_python(report.samples); },
          "What the model answered in the evaluation.");
  m.def("train", &train, "config"_a, py::kw_only(), "out"_a = py::none(), "resume"_a = false,
        "overrides"_a = py::dict(), "listener"_a = py::none(), "profile"_a = false,
        "quiet"_a = false,
        "Trains as qkv train does, and returns the run. The config is a file, or a dict: "
        "{\"model\": {\"d_model\": 64}} or {\"model.d_model\": 64}. `overrides` is one, too. "
        "`listener` is a function, which gets a StepReport after each step, or an object with some "
        "of the methods before_step(), after_step(), evaluating(text) and report(step). Ctrl-C "
        "saves where the run stands; resume=True continues it. So does an exception in the "
        "listener, which comes out. `quiet`: nothing is printed.");
}

}  // namespace qkv::python
