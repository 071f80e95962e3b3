// What a user does, as a user does it: the built program, a config file, an exit status, the text
// of an error.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "tests/command_line_fixture.h"

namespace qkv {
namespace {

class CommandLineTest : public CommandLineFixture {};

// metrics.jsonl without what depends on the clock.
std::vector<nlohmann::json> timeless_metrics(const std::string& text) {
  std::vector<nlohmann::json> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    nlohmann::json object = nlohmann::json::parse(line);
    object.erase("elapsed_seconds");
    object.erase("tokens_per_second");
    lines.push_back(object);
  }
  return lines;
}

TEST_F(CommandLineTest, TrainWritesTheFolderOfTheRun) {
  const ProcessResult result = qkv({"train", "tiny.toml"});
  expect_success(result);
  EXPECT_NE(result.output.find("step 40/40"), std::string::npos) << result.output;
  EXPECT_NE(result.output.find("expected"), std::string::npos) << result.output;
  EXPECT_EQ(result.output.find('\r'), std::string::npos) << "a progress line in a pipe";

  const auto metrics = timeless_metrics(in("runs/tiny/metrics.jsonl"));
  ASSERT_EQ(metrics.size(), 8u);
  EXPECT_EQ(metrics.back()["step"], 40);
  EXPECT_TRUE(metrics.back().contains("val_sequence_accuracy"));
  EXPECT_FALSE(metrics[0].contains("val_loss"));
  EXPECT_NE(in("runs/tiny/samples.txt").find("step 20\n"), std::string::npos);
  for (const char* name : {"best", "last"}) {
    EXPECT_TRUE(
        std::filesystem::exists(folder_ / "runs/tiny/checkpoints/" + name + ".safetensors"));
  }
}

TEST_F(CommandLineTest, TrainShowsWhereTheTimeOfItsStepsGoes) {
  const ProcessResult result =
      qkv({"train", "tiny.toml", "--profile", "--set", "train.eval_interval=8"});
  expect_success(result);
  EXPECT_NE(result.output.find("wrote the time of each op in 10 steps to runs/tiny/profile.txt"),
            std::string::npos)
      << result.output;
  const std::string profile = in("runs/tiny/profile.txt");
  EXPECT_NE(profile.find("\nforward   linear "), std::string::npos) << profile;
  EXPECT_NE(profile.find("\nbackward  linear: matmul "), std::string::npos) << profile;

  const auto trace = nlohmann::json::parse(in("runs/tiny/trace.json"));
  int steps = 0;
  double end_of_step = 0;
  bool names_the_place = false;
  // A call ends before what it is in: look from the end.
  const auto& events = trace["traceEvents"];
  double begin_of_step = 0;
  for (auto event = events.rbegin(); event != events.rend(); ++event) {
    const double begin = (*event)["ts"], end = begin + double((*event)["dur"]);
    if ((*event)["name"] == "step") {
      ++steps;
      begin_of_step = begin;
      end_of_step = end;
    }
    EXPECT_LE(begin_of_step, begin) << *event;
    EXPECT_LE(end, end_of_step + 1e-3) << *event;
    names_the_place |= (*event)["args"]["scope"] == "blocks.0.attention";
  }
  EXPECT_EQ(steps, 10) << "an evaluation in between is no part of a step";
  EXPECT_TRUE(names_the_place);

  const ProcessResult resumed =
      qkv({"train", "runs/tiny", "--resume", "--profile", "--set", "train.steps=43"});
  expect_success(resumed);
  EXPECT_NE(resumed.output.find("of each op in 3 steps"), std::string::npos) << resumed.output;
}

TEST_F(CommandLineTest, TheSavedConfigTrainsTheSameBitsAgain) {
  expect_success(qkv({"train", "tiny.toml", "--out", "a"}));
  expect_success(qkv({"train", "a/config.toml", "--out", "b"}));
  EXPECT_EQ(in("a/checkpoints/last.safetensors"), in("b/checkpoints/last.safetensors"));
  EXPECT_EQ(in("a/samples.txt"), in("b/samples.txt"));
  expect_success(qkv({"train", "tiny.toml", "--set", "seed=2", "--out", "c"}));
  EXPECT_NE(in("a/checkpoints/last.safetensors"), in("c/checkpoints/last.safetensors"));
}

TEST_F(CommandLineTest, ARunThatIsInterruptedAndResumedIsTheUninterruptedOne) {
  const std::vector<std::string> train = {"train", "tiny.toml",         "--set", "train.steps=400",
                                          "--set", "model.dropout=0.1", "--out"};
  const auto into = [&](const char* out, bool resume) {
    std::vector<std::string> command = train;
    command.emplace_back(out);
    if (resume) command.emplace_back("--resume");
    return command;
  };
  expect_success(qkv(into("whole", false)));

  ProcessOptions options;
  options.on_output = [](pid_t program, const std::string& output) {
    return output.find("step 40/") != std::string::npos && ::kill(program, SIGINT) == 0;
  };
  const ProcessResult stopped = qkv(into("parts", false), options);
  EXPECT_EQ(stopped.exit_status, 130) << stopped.output << stopped.errors;
  EXPECT_NE(stopped.output.find("--resume"), std::string::npos) << stopped.output;
  expect_success(qkv(into("parts", true)));

  EXPECT_EQ(in("whole/checkpoints/last.safetensors"), in("parts/checkpoints/last.safetensors"));
  EXPECT_EQ(in("whole/checkpoints/best.safetensors"), in("parts/checkpoints/best.safetensors"));
  EXPECT_EQ(in("whole/samples.txt"), in("parts/samples.txt"));
  EXPECT_EQ(timeless_metrics(in("whole/metrics.jsonl")),
            timeless_metrics(in("parts/metrics.jsonl")));
}

TEST_F(CommandLineTest, Bf16TrainsOnAProcessorThatHasNoneAndSaysThatItIsNoFaster) {
  ProcessOptions options;
  options.folder = folder_.path();
  const auto train = [&](const char* precision) {
    return run_process({"/usr/bin/env", "ONEDNN_MAX_CPU_ISA=AVX2", QKV_BINARY, "train", "tiny.toml",
                        "--set", absl::StrCat("train.precision=", precision), "--out", precision},
                       options);
  };
  const ProcessResult result = train("bf16");
  expect_success(result);
  EXPECT_THAT(unfolded(result.output),
              testing::HasSubstr("precision bf16: this processor has no instructions for bf16 "
                                 "products (AVX-512 bf16, AMX); it will not be faster than f32\n"));
  EXPECT_THAT(train("f32").output, testing::Not(testing::HasSubstr("bf16")));
  expect_success(qkv({"eval", "bf16"}));
}

TEST_F(CommandLineTest, ResumeForgetsWhatWasWrittenAfterTheLastCheckpoint) {
  expect_success(
      qkv({"train", "tiny.toml", "--set", "train.checkpoint_interval=20", "--out", "a"}));
  expect_success(
      qkv({"train", "tiny.toml", "--set", "train.checkpoint_interval=20", "--out", "b"}));
  std::filesystem::copy_file(folder_ / "b/checkpoints/step-000020.safetensors",
                             folder_ / "b/checkpoints/last.safetensors",
                             std::filesystem::copy_options::overwrite_existing);
  expect_success(qkv(
      {"train", "tiny.toml", "--set", "train.checkpoint_interval=20", "--out", "b", "--resume"}));
  EXPECT_EQ(in("a/checkpoints/last.safetensors"), in("b/checkpoints/last.safetensors"));
  EXPECT_EQ(in("a/samples.txt"), in("b/samples.txt"));
  EXPECT_EQ(timeless_metrics(in("a/metrics.jsonl")), timeless_metrics(in("b/metrics.jsonl")));
}

TEST_F(CommandLineTest, AFolderMeansItsRunWhereARunGoesOn) {
  expect_success(qkv({"train", "tiny.toml"}));
  const ProcessResult result = qkv({"train", "runs/tiny", "--resume"});
  expect_success(result);
  EXPECT_EQ(result.output.find("this run is already finished"), 0u) << result.output;
  expect_error(qkv({"train", "runs/tiny"}), 2,
               "runs/tiny is a folder, but CONFIG must be a file; to continue the run in the "
               "folder: qkv train runs/tiny --resume");
}

TEST_F(CommandLineTest, AFolderThatHoldsAnotherRunIsLeftAlone) {
  expect_success(qkv({"train", "tiny.toml"}));
  const std::string before = in("runs/tiny/checkpoints/last.safetensors");
  expect_error(qkv({"train", "tiny.toml"}), 2,
               "runs/tiny holds another run; continue it with --resume, choose another folder with "
               "--out, or remove it");
  expect_error(qkv({"train", "tiny.toml", "--resume", "--set", "model.d_ff=64"}), 2,
               "--resume continues with the config of the run (runs/tiny/config.toml), but this "
               "config differs: model.d_ff is 64, but was 32. Undo the change, or start a new run "
               "with another --out; these may change: data.path, data.validation_path, "
               "optimizer.learning_rate, "
               "optimizer.min_learning_rate, train.steps, train.patience, "
               "train.max_minutes, train.eval_interval, train.eval_batch_size, "
               "train.checkpoint_interval, train.log_interval, train.detail_interval, "
               "train.tensorboard, train.threads");
  EXPECT_EQ(in("runs/tiny/checkpoints/last.safetensors"), before);
}

TEST_F(CommandLineTest, AFinishedRunGoesFurtherToTheBitsOfALongerOne) {
  const std::string constant = "optimizer.schedule=constant";
  expect_success(qkv({"train", "tiny.toml", "--set", constant, "--out", "a"}));
  const ProcessResult further =
      qkv({"train", "a", "--resume", "--set", "train.steps=60", "--set", "train.log_interval=10"});
  expect_success(further);
  EXPECT_THAT(further.output, testing::HasSubstr("train.steps is 60, but was 40\n"));
  expect_success(qkv({"train", "tiny.toml", "--set", constant, "--set", "train.steps=60", "--out",
                      "b", "--set", "train.log_interval=10"}));
  const std::string last = "/checkpoints/last.safetensors";
  EXPECT_TRUE(in("a" + last) == in("b" + last));
  EXPECT_THAT(in("a/config.toml"), testing::HasSubstr("\nsteps = 60\n"));
  expect_error(qkv({"train", "a", "--resume", "--set", "train.steps=50"}), 2,
               "train.steps is 50, but the run in a has already made 60 steps");
  expect_success(qkv({"train", "a", "--resume"}));
}

TEST_F(CommandLineTest, AScheduleIsThatOfAllStepsWhereARunGoesFurther) {
  expect_success(qkv({"train", "tiny.toml", "--out", "a"}));
  const ProcessResult further = qkv({"train", "a", "--resume", "--set", "train.steps=60"});
  EXPECT_THAT(further.output,
              testing::HasSubstr(
                  "the cosine schedule of the learning rate is that of all 60 steps from here on"));
}

TEST_F(CommandLineTest, EveryMistakeOfAConfigIsAnErrorWithItsPlace) {
  write_bytes(folder_ / "bad.toml", "[model]\nnum_head = 4\nd_model = \"wide\"\n");
  const ProcessResult result = qkv({"train", "bad.toml"});
  EXPECT_EQ(result.exit_status, 2);
  EXPECT_EQ(result.errors,
            "error: bad.toml:2:1: unknown key \"model.num_head\"; did you mean \"num_heads\"?\n"
            "error: bad.toml:3:11: \"model.d_model\": expected an integer, found a string\n");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "runs"));
}

