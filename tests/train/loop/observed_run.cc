#include "tests/train/loop/observed_run.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "data/text/tokenizer_json.h"
#include "tests/data/images/image_files.h"
#include "tests/temporary_folder.h"
#include "train/folder/checkpoint.h"
#include "train/loop/train.h"

namespace qkv {
namespace {

namespace fs = std::filesystem;

// In the folder, and without standard output, as long as the object lasts.
class QuietlyIn {
 public:
  explicit QuietlyIn(const std::string& folder) : before_(fs::current_path()) {
    fs::current_path(folder);
    std::fflush(stdout);
    output_ = dup(STDOUT_FILENO);
    const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    dup2(nowhere, STDOUT_FILENO);
    close(nowhere);
  }
  ~QuietlyIn() {
    std::fflush(stdout);
    dup2(output_, STDOUT_FILENO);
    close(output_);
    fs::current_path(before_);
  }
  QuietlyIn(const QuietlyIn&) = delete;

 private:
  fs::path before_;
  int output_;
};

std::string name_of_checkpoint(int64_t step) {
  return absl::StrFormat("step-%06d.safetensors", step);
}

std::set<std::string> names_in(const fs::path& folder) {
  std::set<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    names.insert(entry.path().filename());
  }
  return names;
}

Weights weights_in(const std::string& checkpoint) {
  Weights weights;
  const absl::StatusOr<Checkpoint> loaded = load_checkpoint(checkpoint);
  EXPECT_TRUE(loaded.ok()) << loaded.status();
  if (!loaded.ok()) return weights;
  for (const auto& [name, array] : loaded->arrays) {
    if (name.starts_with("optimizer.")) continue;
    weights[absl::StrCat(name, " ", array.describe())] = array.to_vector();
  }
  return weights;
}

}  // namespace

const char kSmallRun[] = R"(name = "small"
[data]
task = "reverse"
alphabet = 4
length = 4
validation_examples = 8
[model]
num_layers = 1
d_model = 8
num_heads = 2
d_ff = 16
[optimizer]
learning_rate = 1e-2
[train]
steps = 10
batch_size = 4
eval_interval = 5
checkpoint_interval = 0
log_interval = 1
threads = 1
precision = "f64"
)";

Overrides overrides_of(const std::string& task, const std::string& folder) {
  static const std::map<std::string, Overrides> more = {
      {"addition", {"data.digits=2"}},
      {"parity", {"data.length=8"}},
      {"modular_addition", {"data.modulus=11"}},
      {"associative_recall", {"data.alphabet=6", "data.pairs=2"}},
      {"induction", {"data.alphabet=8"}},
      {"echo", {"data.alphabet=16", "data.distance=2"}},
      {"hold", {"data.alphabet=16", "data.length=12", "data.distance=2"}},
      {"shapes", {"model.kind=classifier", "data.image_size=12"}},
      {"idx", {"model.kind=classifier", "model.patch_size=2"}},
      {"image_folder", {"model.kind=classifier", "model.patch_size=2", "data.image_size=6"}},
      {"classes", {"model.kind=classifier"}},
  };
  Overrides all = {absl::StrCat("data.task=", task)};
  if (task == "text" || task == "lines") all.push_back("data.path=" + folder + "/text.txt");
  if (task == "pairs" || task == "classes") all.push_back("data.path=" + folder + "/pairs.csv");
  if (task == "idx") all.push_back("data.path=" + folder);
  if (task == "image_folder") all.push_back("data.path=" + folder + "/images");
  if (const auto found = more.find(task); found != more.end()) {
    all.insert(all.end(), found->second.begin(), found->second.end());
  }
  return all;
}

namespace {

// Images in colour, in the folders of three classes.
void write_images(RandomStream& random, const std::string& folder, int count) {
  constexpr int64_t kHeight = 9, kWidth = 12;
  for (int image = 0; image < count; ++image) {
    const std::string in = absl::StrCat(folder, "/", std::string(1, "abc"[image % 3]));
    fs::create_directories(in);
    std::string pixels;
    for (int64_t i = 0; i < 3 * kHeight * kWidth; ++i) {
      pixels += static_cast<char>(random.below(256));
    }
    write_bytes(absl::StrCat(in, "/", image, ".png"), png_bytes(pixels, kHeight, kWidth));
  }
}

// Words of two letters, each of which there is often, as " ab", or at least twice, as "ab". Where
// `rare` is a character, the one of them that is second has it.
std::string few_words(RandomStream& random, int count, char rare = '\0') {
  std::string text;
  for (int word = 0; word < count; ++word) {
    if (word > 0) text += ' ';
    text += word == 1 && rare != '\0' ? rare : "abcd"[random.below(4)];
    text += "abcd"[random.below(4)];
  }
  return text;
}

// Of a list of texts, some have a character that no other has, and some one that they share.
char rare_character(int text) {
  if (text < 10) return static_cast<char>('A' + text);
  return text < 20 ? 'e' : '\0';
}

// A token for each character of the files, in an order that hangs on the seed.
void write_tokenizer(const std::string& folder, uint64_t seed) {
  std::set<std::string> known;
  for (const char* file : {"/text.txt", "/held_out.csv"}) {
    for (const char c : contents_of(folder + file)) known.emplace(1, c);
  }
  std::vector<std::string> characters(known.begin(), known.end());
  std::rotate(characters.begin(), characters.begin() + static_cast<ptrdiff_t>(seed),
              characters.end());
  write_bytes(folder + "/tokenizer.json", listed_tokenizer_json(*Vocabulary::create(characters)));
}

}  // namespace

