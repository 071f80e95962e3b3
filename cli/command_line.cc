#include "cli/command_line.h"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/cxxopts.h"
#include "cli/verbs.h"
#include "framework/core/error.h"
#include "framework/core/out_of_memory.h"
#include "framework/core/utf8.h"
#include "train/config/config.h"
#include "train/config/mistakes.h"
#include "train/config/suggest.h"

namespace qkv {
namespace {

// Exit statuses.
constexpr int kFailure = 1;
constexpr int kUserError = 2;
constexpr int kInterrupted = 130;

using Strings = std::vector<std::string>;

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
  for (const auto make_verb : kVerbs) {
    const Verb verb = make_verb();
    absl::StrAppendFormat(&text, "  %-11s%-10s%s\n", verb.name, verb.argument, verb.summary);
  }
  return text + "\nqkv VERB --help prints the options of a verb.\n";
}

int exit_status(const absl::Status& status) {
  const bool is_user_error = absl::IsInvalidArgument(status) || absl::IsNotFound(status) ||
                             absl::IsAlreadyExists(status) || absl::IsFailedPrecondition(status);
  return is_user_error ? kUserError : kFailure;
}

// cxxopts takes a name of one letter behind one dash only: --d 16 and --d=16 become -d 16.
Strings with_short_names(int argc, char** argv) {
  Strings words;
  for (int i = 0; i < argc; ++i) {
    const std::string word = argv[i];
    const bool is_letter =
        word.size() > 2 && word.starts_with("--") && absl::ascii_isalpha(word[2]);
    if (is_letter && word.size() == 3) {
      words.push_back(word.substr(1));
    } else if (is_letter && word[3] == '=') {
      words.insert(words.end(), {word.substr(1, 2), word.substr(4)});
    } else {
      words.push_back(word);
    }
  }
  return words;
}

int show_help(const Verb& verb, const std::string& argument, const cxxopts::Options& options) {
  const absl::StatusOr<std::string> more = verb.more_help ? verb.more_help(argument) : "";
  if (!more.ok()) return complain(lines_to_show(more.status()), exit_status(more.status()));
  std::printf("%s%s", options.help({""}).c_str(), more->c_str());
  if (absl::StrContains(verb.argument, "CONFIG")) std::printf("\n%s", config_help().c_str());
  return 0;
}

int run_verb(const Verb& verb, int argc, char** argv) {
  cxxopts::Options options(absl::StrCat("qkv ", verb.name), absl::StrCat(verb.summary, "\n"));
  options.positional_help(verb.argument);
  OptionList list(options);
  verb.add_options(list);
  list.flag("h,help", "Prints this help");
  list.texts("argument", "", "");
  options.parse_positional("argument");
  options.add_options("hidden");
  const Strings words = with_short_names(argc, argv);
  std::vector<const char*> pointers;
  for (const std::string& word : words) pointers.push_back(word.c_str());
  const cxxopts::ParseResult parsed =
      options.parse(static_cast<int>(pointers.size()), pointers.data());
  const Strings arguments =
      parsed.count("argument") > 0 ? parsed["argument"].as<Strings>() : Strings{};
  if (parsed.count("help") > 0) {
    return show_help(verb, arguments.empty() ? "" : arguments[0], options);
  }
  for (const cxxopts::KeyValue& given : parsed.arguments()) {
    if (!given.value().empty() || given.key() == "argument") continue;
    return complain(
        absl::StrCat("--", given.key(), " needs a value; see qkv ", verb.name, " --help"),
        kUserError);
  }
  const size_t max_count = verb.argument.empty() ? 0 : 1,
               min_count = verb.argument.starts_with('[') ? 0 : max_count;
  if (arguments.size() < min_count || arguments.size() > max_count) {
    return complain(absl::StrCat("qkv ", verb.name, " takes ",
                                 max_count == 0   ? "no argument"
                                 : min_count == 0 ? "at most one "
                                                  : "one ",
                                 verb.argument, "; see qkv ", verb.name, " --help"),
                    kUserError);
  }
  const absl::Status status = verb.run(arguments.empty() ? "" : arguments[0], GivenOptions(parsed));
  if (status.ok()) return 0;
  if (absl::IsCancelled(status)) return kInterrupted;
  return complain(lines_to_show(status), exit_status(status));
}

int dispatch(int argc, char** argv) {
  const std::string name = argc > 1 ? argv[1] : "--help";
  if (name == "--help" || name == "-h" || name == "help") {
    std::printf("%s", usage().c_str());
    return argc > 1 ? 0 : kUserError;
  }
  Strings names;
  for (const auto make_verb : kVerbs) {
    const Verb verb = make_verb();
    if (verb.name == name) return run_verb(verb, argc - 1, argv + 1);
    names.push_back(verb.name);
  }
  const std::string near = nearest(name, names);
  return complain(absl::StrCat("there is no verb \"", name, "\"; ",
                               near.empty() ? absl::StrCat("there are ", quoted_list(names))
                                            : absl::StrCat("did you mean \"", near, "\"?")),
                  kUserError);
}

}  // namespace

int run_command_line(int argc, char** argv) {
  try {
    const int status = dispatch(argc, argv);
    const bool is_written = std::fflush(stdout) == 0 && !std::ferror(stdout);
    if (is_written || status == kInterrupted) return status;
    return complain("cannot write to standard output", kFailure);
  } catch (const cxxopts::exceptions::exception& e) {
    return complain(e.what(), kUserError);
  } catch (const std::bad_alloc& e) {
    return complain(OutOfMemory::of(e).what(), kFailure);
  } catch (const std::exception& e) {  // a mistake in qkv itself
    return complain(e.what(), kFailure);
  }
}

}  // namespace qkv