TEST_F(CommandLineTest, EvalAndGenerateUseTheBestCheckpoint) {
  expect_success(qkv({"train", "tiny.toml"}));
  const ProcessResult eval = qkv({"eval", "runs/tiny", "--json", "-"});
  expect_success(eval);
  const auto object = nlohmann::json::parse(eval.output);
  EXPECT_EQ(object["checkpoint"], "runs/tiny/checkpoints/best.safetensors");
  const auto metrics = timeless_metrics(in("runs/tiny/metrics.jsonl"));
  EXPECT_EQ(object["loss"], metrics.back()["val_loss"]);
  EXPECT_EQ(object["sequence_accuracy"], metrics.back()["val_sequence_accuracy"]);

  const ProcessResult generated = qkv(
      {"generate", "runs/tiny", "--prompt", "012=", "--max-new-tokens", "3", "--temperature", "0"});
  expect_success(generated);
  EXPECT_EQ(generated.output.substr(0, 4), "012=");
  EXPECT_EQ(generated.output.size(), 8u) << generated.output;
  const ProcessResult unknown = qkv({"generate", "runs/tiny", "--prompt", "01x="});
  EXPECT_EQ(unknown.exit_status, 2);
  EXPECT_EQ(unknown.errors.find("error: --prompt: "), 0u) << unknown.errors;
  EXPECT_NE(unknown.errors.find("\"x\""), std::string::npos) << unknown.errors;
}

