#include "apps/python/binding/run.h"

#include <pybind11/numpy.h>
#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include <filesystem>
#include <limits>
#include <variant>

#include "apps/python/binding/binding.h"
#include "apps/python/binding/long_call.h"
#include "apps/python/binding/results.h"
#include "train/config/config.h"
#include "train/folder/metrics.h"
#include "train/generate/continue_texts.h"

namespace qkv::python {
namespace {

namespace fs = std::filesystem;

// {"model": {"d_model": 64, …}, …}
py::object config_of(const Run& run) {
  return py::module_::import("tomllib").attr("loads")(to_toml(run.loaded.checkpoint.config));
}

py::dict parameters_of_run(const Run& run) {
  py::dict all;
  for (const auto& [name, tensor] : parameters(run.model)) all[py::str(name)] = tensor;
  return all;
}

// A column for each number that some line has; NaN where a line has none.
py::dict metrics_of(const Run& run) {
  const std::string& path = run.loaded.path;
  const fs::path folder = fs::path(path).parent_path().parent_path();
  const std::vector<Metrics> lines = required_of(read_metrics(folder / "metrics.jsonl"));
  const auto count = static_cast<py::ssize_t>(lines.size());
  py::dict columns;
  py::array_t<int64_t> steps(count);
  columns["step"] = steps;
  for (py::ssize_t i = 0; i < count; ++i) {
    const Metrics& line = lines[i];
    steps.mutable_at(i) = line.step;
    for (const auto& [name, number] : metrics_numbers(line)) {
      const py::str key(name);
      if (!columns.contains(key)) {
        py::array_t<double> empty(count);
        std::fill_n(empty.mutable_data(), count, std::numeric_limits<double>::quiet_NaN());
        columns[key] = empty;
      }
      columns[key].cast<py::array_t<double>>().mutable_at(i) = number;
    }
  }
  return columns;
}

using Prompts = std::variant<std::string, std::vector<std::string>>;

// A text for each sample of each prompt.
std::vector<py::str> written_after(const Run& run, const TextsToContinue& texts) {
  Continuations written;
  run_long([&](LongCall& call) {
    written = required_of(continue_texts(
        run.loaded, required_of(run.loaded.model()), texts,
        [](const std::string& /*text*/) { return true; },
        [&](const std::string& text) { call.warn(text); }, call.stop()));
  });
  std::vector<py::str> all;
  for (const Continuation& each : written.all) all.push_back(text_in_python(each.text));
  return all;
}

// "ab" -> "cd"; for a list a list; for several samples a list of them in the place of each text.
py::object generate(const Run& run, const Prompts& prompts, std::optional<int64_t> max_new_tokens,
                    double temperature, int64_t top_k, double top_p, uint64_t seed, int64_t samples,
                    const Prompts& stop, std::optional<int64_t> beam, double length_penalty) {
  const auto in_list = [](const Prompts& given) {
    if (const auto* one = std::get_if<std::string>(&given)) return std::vector{*one};
    return std::get<std::vector<std::string>>(given);
  };
  TextsToContinue texts = {
      .prompts = in_list(prompts),
      .max_new_tokens = max_new_tokens,
      .sampling = {.temperature = temperature, .top_k = top_k, .top_p = top_p, .seed = seed},
      .samples = samples,
      .stops = in_list(stop)};
  if (beam) texts.beam = {.width = *beam, .length_penalty = length_penalty};
  require(check_options(texts));
  const std::vector<py::str> written = written_after(run, texts);
  py::list answers;
  for (size_t i = 0; i < written.size(); i += static_cast<size_t>(samples)) {
    if (samples == 1) {
      answers.append(written[i]);
    } else {
      answers.append(std::vector(written.begin() + i, written.begin() + i + samples));
    }
  }
  return std::holds_alternative<std::string>(prompts) ? py::object(answers[0]) : answers;
}

std::string text_of_run(const Run& run) {
  const Checkpoint& checkpoint = run.loaded.checkpoint;
  return absl::StrCat("<qkv.Run ", run.loaded.path, ": ", checkpoint.config.model.kind, ", ",
                      parameter_count(parameters(run.model)), " parameters, step ",
                      checkpoint.state.step, ">");
}

}  // namespace

std::shared_ptr<Run> load(const std::string& name) {
  const Computing computing;
  LoadedRun loaded = required_of(load_run(name));
  Model model = required_of(loaded.model());
  return std::make_shared<Run>(Run{name, std::move(loaded), std::move(model)});
}

void bind_run(py::module_& m) {
  RunClass bound(m, "Run", "A trained model, and what its run has left.");
  bound
      .def_property_readonly(
          "path", [](const Run& run) { return run.loaded.path; }, "The checkpoint that was read.")
      .def_property_readonly("config", &config_of,
                             "Every value of the config that is read: "
                             "run.config[\"model\"][\"d_model\"].")
      .def_property_readonly("parameters", &parameters_of_run,
                             "The parameters of the model, tensors by their names.")
      .def_property_readonly("metrics", &metrics_of,
                             "The lines of metrics.jsonl as columns: NumPy arrays by name, NaN "
                             "where a line has no such number.")
      .def(
          "encode",
          [](const Run& run, const std::string& text) {
            return required_of(run.loaded.checkpoint.vocabulary.encode(text));
          },
          "text"_a, "The tokens of a text, as the model reads it.")
      .def(
          "decode",
          [](const Run& run, const std::vector<int64_t>& tokens) {
            return text_in_python(run.loaded.checkpoint.vocabulary.decode(tokens));
          },
          "tokens"_a, "The text of tokens.")
      .def(
          "model",
          [](const Run& run, const py::args& inputs) { return call_model(run.model, inputs); },
          "The logits of the model, a row for each token: run.model(tokens), with tokens [T] or "
          "[B, T]; of an encoder-decoder run.model(source, target), of images run.model(pixels). "
          "Their gradients reach run.parameters.")
      .def("generate", &generate, "prompt"_a = "", py::kw_only(), "max_new_tokens"_a = py::none(),
           "temperature"_a = 1.0, "top_k"_a = 0, "top_p"_a = 1.0, "seed"_a = 1, "samples"_a = 1,
           "stop"_a = std::vector<std::string>(), "beam"_a = py::none(), "length_penalty"_a = 0.6,
           "What the model writes after a prompt, with the options of qkv generate: a text; for a "
           "list of prompts a list; with samples = n lists of n texts.")
      .def("__repr__", &text_of_run);
  bind_trace(m, bound);
  m.def(
      "load", [](const fs::path& path) { return load(path.string()); }, "run"_a,
      "Loads a run: its folder, or a checkpoint. Of a folder, the checkpoint with the best "
      "validation loss.");
}

}  // namespace qkv::python
