#include "cli/command_line.h"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/bench_command.h"
#include "cli/commands.h"
#include "cli/gradcheck_command.h"
#include "framework/core/error.h"
#include "framework/core/out_of_memory.h"
#include "framework/core/utf8.h"
#include "train/config/config.h"
#include "train/config/mistakes.h"
#include "train/config/option_values.h"
#include "train/config/suggest.h"

namespace qkv {
namespace {

constexpr int kWentWrong = 1;
constexpr int kWrittenWrong = 2;
constexpr int kInterruptedStatus = 130;

struct Verb {
  std::string name;
  std::string argument;  // "CONFIG"; "[CONFIG]" where it may be left out; "" where there is none
  std::string summary;
  void (*add_options)(cxxopts::Options&);
  absl::StatusOr<RunOutcome> (*run)(const std::string& argument, const cxxopts::ParseResult&);
};

using Strings = std::vector<std::string>;

void no_options(cxxopts::Options&) {}

void set_option(cxxopts::Options& options) {
  options.add_options()("set", "Overrides a value: --set model.d_model=128; may be repeated",
                        cxxopts::value<Strings>(), "KEY=VALUE");
}

Strings overrides(const cxxopts::ParseResult& parsed) {
  return parsed.count("set") > 0 ? parsed["set"].as<Strings>() : Strings{};
}

absl::StatusOr<RunOutcome> outcome(const absl::Status& status) {
  if (!status.ok()) return status;
  return RunOutcome::kFinished;
}

absl::StatusOr<Split> split_of(const cxxopts::ParseResult& parsed) {
  const auto name = parsed["split"].as<std::string>();
  if (name == "val") return Split::kValidation;
  if (name == "train") return Split::kTraining;
  return absl::InvalidArgumentError(
      absl::StrCat("--split: there is no \"", name, "\"; there are val and train"));
}

void split_option(cxxopts::Options& options) {
  options.add_options()("split", "val or train",
                        cxxopts::value<std::string>()->default_value("val"), "PART");
}

const std::vector<Verb>& verbs() {
  static const std::vector<Verb> all = {
      {"train", "CONFIG", "trains; writes a folder, by default runs/NAME",
       [](cxxopts::Options& options) {
         set_option(options);
         options.add_options()("out", "The run's folder", cxxopts::value<std::string>(), "DIR")(
             "resume", "Goes on with the run in that folder", switch_value("resume"))(
             "profile", "Writes where the time of some steps goes: profile.txt, trace.json",
             switch_value("profile"));
       },
       [](const std::string& config, const cxxopts::ParseResult& parsed) {
         TrainingRunOptions options;
         if (parsed.count("out") > 0) options.out = parsed["out"].as<std::string>();
         options.resume = parsed.count("resume") > 0;
         options.profile = parsed.count("profile") > 0;
         return train_command(config, overrides(parsed), options);
       }},
      {"eval", "RUN", "the loss and accuracy of a run's best checkpoint",
       [](cxxopts::Options& options) {
         split_option(options);
         options.add_options()("set",
                               "Overrides a value of [data]: --set data.validation_length=20",
                               cxxopts::value<Strings>(),
                               "KEY=VALUE")("json", "One JSON object", switch_value("json"));
       },
       [](const std::string& run, const cxxopts::ParseResult& parsed) {
         const absl::StatusOr<Split> split = split_of(parsed);
         if (!split.ok()) return outcome(split.status());
         return outcome(eval_command(run, *split, overrides(parsed), parsed.count("json") > 0));
       }},
      {"generate", "RUN", "continues a text, or answers a question",
       [](cxxopts::Options& options) {
         options.add_options()("prompt", "The text to go on from", cxxopts::value<std::string>(),
                               "TEXT")(
             "max-new-tokens", "How many tokens to write; by default 200 of a text, or an answer",
             number_value<int64_t>("max-new-tokens"),
             "N")("temperature", "Below 1: safer; 0: always the most likely token",
                  number_value<double>("temperature")->default_value("1.0"),
                  "T")("top-k", "Only the K most likely tokens; 0: all",
                       number_value<int64_t>("top-k")->default_value("0"),
                       "K")("top-p", "Only the most likely tokens that together have probability P",
                            number_value<double>("top-p")->default_value("1.0"),
                            "P")("seed", "Another seed, another text",
                                 number_value<uint64_t>("seed")->default_value("1"), "S");
       },
       [](const std::string& run, const cxxopts::ParseResult& parsed) {
         GenerateOptions options;
         if (parsed.count("prompt") > 0) options.prompt = parsed["prompt"].as<std::string>();
         if (parsed.count("max-new-tokens") > 0) {
           options.max_new_tokens = parsed["max-new-tokens"].as<int64_t>();
         }
         options.sampling = {.temperature = parsed["temperature"].as<double>(),
                             .top_k = parsed["top-k"].as<int64_t>(),
                             .top_p = parsed["top-p"].as<double>(),
                             .seed = parsed["seed"].as<uint64_t>()};
         return outcome(generate_command(run, options));
       }},
      {"data", "CONFIG", "shows the examples a config makes, or writes its batches",
       [](cxxopts::Options& options) {
         set_option(options);
         split_option(options);
         options.add_options()("samples", "How many to show",
                               number_value<int64_t>("samples")->default_value("5"), "N")(
             "export", "Writes batches to a safetensors file", cxxopts::value<std::string>(),
             "FILE")("batches", "How many to write",
                     number_value<int64_t>("batches")->default_value("10"), "N");
       },
       [](const std::string& config, const cxxopts::ParseResult& parsed) {
         const absl::StatusOr<Split> split = split_of(parsed);
         if (!split.ok()) return outcome(split.status());
         DataCommandOptions options{.split = *split,
                                    .samples = parsed["samples"].as<int64_t>(),
                                    .export_file = "",
                                    .batches = parsed["batches"].as<int64_t>()};
         if (parsed.count("export") > 0) options.export_file = parsed["export"].as<std::string>();
         return outcome(data_command(config, overrides(parsed), options));
       }},
      {"gradcheck", "", "checks the gradients of ops, layers and models",
       [](cxxopts::Options& options) {
         const auto text = [] { return cxxopts::value<std::string>(); };
         const auto number = [](const char* option) {
           return number_value<int64_t>(option)->default_value("1");
         };
         options.add_options()  //
             ("op", "An op, layer or model by its name; may be repeated", cxxopts::value<Strings>(),
              "NAME")  //
             ("config", "Checks the model of a config and its loss, every parameter", text(),
              "CONFIG")                                                                     //
             ("order", "2: the derivatives of the derivatives, too", number("order"), "N")  //
             ("mutate", "Plants mistakes in the backward formulas: each must be caught",
              switch_value("mutate"))                                               //
             ("coverage", "What each op is checked for", switch_value("coverage"))  //
             ("sweep", "Writes the error against the step, and shows its picture", text(),
              "FILE.csv")                                                               //
             ("seed", "Another seed, another point", number("seed"), "S")               //
             ("seeds", "How many points, from --seed on", number("seeds"), "N")         //
             ("json", "Writes the whole report; - is standard output", text(), "FILE")  //
             ("verbose", "The reports of those that pass, too", switch_value("verbose"));
         set_option(options);
       },
       [](const std::string&, const cxxopts::ParseResult& parsed) {
         GradcheckCommandOptions options;
         if (parsed.count("op") > 0) options.names = parsed["op"].as<Strings>();
         if (parsed.count("config") > 0) options.config = parsed["config"].as<std::string>();
         options.overrides = overrides(parsed);
         options.order = parsed["order"].as<int64_t>();
         options.seed = parsed["seed"].as<int64_t>();
         options.seeds = parsed["seeds"].as<int64_t>();
         if (parsed.count("sweep") > 0) options.sweep = parsed["sweep"].as<std::string>();
         if (parsed.count("json") > 0) options.json = parsed["json"].as<std::string>();
         options.mutate = parsed.count("mutate") > 0;
         options.coverage = parsed.count("coverage") > 0;
         options.verbose = parsed.count("verbose") > 0;
         return outcome(gradcheck_command(options));
       }},
      {"bench", "[CONFIG]", "how long a training step takes, and what takes it",
       [](cxxopts::Options& options) {
         set_option(options);
         options.add_options()("shape", "Instead of a CONFIG: toy, small or mini",
                               cxxopts::value<std::string>()->default_value(""), "NAME")(
             "suite", "Instead: every shape in f32 and bf16, long contexts, generation",
             switch_value("suite"))("precision", "As --set train.precision",
                                    cxxopts::value<std::string>(), "TYPE")(
             "steps", "How many to measure; by default 60", number_value<int64_t>("steps"), "N")(
             "json", "One JSON object", switch_value("json"))(
             "generation", "How fast it writes, instead: with the key/value cache and without",
             switch_value("generation"));
       },
       [](const std::string& config, const cxxopts::ParseResult& parsed) {
         BenchOptions options{.config = config,
                              .shape = parsed["shape"].as<std::string>(),
                              .suite = parsed.count("suite") > 0,
                              .overrides = overrides(parsed),
                              .precision = "",
                              .steps = std::nullopt,
                              .generation = parsed.count("generation") > 0,
                              .json = parsed.count("json") > 0};
         if (parsed.count("steps") > 0) options.steps = parsed["steps"].as<int64_t>();
         if (parsed.count("precision") > 0) {
           options.precision = parsed["precision"].as<std::string>();
         }
         return outcome(bench_command(options));
       }},
      {"config", "CONFIG", "the whole config, each value with where it came from", set_option,
       [](const std::string& config, const cxxopts::ParseResult& parsed) {
         return outcome(config_command(config, overrides(parsed)));
       }},
      {"info", "FILE", "what is in a checkpoint", no_options,
       [](const std::string& file, const cxxopts::ParseResult&) {
         return outcome(info_command(file));
       }},
  };
  return all;
}

int complain(const std::vector<std::string>& lines, int exit_status) {
  std::fflush(stdout);
  for (const std::string& line : lines) std::fprintf(stderr, "error: %s\n", line.c_str());
  return exit_status;
}

int complain(const std::string& message, int exit_status) {
  return complain(std::vector<std::string>{printable(message)}, exit_status);
}

std::string usage() {
  std::string text =
      "qkv trains small transformers and shows how they learn.\n\nUsage: qkv VERB [arguments]\n\n";
  for (const Verb& verb : verbs()) {
    absl::StrAppendFormat(&text, "  %-11s%-10s%s\n", verb.name, verb.argument, verb.summary);
  }
  return text + "\nqkv VERB --help says more.\n";
}

int exit_status(const absl::Status& status) {
  const bool users_words = absl::IsInvalidArgument(status) || absl::IsNotFound(status) ||
                           absl::IsAlreadyExists(status) || absl::IsFailedPrecondition(status);
  return users_words ? kWrittenWrong : kWentWrong;
}

int run_verb(const Verb& verb, int argc, char** argv) {
  cxxopts::Options options(absl::StrCat("qkv ", verb.name), absl::StrCat(verb.summary, "\n"));
  options.positional_help(verb.argument);
  verb.add_options(options);
  options.add_options()("h,help", "Says this", switch_value("help"))("argument", "",
                                                                     cxxopts::value<Strings>());
  options.parse_positional("argument");
  options.add_options("hidden");
  const cxxopts::ParseResult parsed = options.parse(argc, argv);
  if (parsed.count("help") > 0) {
    std::printf("%s", options.help({""}).c_str());
    if (absl::StrContains(verb.argument, "CONFIG")) std::printf("\n%s", config_help().c_str());
    return 0;
  }
  for (const cxxopts::KeyValue& given : parsed.arguments()) {
    if (!given.value().empty() || given.key() == "argument") continue;
    return complain(
        absl::StrCat("--", given.key(), " needs a value; see qkv ", verb.name, " --help"),
        kWrittenWrong);
  }
  const Strings arguments =
      parsed.count("argument") > 0 ? parsed["argument"].as<Strings>() : Strings{};
  const size_t most = verb.argument.empty() ? 0 : 1,
               least = verb.argument.starts_with('[') ? 0 : most;
  if (arguments.size() < least || arguments.size() > most) {
    return complain(absl::StrCat("qkv ", verb.name, " takes ",
                                 most == 0    ? "no argument"
                                 : least == 0 ? "at most one "
                                              : "one ",
                                 verb.argument, "; see qkv ", verb.name, " --help"),
                    kWrittenWrong);
  }
  const absl::StatusOr<RunOutcome> result = verb.run(arguments.empty() ? "" : arguments[0], parsed);
  if (!result.ok()) return complain(lines_to_show(result.status()), exit_status(result.status()));
  return *result == RunOutcome::kInterrupted ? kInterruptedStatus : 0;
}

int dispatch(int argc, char** argv) {
  const std::string name = argc > 1 ? argv[1] : "--help";
  if (name == "--help" || name == "-h" || name == "help") {
    std::printf("%s", usage().c_str());
    return argc > 1 ? 0 : kWrittenWrong;
  }
  Strings names;
  for (const Verb& verb : verbs()) {
    if (verb.name == name) return run_verb(verb, argc - 1, argv + 1);
    names.push_back(verb.name);
  }
  const std::string near = nearest(name, names);
  return complain(absl::StrCat("there is no verb \"", name, "\"; ",
                               near.empty() ? absl::StrCat("there are ", quoted_list(names))
                                            : absl::StrCat("did you mean \"", near, "\"?")),
                  kWrittenWrong);
}

}  // namespace

int run_command_line(int argc, char** argv) {
  try {
    const int status = dispatch(argc, argv);
    if (std::fflush(stdout) == 0 && !std::ferror(stdout)) return status;
    return complain("cannot write to standard output", kWentWrong);
  } catch (const cxxopts::exceptions::exception& e) {
    return complain(e.what(), kWrittenWrong);
  } catch (const std::bad_alloc& e) {
    return complain(OutOfMemory::of(e).what(), kWentWrong);
  } catch (const std::exception& e) {  // a mistake in qkv itself
    return complain(e.what(), kWentWrong);
  }
}

}  // namespace qkv