TEST_F(CommandLineTest, DataShowsExamplesAndConfigShowsEveryValue) {
  const ProcessResult data = qkv({"data", "tiny.toml", "--samples", "2"});
  expect_success(data);
  EXPECT_NE(data.output.find("loss on: "), std::string::npos) << data.output;
  const ProcessResult config = qkv({"config", "tiny.toml", "--set", "seed=3"});
  expect_success(config);
  EXPECT_NE(config.output.find("tiny.toml:9"), std::string::npos) << config.output;
  EXPECT_NE(config.output.find("--set"), std::string::npos) << config.output;
  EXPECT_NE(config.output.find("default"), std::string::npos) << config.output;
}

TEST_F(CommandLineTest, DataExportsBatchesThatInfoReads) {
  expect_success(qkv({"data", "tiny.toml", "--split", "train", "--export", "batches.safetensors",
                      "--batches", "2"}));
  NEEDS_VERBS("info");
  const ProcessResult info = qkv({"info", "batches.safetensors"});
  expect_success(info);
  EXPECT_NE(info.output.find("inputs.1"), std::string::npos) << info.output;
  EXPECT_NE(info.output.find("i64[8, 6]"), std::string::npos) << info.output;
}

TEST_F(CommandLineTest, ADamagedCheckpointIsAnErrorAndNoCrash) {
  expect_success(qkv({"train", "tiny.toml"}));
  const std::string bytes = in("runs/tiny/checkpoints/best.safetensors");
  write_bytes(folder_ / "half.safetensors", bytes.substr(0, bytes.size() / 2));
  write_bytes(folder_ / "text.safetensors", "this is no checkpoint");
  write_bytes(folder_ / "empty.safetensors", "");
  expect_success(qkv({"data", "tiny.toml", "--export", "foreign.safetensors", "--batches", "1"}));
  for (const char* name : {"half", "text", "empty", "foreign"}) {
    const std::string file = std::string(name) + ".safetensors";
    for (const char* verb : {"eval", "generate"}) {
      std::vector<std::string> command = {verb, file};
      if (std::string(verb) == "generate") command.insert(command.end(), {"--prompt", "0"});
      const ProcessResult result = qkv(command);
      EXPECT_EQ(result.exit_status, 1) << file << result.errors;
      EXPECT_EQ(result.errors.find("error: " + file + ": "), 0u) << result.errors;
      EXPECT_EQ(std::count(result.errors.begin(), result.errors.end(), '\n'), 1) << result.errors;
    }
  }
}

