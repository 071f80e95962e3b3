// What is written for a person: no line is wider than the terminal, colours are for a terminal
// alone, and --json means the same in every verb.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "framework/core/text/columns.h"
#include "tests/command_line_fixture.h"

namespace qkv {
namespace {

using testing::HasSubstr;
using testing::Not;
using Words = std::vector<std::string>;

const Words kTinySteps = {"--set", "train.steps=4",
                          "--set", "train.eval_interval=2",
                          "--set", "data.validation_examples=20"};

Words operator+(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

class TerminalVerbTest : public CommandLineFixture {
 protected:
  void SetUp() override {
    expect_success(qkv(Words{"train", "tiny.toml"} + kTinySteps));
    expect_success(qkv(Words{"train", "tiny.toml", "--set", "seed=2", "--out",
                             "runs/a-run-with-a-name-that-is-rather-long"} +
                       kTinySteps));
  }

  // Without those of apps that are not there.
  static std::vector<Words> of_the_tree(std::vector<Words> commands) {
    std::erase_if(commands, [](const Words& command) {
      return command[0] != "--help" && !has_verb(command[0]);
    });
    return commands;
  }

  // The verbs that show something of a config or of a run.
  static std::vector<Words> commands() {
    const std::string other = "runs/a-run-with-a-name-that-is-rather-long";
    return of_the_tree(
        {{"--help"},
         Words{"train", "tiny.toml", "--out", "runs/again"} + kTinySteps,
         {"eval", "runs/tiny"},
         {"eval", "runs/tiny", other},
         {"eval", "runs/tiny", "--attention", "="},
         {"runs"},
         {"compare", "runs/tiny", other},
         {"info", "runs/tiny"},
         {"doctor", "tiny.toml"},
         {"replay", "runs/tiny"},
         {"replay", "runs/tiny", "--step", "3"},
         {"config", "tiny.toml"},
         {"config", "tiny.toml", "--summary"},
         {"data", "tiny.toml"},
         {"bench", "tiny.toml", "--steps", "2"},
         Words{"sweep", "tiny.toml", "--set", "optimizer.learning_rate=1e-3,1e-4"} + kTinySteps,
         {"gradcheck", "--op", "softmax"},
         {"gradcheck", "--op", "softmax", "--verbose"},
         {"gradcheck", "--op", "exp", "--mutate"},
         {"explain", "--example", "three-words", "--text"},
         {"lab"},
         {"lab", "order"},
         {"plot", "runs/tiny", other},
         {"report", "runs/tiny", "--out", "report.html"}});
  }

  // In a terminal that has so many columns, which gets errors and progress, too.
  std::string in_terminal(const Words& arguments, int columns, const Words& environment = {}) {
    const Words command = Words{"/usr/bin/env", "-u", "NO_COLOR", "-u", "COLUMNS", "TERM=xterm"} +
                          environment +
                          Words{"/bin/sh", "-c", "exec \"$@\" 2>&1", "sh", QKV_BINARY} + arguments;
    return run_process(command, {.folder = folder_.path(), .in_terminal = true, .columns = columns})
        .output;
  }
};

// Without the codes of colours, and of a line that is written over all but its last text.
std::string as_seen(const std::string& line) {
  const size_t begin = line.rfind("\r\x1b[K");
  const std::string last = begin == std::string::npos ? line : line.substr(begin);
  return std::regex_replace(last, std::regex("\r|\x1b\\[[0-9;]*[mK]"), "");
}

void expect_width(const std::string& output, int64_t columns, const Words& command) {
  for (const std::string& line : Words(absl::StrSplit(output, '\n'))) {
    EXPECT_LE(text_width(as_seen(line)), columns) << absl::StrJoin(command, " ") << "\n" << line;
    for (const std::string& shown : Words(absl::StrSplit(line, "\r\x1b[K"))) {
      EXPECT_LE(text_width(as_seen(shown)), columns) << "progress of " << command[0];
    }
  }
}

TEST_F(TerminalVerbTest, APipeGetsEightyColumnsAndNoColours) {
  for (const Words& command : commands()) {
    const ProcessResult result = qkv(command);
    if (command[0] != "doctor") expect_success(result);  // it may not like so small a config
    expect_width(result.output, 80, command);
    EXPECT_THAT(result.output + result.errors, Not(HasSubstr("\x1b"))) << command[0];
    EXPECT_THAT(result.output, Not(HasSubstr("\r"))) << command[0];
  }
}

TEST_F(TerminalVerbTest, ATerminalGetsItsOwnWidth) {
  for (const Words& command : of_the_tree(
           {Words{"--help"}, Words{"gradcheck", "--help"}, Words{"train", "--help"}, Words{"runs"},
            Words{"eval", "runs/tiny", "runs/tiny"}, Words{"info", "runs/tiny"},
            Words{"config", "tiny.toml", "--summary"}, Words{"lab", "order"},
            Words{"compare", "runs/tiny", "runs/a-run-with-a-name-that-is-rather-long"},
            Words{"train", "tiny.toml", "--out", "runs/again"} + kTinySteps})) {
    expect_width(in_terminal(command, 60), 60, command);
  }
  expect_width(in_terminal({"train", "--help"}, 80, {"COLUMNS=60"}), 60, {"COLUMNS=60"});
}

TEST_F(TerminalVerbTest, ColoursAreForATerminalThatHasSomeAndWantsThem) {
  EXPECT_THAT(in_terminal({"eval", "none"}, 80), HasSubstr("\x1b[1;31merror\x1b[0m: none: "));
  NEEDS_VERBS("gradcheck", "runs");
  const Words check = {"gradcheck", "--op", "exp"};
  EXPECT_THAT(in_terminal(check, 80), HasSubstr("\x1b[32mPASS\x1b[0m"));
  EXPECT_THAT(in_terminal(check, 80, {"NO_COLOR=1"}), Not(HasSubstr("\x1b[32m")));
  EXPECT_THAT(in_terminal(check, 80, {"TERM=dumb"}), Not(HasSubstr("\x1b")));
  EXPECT_THAT(in_terminal({"runs", "--json", "-"}, 80), Not(HasSubstr("\x1b")));
}

TEST_F(TerminalVerbTest, AWaitSaysHowFarItIs) {
  EXPECT_THAT(in_terminal({"eval", "runs/tiny"}, 80),
              HasSubstr("\r\x1b[Kruns/tiny: evaluated 4 of 4 examples"));
  NEEDS_VERBS("gradcheck", "bench", "explain", "doctor");
  EXPECT_THAT(in_terminal({"gradcheck", "--config", "tiny.toml"}, 80),
              HasSubstr("\r\x1b[Kchecking tiny: order 1: differences"));
  EXPECT_THAT(in_terminal({"gradcheck", "--op", "exp", "--mutate"}, 80),
              HasSubstr("\r\x1b[Kchecking exp, 1 of 1 functions: "));
  EXPECT_THAT(in_terminal({"bench", "tiny.toml", "--steps", "6"}, 80),
              HasSubstr("\r\x1b[Kmeasured 5 of 6 steps"));
  EXPECT_THAT(in_terminal({"explain", "runs/tiny"}, 80), HasSubstr("\r\x1b[Kmaking the page"));
  EXPECT_THAT(in_terminal({"doctor", "tiny.toml"}, 80), HasSubstr("\r\x1b[Klooking at "));
}

TEST_F(TerminalVerbTest, JsonIsAFileBesideTheTextOrStandardOutputAlone) {
  for (const Words& command :
       of_the_tree({Words{"eval", "runs/tiny"}, Words{"eval", "runs/tiny", "runs/tiny"},
                    Words{"runs"}, Words{"compare", "runs/tiny", "runs/tiny"},
                    Words{"doctor", "tiny.toml"}, Words{"bench", "tiny.toml", "--steps", "1"},
                    Words{"bench", "tiny.toml", "--generation"},
                    Words{"sweep", "tiny.toml", "--set", "seed=1,2"} + kTinySteps,
                    Words{"gradcheck", "--op", "exp"}, Words{"explain", "runs/tiny"},
                    Words{"lab", "order"}})) {
    SCOPED_TRACE(absl::StrJoin(command, " "));
    const ProcessResult only = qkv(command + Words{"--json", "-"});
    EXPECT_TRUE(nlohmann::json::accept(only.output)) << only.output.substr(0, 200);
    for (int i = 0; i < 2; ++i) {  // a file of the same kind is replaced
      const ProcessResult both = qkv(command + Words{"--json", "out.json"});
      EXPECT_EQ(both.exit_status, only.exit_status) << both.errors;
      EXPECT_TRUE(nlohmann::json::accept(in("out.json")));
      EXPECT_FALSE(nlohmann::json::accept(both.output));
    }
    EXPECT_EQ(qkv(command + Words{"--json", "tiny.toml"}).exit_status, 2);
    EXPECT_EQ(in("tiny.toml"), kConfig) << "another file is not replaced";
    std::filesystem::remove(folder_ / "out.json");
  }
}

// What is cut or folded would be on another line.
TEST_F(TerminalVerbTest, ARowOfATableIsALineOfEightyColumns) {
  NEEDS_VERBS("gradcheck", "replay", "lab");
  const auto rows_of = [&](const Words& command, const std::string& pattern) {
    int rows = 0;
    for (const std::string& line : Words(absl::StrSplit(qkv(command).output, '\n'))) {
      rows += std::regex_match(line, std::regex(pattern));
    }
    return rows;
  };
  EXPECT_EQ(rows_of({"gradcheck", "--precision", "f32", "--op", "depthwise_convolution", "--op",
                     "MultiHeadAttention"},
                    "(op|layer) +[A-Za-z_]+ +[0-9]+ .* +(yes|undecided)"),
            2);
  EXPECT_EQ(rows_of({"replay", "runs/tiny", "--step", "3"},
                    " +[0-9]+  embedding: embedding_backward \\[5, 16\\]( +[-+.e0-9]+){3}"),
            1);
  EXPECT_EQ(rows_of({"lab", "importance"}, " +7( +[-+.e0-9]+){8}"), 3);  // X, Z, P
}

// ./qkv generate: what it gives to a terminal and to a pipe, and where a text ends.

using nlohmann::json;
using testing::StartsWith;

class GenerateVerbTest : public CommandLineFixture {
 protected:
  void train_on_text(const std::string& text = "A fox.\nA dog; a \u6F22\u5B57.\n") {
    std::string repeated;
    for (int i = 0; i < 50; ++i) repeated += text;
    write_bytes(folder_ / "text.txt", repeated);
    expect_success(
        qkv({"train", "tiny.toml", "--set", "data.task=text", "--set", "data.path=text.txt",
             "--set", "train.steps=1", "--set", "data.alphabet=10"}));
  }

  std::string written(std::vector<std::string> options, const ProcessOptions& process = {}) {
    options.insert(options.begin(), {"generate", "runs/tiny"});
    const ProcessResult result = qkv(options, process);
    expect_success(result);
    return result.output;
  }

  json document(std::vector<std::string> options) {
    options.insert(options.end(), {"--json", "-"});
    return json::parse(written(options), nullptr, /*allow_exceptions=*/false);
  }

  // Each with the bytes of a model of texts with control characters, nothing generated.
  void expect_shown(const std::string& prompt, const std::string& shown) {
    for (const bool in_terminal : {false, true}) {
      EXPECT_EQ(
          written({"--prompt", prompt, "--max-new-tokens", "0"}, {.in_terminal = in_terminal}),
          (in_terminal ? shown : prompt) + "\n");
    }
  }
};

TEST_F(GenerateVerbTest, ATerminalIsGivenControlCharactersEscapedAndAPipeAsTheyAre) {
  const std::string sentence = "a\x1B[31m \u009B1m b\a\t\u202E\nb";
  train_on_text(sentence);
  const std::string escaped = "a\\x1B[31m \\xC2\\x9B1m b\\x07\t\\xE2\\x80\\xAE\nb";
  expect_shown(sentence, escaped);

  std::vector<std::string> options = {"--max-new-tokens", "100", "--prompt", "a"};
  for (int prompts = 1; prompts <= 2; ++prompts) {
    EXPECT_THAT(written(options), HasSubstr("\a"));
    const std::string shown = written(options, {.in_terminal = true});
    EXPECT_THAT(shown, HasSubstr("\\x07"));
    for (const char* control : {"\x1B", "\u009B", "\a", "\u202E"}) {
      EXPECT_EQ(shown.find(control), std::string::npos) << prompts;
    }
    options.insert(options.end(), {"--prompt", "b"});
  }
}

TEST_F(GenerateVerbTest, CtrlCEndsTheTextThatIsBeingWritten) {
  train_on_text();
  ProcessOptions process;
  std::string before;
  process.on_output = [&](pid_t program, const std::string& output) {
    if (output.size() < 50) return false;
    before = output;  // what has come, although the text has not ended
    ::kill(program, SIGINT);
    return true;
  };
  const ProcessResult result = qkv({"generate", "runs/tiny", "--prompt", "A", "--samples", "5",
                                    "--max-new-tokens", "100000000", "--json", "texts.json"},
                                   process);
  EXPECT_EQ(result.exit_status, 130);
  EXPECT_EQ(result.errors, "");
  EXPECT_THAT(result.output, StartsWith(before));
  const json texts = json::parse(in("texts.json"))["texts"];
  ASSERT_EQ(texts.size(), 1u);
  EXPECT_EQ(texts[0]["end"], "interrupted");
  EXPECT_EQ(absl::StrCat("A", texts[0]["text"].get<std::string>(), "\n"), result.output);
}

}  // namespace
}  // namespace qkv
