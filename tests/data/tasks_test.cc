// The tasks, seen from outside: what stands in their batches, read back as text and answered again
// by code that shares nothing with theirs.

#include "data/tasks/tasks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <functional>
#include <limits>
#include <map>
#include <ostream>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "data/data_options.h"
#include "data/show_data.h"
#include "tests/data/rows.h"

namespace qkv {
namespace {

struct Case {
  std::string name;
  DataOptions options;
  // Where the answer begins in the text of a whole sequence, and what it should be; sizes count
  // tokens.
  std::function<size_t(const std::vector<std::string>&)> answer_begins;
  std::function<std::vector<std::string>(const std::vector<std::string>& question)> answer;
};

using Words = std::vector<std::string>;

size_t place_of(const Words& words, const std::string& word) {
  return static_cast<size_t>(std::find(words.begin(), words.end(), word) - words.begin());
}

size_t after_equals(const Words& words) { return place_of(words, "=") + 1; }

// With the library of C, which puts two digits below 69 after 2000 and the others before.
std::string iso_date(const std::string& text) {
  const char* const formats[] = {"%d %B %Y", "%B %d, %Y", "%d-%b-%Y", "%d/%m/%Y",
                                 "%d.%m.%Y", "%d-%b-%y",  "%d/%m/%y", "%d.%m.%y"};
  for (const char* format : formats) {
    std::tm date = {};
    const char* end = ::strptime(text.c_str(), format, &date);
    const bool two_digits = std::string(format).ends_with("%y");
    if (end == nullptr || *end != 0 || (!two_digits && date.tm_year < 0)) continue;
    if (two_digits && date.tm_year >= 150) date.tm_year -= 100;
    const int given_day = date.tm_mday;
    ::timegm(&date);  // makes the 31st of April the 1st of May
    if (date.tm_mday != given_day) return "no such day";
    return absl::StrFormat("%d-%02d-%02d", 1900 + date.tm_year, 1 + date.tm_mon, date.tm_mday);
  }
  return "in no known form";
}

std::vector<Case> cases() {
  std::vector<Case> all;
  const auto add = [&all](const std::string& name) -> Case& {
    all.push_back({name, {}, after_equals, {}});
    all.back().options.task = name;
    return all.back();
  };

  Case& copy = add("copy");
  copy.answer = [](const Words& words) { return Words(words.begin(), words.end() - 1); };

  Case& reverse = add("reverse");
  reverse.answer = [](const Words& words) {
    Words answer;
    for (size_t i = words.size() - 1; i-- > 0;) answer.push_back(words[i]);
    return answer;
  };

  Case& sort = add("sort");
  sort.options.alphabet = 12;  // a … l
  sort.options.min_length = 3;
  sort.options.length = 9;
  sort.answer = [](const Words& words) {
    const std::multiset<std::string> sorted(words.begin(), words.end() - 1);
    return Words(sorted.begin(), sorted.end());
  };

  Case& parity = add("parity");
  parity.options.min_length = 2;
  parity.options.length = 14;
  parity.options.validation_length = 20;
  parity.answer = [](const Words& words) {
    return Words{std::count(words.begin(), words.end(), "1") % 2 == 0 ? "0" : "1"};
  };

  Case& addition = add("addition");
  addition.answer = [](const Words& words) {
    std::string text;
    for (const std::string& word : words) text += word;
    const int sum = std::stoi(text.substr(0, 3)) + std::stoi(text.substr(4, 3));
    std::string digits = std::to_string(10000 + sum).substr(1);
    std::reverse(digits.begin(), digits.end());
    Words answer;
    for (const char digit : digits) answer.emplace_back(1, digit);
    return answer;
  };

  Case& modular = add("modular_addition");
  modular.options.train_fraction = 0.3;
  modular.answer = [](const Words& words) {
    return Words{std::to_string((std::stoi(words[0]) + std::stoi(words[2])) % 97)};
  };

  Case& recall = add("associative_recall");
  recall.options.alphabet = 16;
  recall.answer_begins = [](const Words& words) { return place_of(words, "=") + 2; };
  recall.answer = [](const Words& words) {
    std::map<std::string, std::string> table;
    for (size_t i = 0; words[i] != "="; i += 2) table[words[i]] = words[i + 1];
    return Words{table.at(words.back())};
  };

  Case& induction = add("induction");
  induction.options.alphabet = 26;
  induction.options.min_length = 8;
  induction.answer_begins = [](const Words& words) {
    size_t i = 1;
    while (words[i] != words[0]) ++i;
    return i + 1;
  };
  induction.answer = [](const Words& words) {
    std::map<std::string, std::string> next;
    for (size_t i = 0; i + 1 < words.size(); ++i) next[words[i]] = words[i + 1];
    Words answer;
    for (std::string last = words.back(); words.size() + answer.size() < 32;) {
      answer.push_back(last = next.at(last));
    }
    return answer;
  };

  Case& dates = add("dates");
  dates.answer = [](const Words& words) {
    std::string question;
    for (size_t i = 0; words[i] != "="; ++i) question += words[i];
    return Words(absl::StrSplit(iso_date(question), absl::ByLength(1)));
  };

  Case& preference = add("preference");
  preference.answer = [](const Words& words) {
    size_t place = place_of(words, "更") + 1;  // a verb to like, a verb of one character, the noun
    place += words[place] == "爱" ? 1 : 2;
    return Words{words[place + 1]};
  };

  Case& reference = add("reference");
  reference.answer = [](const Words& words) {
    const std::string possessive = words[place_of(words, "but") + 1];
    const std::set<std::string> men = {"king", "father", "brother", "boy", "uncle", "monk"};
    const std::set<std::string> women = {"queen", "mother", "sister", "girl", "aunt", "nun"};
    Words answer;
    for (size_t i = 1; i < words.size(); ++i) {
      if (words[i - 1] != "the") continue;
      const bool several = words[i].ends_with("s") || words[i] == "children";
      const std::string agrees = men.contains(words[i])     ? "his"
                                 : women.contains(words[i]) ? "her"
                                 : several                  ? "their"
                                                            : "its";
      if (agrees == possessive) answer.push_back(words[i]);
    }
    return answer;  // only one, or the row is wrong
  };

  Case& echo = add("echo");
  echo.options.length = 20;
  echo.options.distance = 7;
  echo.answer_begins = [](const Words&) { return size_t{7}; };
  echo.answer = [](const Words& words) {
    Words row = words;
    while (row.size() < 20) row.push_back(row[row.size() - 7]);
    return Words(row.begin() + 7, row.end());
  };

  return all;
}

void PrintTo(const Case& test, std::ostream* out) { *out << test.name; }

class TaskTest : public testing::TestWithParam<Case> {};

// Every row of both splits: inputs and targets are one sequence shifted by one, only the answer is
// wanted, it is the right one, and only padding follows.
void check_row(const Case& test, const Dataset& dataset, const Row& row) {
  const Words inputs = words_of(dataset, row.inputs);
  ASSERT_EQ(inputs.size(), row.wanted.size());
  const size_t begin = test.answer_begins(inputs);
  const Words question(inputs.begin(), inputs.begin() + static_cast<int64_t>(begin));
  const Words answer = test.answer(question);

  ASSERT_LE(begin + answer.size(), inputs.size() + 1);
  for (size_t t = 0; t < inputs.size(); ++t) {
    const size_t next = t + 1;
    const bool is_answer = next >= begin && next < begin + answer.size();
    EXPECT_EQ(row.wanted[t], is_answer ? answer[next - begin] : "") << row.inputs << " at " << t;
    if (next >= begin && next < inputs.size()) {
      // The last token of a sequence is a target only.
      const bool is_input = next + 1 < begin + answer.size();
      EXPECT_EQ(inputs[next], is_input ? answer[next - begin] : "_") << row.inputs;
    }
  }
  EXPECT_LE(inputs.size(), static_cast<size_t>(dataset.shape().max_length));
}

TEST_P(TaskTest, AsksForTheRightAnswerAndNothingElse) {
  const auto dataset = dataset_of(GetParam().options);
  EXPECT_TRUE(dataset->has_answers());
  for (int64_t index = 0; index < 8; ++index) {
    const Batch batch = dataset->training_batch(index, 32);
    ASSERT_EQ(batch.rows(), 32);
    for (const Row& row : rows_of(*dataset, batch)) check_row(GetParam(), *dataset, row);
  }
  const Batch batch = dataset->validation_batch(0, dataset->validation_size());
  for (const Row& row : rows_of(*dataset, batch)) check_row(GetParam(), *dataset, row);
}

// The question and the answer of each row, as texts, from any form.
std::vector<std::pair<std::string, std::string>> questions(const Dataset& dataset,
                                                           const Batch& batch) {
  const auto row_of = [](const Array& array, int64_t row) {
    const int64_t length = array.size() / array.shape()[0];
    const int64_t* begin = array.data<int64_t>() + row * length;
    return std::vector<int64_t>(begin, begin + length);
  };
  std::vector<std::pair<std::string, std::string>> all;
  for (int64_t row = 0; row < batch.rows(); ++row) {
    std::vector<int64_t> question = row_of(batch.inputs[0], row), answer;
    const std::vector<int64_t> targets = row_of(batch.targets, row);
    if (dataset.form() == DataForm::kSequence) {
      const auto first = std::ranges::find_if(targets, [](int64_t t) { return t != -1; });
      question.resize(static_cast<size_t>(first - targets.begin() + 1));
    } else if (const Array& padding = batch.inputs.back(); padding.dtype() == DType::boolean) {
      const bool* padded = padding.data<bool>() + row * std::ssize(question);
      const auto kept = std::count(padded, padded + question.size(), false);
      EXPECT_FALSE(std::any_of(padded, padded + kept, std::identity()));
      question.resize(static_cast<size_t>(kept));
    }
    std::ranges::copy_if(targets, std::back_inserter(answer), [](int64_t t) { return t != -1; });
    if (dataset.form() == DataForm::kSourceTarget) {
      std::vector<int64_t> read = row_of(batch.inputs[1], row);
      read.resize(answer.size());
      EXPECT_EQ(read.front(), question.back());
      EXPECT_TRUE(std::equal(read.begin() + 1, read.end(), answer.begin()));
    }
    all.emplace_back(dataset.vocabulary().decode(question), dataset.vocabulary().decode(answer));
  }
  return all;
}

TEST_P(TaskTest, HasTheSameExamplesInEveryForm) {
  const DataOptions& options = GetParam().options;
  const auto sequences = dataset_of(options);
  const std::vector<DataForm>& forms = find_task(options.task)->forms;
  EXPECT_EQ(std::ranges::count(forms, DataForm::kSourceTarget), 1);
  const bool one_token = sequences->validation_example(0).answer.size() == 1;
  EXPECT_EQ(std::ranges::count(forms, DataForm::kClass), one_token ? 1 : 0);
  const auto judged = questions(*sequences, sequences->validation_batch(2, 16));
  for (size_t i = 0; i < judged.size(); ++i) {
    const Example example = sequences->validation_example(2 + static_cast<int64_t>(i));
    EXPECT_EQ(sequences->vocabulary().decode(example.prompt), judged[i].first);
    EXPECT_EQ(sequences->vocabulary().decode(example.answer), judged[i].second);
  }
  for (const DataForm form : forms) {
    const auto dataset = *make_dataset(options, 1, form);
    EXPECT_EQ(questions(*dataset, dataset->training_batch(3, 16)),
              questions(*sequences, sequences->training_batch(3, 16)));
    EXPECT_EQ(questions(*dataset, dataset->validation_batch(2, 16)), judged);
  }
}

TEST_P(TaskTest, AnAnswerIsAsLongAsIsToldBeforeItIsMade) {
  const DataOptions& options = GetParam().options;
  const auto dataset = dataset_of(options);
  int64_t fewest_left = std::numeric_limits<int64_t>::max();
  for (int64_t i = 0; i < dataset->validation_size(); ++i) {
    const Example example = dataset->validation_example(i);
    const int64_t most =
        find_task(options.task)->answer_length(options, std::ssize(example.prompt));
    fewest_left = std::min(fewest_left, most - std::ssize(example.answer));
  }
  EXPECT_EQ(fewest_left, 0);
}

TEST(TasksTest, ATextIsASequenceAndNothingElse) {
  DataOptions options;
  options.task = "text";
  options.path = "any";
  const auto dataset = make_dataset(options, 1, DataForm::kClass);
  EXPECT_EQ(dataset.status().message(),
            "data.task \"text\" does not provide a question with an answer of one token");
}

TEST_P(TaskTest, ValidationAsksDifferentQuestionsThatTrainingNeverSees) {
  const auto dataset = dataset_of(GetParam().options);
  std::set<std::string> held_out;
  for (int64_t i = 0; i < dataset->validation_size(); ++i) {
    const Example example = dataset->validation_example(i);
    EXPECT_TRUE(held_out.insert(dataset->vocabulary().decode(example.prompt)).second) << i;
  }
  for (int64_t index = 0; index < 40; ++index) {
    for (const Row& row : rows_of(*dataset, dataset->training_batch(index, 64))) {
      const std::string& text = row.inputs;
      // Prompts are prefixes: the longest question held out that could be one is looked up.
      for (size_t length = 1; length <= text.size(); ++length) {
        ASSERT_FALSE(held_out.contains(text.substr(0, length))) << text;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Every, TaskTest, testing::ValuesIn(cases()),
                         [](const auto& test) { return test.param.name; });

// The same on every machine and in every version: runs in the README can be repeated.
TEST(TaskGoldenTest, SeedOneMakesTheseExamples) {
  std::string text;
  for (const Case& test : cases()) {
    const auto dataset = dataset_of(test.options);
    absl::StrAppend(&text, test.name, "\n", describe_examples(*dataset, Split::kTraining, 1),
                    describe_examples(*dataset, Split::kValidation, 1));
  }
  EXPECT_EQ(text, R"(copy
4407256034545340=4407256034545340   loss on: 4407256034545340
3707055434835982=3707055434835982   loss on: 3707055434835982
reverse
4407256034545340=0435454306527044   loss on: 0435454306527044
3707055434835982=2895384345507073   loss on: 2895384345507073
sort
fbjdgh=bdfghj   loss on: bdfghj
beljgg=beggjl   loss on: beggjl
parity
0010110=1   loss on: 1
00111011101111100011=1   loss on: 1
addition
440+725=5611   loss on: 5611
652+613=5621   loss on: 5621
modular_addition
43 + 47 = 90   loss on: 90
46 + 66 = 15   loss on: 15
associative_recall
hFiGdInHaJlFmHeA=lF   loss on: F
pDkMaCbMfOcMjLhK=hK   loss on: K
induction
mduiqshnprjtmduiqshnprjtmduiqshn   loss on: duiqshnprjtmduiqshn
gloevmxjwzgloevmxjwzgloevmxjwzgl   loss on: loevmxjwzgloevmxjwzgl
dates
22-Feb-99=1999-02-22   loss on: 1999-02-22
6-Sep-2037=2037-09-06   loss on: 2037-09-06
preference
比起打篮球,你更喜欢下棋=棋   loss on: 棋
她喜欢读书,不过她更喜欢打羽毛球=羽   loss on: 羽
reference
the laws changed the uncle , but their history should be just = laws   loss on: laws
the children will never be perfect for the brother , but his history is not certain = brother   loss on: brother
echo
44072564407256440725   loss on: 4407256440725
96951939695193969519   loss on: 9695193969519
)");
}

TEST(TasksTest, TheShapeOfQuestionsIsKnownBeforeTheyAreMade) {
  int known = 0;
  for (const TaskKind& kind : task_kinds()) {
    if (!kind.questions) continue;
    DataOptions options;
    options.task = kind.name;
    options.alphabet = 20;
    options.train_fraction = 0.5;
    options.validation_length = std::ranges::count(kind.keys, "validation_length") > 0 ? 20 : 0;
    for (const DataForm form : kind.forms) {
      const auto dataset = make_dataset(options, 1, form);
      ASSERT_TRUE(dataset.ok()) << dataset.status();
      const DataShape told = shape_of(kind.questions(options), form), made = (*dataset)->shape();
      EXPECT_EQ(told.max_length, made.max_length) << kind.name;
      EXPECT_EQ(told.source_length, made.source_length) << kind.name;
      EXPECT_EQ(told.classes, made.classes) << kind.name;
      const Batch batch = (*dataset)->validation_batch(0, 1);
      const int64_t longest = std::max(told.max_length, told.source_length);
      for (const Array& input : batch.inputs) EXPECT_LE(input.shape()[1], longest) << kind.name;
      ++known;
    }
  }
  EXPECT_GT(known, 20);
}

std::string mistakes(const DataOptions& options) {
  std::string text;
  for (const OptionMistake& mistake : find_mistakes(options)) {
    text += mistake.key + " " + mistake.message + "\n";
  }
  return text;
}

DataOptions with_task(const std::string& task) {
  DataOptions options;
  options.task = task;
  options.path = "a file";
  options.alphabet = 16;
  return options;
}

TEST(DataOptionsTest, TheDefaultsAreGoodForEveryTask) {
  for (const std::string& task : task_names()) EXPECT_EQ(mistakes(with_task(task)), "") << task;
}

TEST(DataOptionsTest, OnlyTheKeysThatATaskReadsCount) {
  DataOptions options = with_task("modular_addition");
  options.alphabet = 1;
  options.length = 0;
  options.validation_examples = 0;
  EXPECT_EQ(mistakes(options), "");
  options.modulus = 1;
  EXPECT_EQ(mistakes(options), "modulus must be 2 … 1000, not 1\n");
}

}  // namespace
}  // namespace qkv