TEST_F(CommandLineTest, AFullDiskIsOneErrorAndKeepsTheLastGoodCheckpoint) {
  expect_success(qkv({"train", "tiny.toml", "--out", "a"}));
  const std::string before = in("a/checkpoints/last.safetensors");
  std::filesystem::remove_all(folder_ / "b");
  ProcessOptions full;
  full.largest_file_bytes = 8192;  // enough for the config, not for a checkpoint
  const ProcessResult result = qkv({"train", "tiny.toml", "--out", "b"}, full);
  EXPECT_EQ(result.exit_status, 1) << result.output;
  EXPECT_EQ(result.errors, "error: cannot write b/checkpoints/last.safetensors: File too large\n");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "b/checkpoints/best.safetensors"));
  EXPECT_EQ(files_in(folder_ / "b/checkpoints"), 0u);
}

TEST_F(CommandLineTest, AnEmptyConfigIsSaidToSetNothing) {
  write_bytes(folder_ / "empty.toml", "");
  const ProcessResult result = qkv({"train", "empty.toml", "--set", "train.max_minutes=1e-9"});
  expect_success(result);
  EXPECT_NE(unfolded(result.output)
                .find("empty.toml sets nothing: every key has its default, except those of --set"),
            std::string::npos)
      << result.output;
}

TEST_F(CommandLineTest, ARunThatBlowsUpFailsAndKeepsWhatWasGood) {
  const ProcessResult result = qkv({"train", "tiny.toml", "--set", "optimizer.learning_rate=1e38",
                                    "--set", "train.eval_interval=1"});
  EXPECT_EQ(result.exit_status, 1) << result.output;
  EXPECT_NE(result.errors.find("step 1: "), std::string::npos) << result.errors;
  EXPECT_FALSE(std::filesystem::exists(folder_ / "runs/tiny/checkpoints/best.safetensors"));
  const ProcessResult eval = qkv({"eval", "runs/tiny", "--json", "-"});
  expect_success(eval);
  EXPECT_TRUE(nlohmann::json::parse(eval.output)["loss"].is_number()) << eval.output;
}