void write_data(const std::string& folder, uint64_t seed) {
  RandomStream random(seed);
  std::string text, pixels, labels;
  for (int line = 0; line < 150; ++line) {
    absl::StrAppend(&text, few_words(random, 4, rare_character(line)), "\n");
  }
  write_bytes(folder + "/text.txt", text);
  std::string pairs = "question,answer,text,class,back,last\n", held_out = pairs;
  for (int pair = 0; pair < 330; ++pair) {
    const bool trains = pair < 300;
    const std::string question =
        absl::StrCat(few_words(random, 3, rare_character(pair)), trains ? "" : " dddd");
    const std::string back(question.rbegin(), question.rend());
    const std::string first = question.substr(0, 1), last = question.substr(7, 1);
    absl::StrAppend(trains ? &pairs : &held_out, question, ",", first, ",", question, ",", first,
                    ",", back, ",", last, "\n");
  }
  write_bytes(folder + "/pairs.csv", pairs);
  write_bytes(folder + "/held_out.csv", held_out);
  write_tokenizer(folder, seed);
  constexpr uint32_t kImages = 20, kSide = 6, kClasses = 3;
  for (uint32_t image = 0; image < kImages; ++image) {
    labels += static_cast<char>(image % kClasses);
    for (uint32_t i = 0; i < kSide * kSide; ++i) pixels += static_cast<char>(random.below(256));
  }
  for (const std::string part : {"train", "t10k"}) {
    write_bytes(absl::StrCat(folder, "/", part, "-images-idx3-ubyte"),
                idx_bytes({kImages, kSide, kSide}, pixels));
    write_bytes(absl::StrCat(folder, "/", part, "-labels-idx1-ubyte"),
                idx_bytes({kImages}, labels));
  }
  write_images(random, folder + "/images", 150);
  write_images(random, folder + "/held_out_images", 12);
}

namespace {

bool train_in(const std::string& folder, const LoadedConfig& loaded, bool resume) {
  const absl::StatusOr<RunOutcome> outcome = [&] {
    const QuietlyIn quietly(folder);
    return run_training(loaded, {.out = "", .resume = resume});
  }();
  EXPECT_TRUE(outcome.ok()) << outcome.status();
  return outcome.ok();
}

ObservedRun what_is_in(const std::string& folder) {
  ObservedRun seen;
  const std::set<std::string> runs = names_in(folder + "/runs");
  EXPECT_EQ(runs.size(), 1u);
  seen.folder = "runs/" + *runs.begin();
  const std::string run = folder + "/" + seen.folder;
  for (const std::string& name : names_in(run + "/checkpoints")) {
    seen.checkpoints[name] = weights_in(absl::StrCat(run, "/checkpoints/", name));
  }
  seen.samples = contents_of(run + "/samples.txt");
  absl::StatusOr<std::vector<Metrics>> metrics = read_metrics(run + "/metrics.jsonl");
  EXPECT_TRUE(metrics.ok()) << metrics.status();
  if (metrics.ok()) seen.metrics = *std::move(metrics);
  return seen;
}

}  // namespace

ObservedRun observe_run(const std::string& toml, const Overrides& overrides, int64_t again_after,
                        const Overrides& again_with) {
  const TemporaryFolder folder(/*in_memory=*/true);
  const absl::StatusOr<LoadedConfig> loaded = parse_config(toml, "c.toml", overrides);
  EXPECT_TRUE(loaded.ok()) << loaded.status();
  if (!loaded.ok() || !train_in(folder.path(), *loaded, /*resume=*/false)) return {};
  if (again_after > 0) {
    const fs::path checkpoints = folder / ("runs/" + loaded->config.name + "/checkpoints");
    fs::copy_file(checkpoints / name_of_checkpoint(again_after), checkpoints / "last.safetensors",
                  fs::copy_options::overwrite_existing);
    Overrides all = overrides;
    all.insert(all.end(), again_with.begin(), again_with.end());
    const absl::StatusOr<LoadedConfig> changed = parse_config(toml, "c.toml", all);
    EXPECT_TRUE(changed.ok()) << changed.status();
    if (!changed.ok() || !train_in(folder.path(), *changed, /*resume=*/true)) return {};
  }
  return what_is_in(folder.path());
}

std::set<std::string> ObservedRun::names_of_checkpoints() const {
  std::set<std::string> names;
  for (const auto& [name, weights] : checkpoints) names.insert(name);
  return names;
}

const Weights& ObservedRun::weights() const { return weights_in_file("last.safetensors"); }

const Weights& ObservedRun::weights_after(int64_t step) const {
  return weights_in_file(name_of_checkpoint(step));
}

const Weights& ObservedRun::weights_in_file(const std::string& name) const {
  static const Weights none;
  const auto found = checkpoints.find(name);
  EXPECT_NE(found, checkpoints.end()) << name;
  return found == checkpoints.end() ? none : found->second;
}

std::set<int64_t> ObservedRun::logged() const {
  std::set<int64_t> steps;
  for (const Metrics& line : metrics) steps.insert(line.step);
  return steps;
}

std::set<int64_t> ObservedRun::evaluated() const {
  std::set<int64_t> steps;
  for (const Metrics& line : metrics) {
    if (line.val_loss) steps.insert(line.step);
  }
  return steps;
}

const Metrics& ObservedRun::at(int64_t step) const {
  static const Metrics none;
  const auto found = std::ranges::find(metrics, step, &Metrics::step);
  EXPECT_NE(found, metrics.end()) << "step " << step;
  return found == metrics.end() ? none : *found;
}

}  // namespace qkv
