#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "framework/core/random.h"
#include "lessons/labs/lab_option.h"
#include "lessons/report/report.h"

namespace qkv {

struct Lab;

// What a lab is given.
class LabContext {
 public:
  using Progress = std::function<void(const std::string& what)>;

  // By the names of options.
  using Values = std::map<std::string, std::vector<double>>;

  LabContext(const Lab& lab, Values values, bool is_control, std::string runs, Progress progress);

  const Lab& lab() const { return lab_; }

  const std::vector<double>& numbers(const std::string& option) const;
  std::vector<int64_t> integers(const std::string& option) const;
  int64_t integer(const std::string& option) const;  // the first
  // One for each of `--seeds`: 1 … n.
  std::vector<uint64_t> seeds() const;

  // What the lab is about is to be taken out of it: it must then come to another verdict.
  bool is_control() const { return is_control_; }

  // The folder of trained runs.
  const std::string& runs() const { return runs_; }
  // Tells a person what goes on.
  void say(const std::string& what) const { progress_(what); }
  // How many models it has begun to train, with this one.
  int64_t count_training() const { return ++trainings_; }

 private:
  const Lab& lab_;
  Values values_;
  bool is_control_;
  std::string runs_;
  Progress progress_;
  mutable int64_t trainings_ = 0;
};

// One question to which the lecture notes have an answer, and how it is measured. A file of its
// own, lessons/labs/NAME.cc, a table in lessons/labs/texts/labs.toml, and a line in
// lessons/labs/labs.h.
struct Lab {
  std::string name;            // "scaling"
  std::string question;        // in a line
  std::string control;         // what is_control() takes out of it: "no scale anywhere"
  std::string duration;        // on two cores: "1 s", "2 min"
  bool measures_time = false;  // its figures differ each time; its findings do not
  std::vector<LabOption> options;
  std::vector<std::string> settings = {};  // of all its trainings: "data.task=reverse"
  std::vector<Section> (*run)(const LabContext&);
};

// Options by their names, as texts. An error names one that the lab does not take, or says what it
// may be.
absl::StatusOr<LabContext::Values> read_options(const Lab& lab,
                                                const std::map<std::string, std::string>& options);

// What is missing has its default.
absl::StatusOr<Report> run_lab(const Lab& lab, const std::map<std::string, std::string>& options,
                               bool is_control, const std::string& runs,
                               const LabContext::Progress& progress);

}  // namespace qkv