TEST_F(CommandLineTest, ACheckpointOfAnotherRunIsNotResumedAndChangesNothing) {
  expect_success(qkv({"train", "tiny.toml", "--out", "a"}));
  expect_success(qkv({"train", "tiny.toml", "--set", "seed=2", "--out", "b"}));
  std::filesystem::copy_file(folder_ / "b/checkpoints/last.safetensors",
                             folder_ / "a/checkpoints/last.safetensors",
                             std::filesystem::copy_options::overwrite_existing);
  const std::string metrics = in("a/metrics.jsonl"), samples = in("a/samples.txt");
  expect_error(
      qkv({"train", "tiny.toml", "--out", "a", "--resume"}), 2,
      "a/checkpoints/last.safetensors: this checkpoint belongs to another run than a/config.toml");
  EXPECT_EQ(in("a/metrics.jsonl"), metrics);
  EXPECT_EQ(in("a/samples.txt"), samples);
}

TEST_F(CommandLineTest, ARunWithoutItsLastCheckpointGoesOnFromItsBest) {
  expect_success(qkv({"train", "tiny.toml"}));
  const std::string last = in("runs/tiny/checkpoints/last.safetensors");
  std::filesystem::remove(folder_ / "runs/tiny/checkpoints/last.safetensors");
  const ProcessResult result = qkv({"train", "tiny.toml", "--resume"});
  expect_success(result);
  EXPECT_NE(result.output.find("step 40"), std::string::npos) << result.output;
}

TEST_F(CommandLineTest, ExportLeavesAFileThatIsThereAlone) {
  write_bytes(folder_ / "there.safetensors", "mine");
  expect_error(qkv({"data", "tiny.toml", "--export", "there.safetensors"}), 2,
               "--export: there.safetensors exists; remove it or choose another name");
  EXPECT_EQ(in("there.safetensors"), "mine");
}

TEST_F(CommandLineTest, AListCanBeSet) {
  const ProcessResult result = qkv({"config", "tiny.toml", "--set", "optimizer.betas=[0.8,0.95]"});
  expect_success(result);
  EXPECT_NE(result.output.find("betas = [0.8, 0.95]"), std::string::npos) << result.output;
}

TEST_F(CommandLineTest, StandardOutputThatCannotBeWrittenIsAnError) {
  ProcessOptions options;
  options.output_file = "/dev/full";
  expect_error(qkv({"config", "tiny.toml"}, options), 1, "cannot write to standard output");
}

TEST_F(CommandLineTest, SaysWhatItDoesNotKnow) {
  expect_error(qkv({"trian", "tiny.toml"}), 2,
               "there is no verb \"trian\"; did you mean \"train\"?");
  expect_error(qkv({"train"}), 2, "train takes one config: ./qkv train CONFIG");
  expect_error(qkv({"train", "none.toml"}), 2, "cannot read none.toml: No such file or directory");
  expect_error(qkv({"eval", "nowhere"}), 2, "nowhere: no such run or checkpoint");
  expect_error(qkv({"data", "tiny.toml", "--split", "test"}), 2,
               "--split: there is no \"test\"; there are val, train");
  expect_error(qkv({"train", "tiny.toml", "--bogus"}), 2,
               "there is no option --bogus; ./qkv train --help lists them");
  expect_error(qkv({"train", "tiny.toml", "-y"}), 2,
               "there is no option -y; ./qkv train --help lists them");
  expect_error(
      qkv({"train", "tiny.toml", "--profil=1"}), 2,
      "there is no option --profil; did you mean \"--profile\"? ./qkv train --help lists them");
  EXPECT_EQ(qkv({"train", "tiny.toml", "--out"}).exit_status, 2);
  EXPECT_EQ(qkv({"eval", "x", "--split", "val", "extra"}).exit_status, 2);
  NEEDS_VERBS("bench", "gradcheck", "info", "predict");
  expect_error(qkv({"info"}), 2, "info takes one run or file: ./qkv info RUN|FILE");
  expect_error(qkv({"predict", "x"}), 2,
               "predict takes one run and at least one file: ./qkv predict RUN FILE…");
  expect_error(qkv({"bench", "x", "y"}), 2, "bench takes at most one config: ./qkv bench [CONFIG]");
  expect_error(qkv({"gradcheck", "--op", "exp", "--json", ""}), 2,
               "--json needs a value; see qkv gradcheck --help");
}

