#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "apps/report/report.h"
#include "apps/report/texts/text.h"
#include "framework/core/text/names.h"
#include "framework/core/text/terminal.h"

namespace qkv {

enum class Numbers {
  kWhole,
  kOdd,
  kMultiples,  // of the least
  kDivisors,   // of the most; 1 is among them where there are several
  kReal
};
template <>
inline constexpr Named<Numbers> kNames<Numbers>[] = {{"whole", Numbers::kWhole},
                                                     {"odd", Numbers::kOdd},
                                                     {"multiples", Numbers::kMultiples},
                                                     {"divisors", Numbers::kDivisors},
                                                     {"real", Numbers::kReal}};

// Numbers that a lab takes. Within its limits nothing takes all the memory, or lacks what the lab
// measures: one token has no order.
struct LabOption {
  std::string name;        // of `--name`
  std::string if_missing;  // "16,64,256"
  Text help;
  double least = 1, most = 999999;
  Numbers numbers = Numbers::kWhole;
  size_t fewest = 1, longest = 1;  // more than one: with commas between, the smaller first
};

// "one whole number from 2 to 64"
Text wanted_by(const LabOption& option);

// The error says what the option takes, and its wrong value.
absl::StatusOr<std::vector<double>> read_option(const LabOption& option, const std::string& text);

struct Lab;

// The control of a section that names no other.
inline constexpr const char* kMainControl = "main";

// The inputs of a lab.
class LabContext {
 public:
  // By the names of options.
  using Values = std::map<std::string, std::vector<double>>;

  // `control`: the name of one; "": nothing is taken out.
  LabContext(const Lab& lab, Values values, std::string control, std::string runs,
             TellProgress tell);

  const Lab& lab() const { return lab_; }

  const std::vector<double>& numbers(const std::string& option) const;
  std::vector<int64_t> integers(const std::string& option) const;
  int64_t integer(const std::string& option) const;                 // the first
  LabContext with(const std::string& option, double number) const;  // the same, but for this
  // One for each of `--seeds`: 101, 102, … The labs were set up with others, which are smaller.
  std::vector<uint64_t> seeds() const;

  // The lab runs without its subject: its sections must then come to another verdict. A lab may
  // have several controls; a section names the one that is its own.
  bool is_control() const { return breaks(kMainControl); }
  bool breaks(const std::string& control) const { return control_ == control; }

  // The folder of trained runs.
  const std::string& runs() const { return runs_; }
  // Reports progress to a person.
  void say(const std::string& what) const { tell_(what); }
  // How many models it has begun to train, with this one.
  int64_t count_training() const { return ++trainings_; }

 private:
  const Lab& lab_;
  Values values_;
  std::string control_;
  std::string runs_;
  TellProgress tell_;
  mutable int64_t trainings_ = 0;
};

// One question to which the lecture notes have an answer, and how it is measured. A file of its
// own in the room of its subject, its texts in NAME.toml beside it, and a line in apps/labs/labs.h.
struct Lab {
  std::string name;                      // "scaling"
  Text question;                         // in a line
  std::map<std::string, Text> controls;  // by their names, what each takes out: "no scale anywhere"
  bool measures_time = false;            // its figures differ each time; its findings do not
  std::vector<LabOption> options;
  std::vector<std::string> settings = {};  // of all its trainings: "data.task=reverse"
  std::vector<Section> (*run)(const LabContext&);
  std::vector<Section> unmeasured = {};  // what it judges without a measurement
};

// Options by their names, as texts. An error names one that the lab does not take, or says which
// values it takes.
absl::StatusOr<LabContext::Values> read_options(const Lab& lab,
                                                const std::map<std::string, std::string>& options);

// A missing option has its default. A control is the lab once more for each of its controls, with
// the sections to which that one belongs.
absl::StatusOr<Report> run_lab(const Lab& lab, const std::map<std::string, std::string>& options,
                               bool is_control, const std::string& runs, const TellProgress& tell);

}  // namespace qkv