TEST_F(CommandLineTest, AValueThatCannotBeReadNamesItsOption) {
  expect_error(qkv({"generate", "x", "--seed", "y"}), 2,
               "--seed: expected an integer of 0 or more, found \"y\"");
  expect_error(qkv({"generate", "x", "--temperature=1z"}), 2,
               "--temperature: expected a number, found \"1z\"");
  expect_error(qkv({"data", "x", "--samples", "99999999999999999999"}), 2,
               "--samples: expected an integer, found \"99999999999999999999\"");
  expect_error(qkv({"train", "x", "--resume=no"}), 2, "--resume takes no value, found \"no\"");
  NEEDS_VERBS("bench", "gradcheck");
  expect_error(qkv({"bench", "--steps", "1.5"}), 2, "--steps: expected an integer, found \"1.5\"");
  expect_error(qkv({"gradcheck", "--order", "\x1b[2J\n"}), 2,
               "--order: expected an integer, found \"\\x1B[2J\\n\"");
}

TEST_F(CommandLineTest, WhatAMessageQuotesIsEscapedAndStaysOnItsLine) {
  expect_error(qkv({"train", "a\nerror: b\x1b[2J\xff"}), 2,
               "cannot read a\\nerror: b\\x1B[2J\\xFF: No such file or directory");
  expect_error(qkv({"eval", "no\nrun"}), 2, "no\\nrun: no such run or checkpoint");
  expect_error(qkv({"train", "tiny.toml", "--set", "seed\x1b[31m=1\n2"}), 2,
               "--set seed\\x1B[31m=1\\n2: unknown key \"seed\\u001B[31m\"");
  EXPECT_EQ(qkv({"a\rb"}).errors.find("error: there is no verb \"a\\x0Db\"; "), 0u);
  write_bytes(folder_ / "a\nb.toml", "x = t\nseed = 1\n");
  expect_error(qkv({"config", "a\nb.toml"}), 2,
               "a\\nb.toml:1:6: not valid TOML: expected 'true', saw 't\\n' (in a boolean)");
}

TEST_F(CommandLineTest, NamesOfFilesAreEscapedWhereverTheyAreSaid) {
  const std::string config = "c\x1b[31m\xff.toml", run = "r\x1b[32m\xfe";
  write_bytes(folder_ / config, kConfig);
  const std::vector<std::vector<std::string>> commands = {
      {"train", config, "--out", run},
      {"eval", run},
      {"eval", run, "--json", "-"},
      {"info", run},
      {"config", config},
      {"bench", config, "--steps", "1"},
      {"gradcheck", "--config", config, "--json", "-"},
      {"gradcheck", "--config", config, "--sweep", "s\x1b[33m.csv"},
      {"data", config, "--export", "e\x1b[34m"}};
  for (const std::vector<std::string>& command : commands) {
    if (!has_verb(command[0])) continue;
    const ProcessResult result = qkv(command);
    expect_success(result);
    EXPECT_EQ(result.output.find_first_of("\x1b\xff\xfe"), std::string::npos) << result.output;
  }
}

TEST_F(CommandLineTest, ANumberThatF32TakesForZeroIsAMistakeOfTheConfig) {
  write_bytes(folder_ / "zero.toml", kConfig + "[optimizer]\nepsilon = 1e-50\n");
  expect_error(qkv({"train", "zero.toml"}), 2,
               "zero.toml:17:11: \"optimizer.epsilon\" is 1e-50, which f32 rounds to 0; use a "
               "larger one, or train.precision = \"f64\"");
  expect_success(qkv({"train", "zero.toml", "--set", "train.precision=f64"}));
}

TEST_F(CommandLineTest, HelpIsOnStandardOutput) {
  const ProcessResult help = qkv({"--help"});
  expect_success(help);
  EXPECT_NE(help.output.find("train      CONFIG"), std::string::npos) << help.output;
  const ProcessResult train = qkv({"train", "--help"});
  expect_success(train);
  EXPECT_NE(train.output.find("--resume"), std::string::npos) << train.output;
  EXPECT_NE(train.output.find("./qkv train configs/reverse.toml\n"), std::string::npos);
  EXPECT_NE(qkv({"config", "--help"}).output.find("d_model"), std::string::npos);
}

}  // namespace
}  // namespace qkv
