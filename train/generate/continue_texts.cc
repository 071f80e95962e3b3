#include "train/generate/continue_texts.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "data/tasks/tasks.h"
#include "framework/core/text/utf8.h"

namespace qkv {
namespace {

constexpr std::string_view kNoCharacter = "\uFFFD";

// The number of bytes at the end of `text` that begin `stop`.
size_t beginning_of_stop(std::string_view text, std::string_view stop) {
  size_t length = std::min(text.size(), stop.size() - 1);
  while (!text.ends_with(stop.substr(0, length))) --length;
  return length;
}

using Print = std::function<bool(const std::string&)>;

constexpr size_t kReadTogether = 256;                  // prompts
constexpr char kBetweenTexts[] = "---------------\n";  // where a text may have several lines

class Writer {
 public:
  Writer(const LoadedRun& run, const TextsToContinue& texts, const Print& print,
         const std::stop_token& stop)
      : run_(run), texts_(texts), stop_(stop), print_(print) {}

  absl::Status write_all(const Model& model, const std::vector<Prompt>& prompts) {
    if (texts_.samples == 1 && prompts.size() > 1 && !texts_.beam) {
      return write_together(model, prompts);
    }
    for (const Prompt& prompt : prompts) {
      for (int64_t sample = 1; sample <= texts_.samples; ++sample) {
        if (!goes_on()) return absl::OkStatus();
        print_between();
        RETURN_IF_ERROR(texts_.beam ? search(model, prompt) : write(model, prompt, sample));
      }
    }
    return absl::OkStatus();
  }

  std::vector<Continuation>& written() { return written_; }

 private:
  bool goes_on() const { return is_read_ && !stop_.stop_requested(); }

  std::string shown(const Prompt& prompt) const { return texts_.prints_prompts ? prompt.text : ""; }

  void print(const std::string& text) { is_read_ = print_(text) && is_read_; }

  void print_between() {
    if (task_.is_running_text && !written_.empty()) print(kBetweenTexts);
  }

  int64_t longest(const Prompt& prompt) const {
    const int64_t length = std::ssize(prompt.tokens);
    return texts_.max_new_tokens.value_or(task_.answer_length(config_.data, length));
  }

  WrittenText text_after(const Prompt& prompt) const {
    return {run_.checkpoint.vocabulary, prompt.tokens.back(), texts_.stops, task_.last_token};
  }

  void keep(const Prompt& prompt, int64_t sample, const WrittenText& text, int64_t tokens) {
    const bool stopped = tokens < longest(prompt) && text.end() == TextEnd::kLength;
    written_.push_back(
        {prompt.text, sample, text.text(), tokens, stopped ? TextEnd::kInterrupted : text.end()});
  }

  absl::Status write(const Model& model, const Prompt& prompt, int64_t sample) {
    print(shown(prompt));
    WrittenText text = text_after(prompt);
    const auto take = [&](int64_t token) {
      const bool ended = !text.add(token);
      print(ended ? text.take_rest() : text.take_settled());
      return !ended && goes_on();
    };
    SamplingOptions sampling = texts_.sampling;
    sampling.sample = static_cast<uint64_t>(sample - 1);
    const absl::StatusOr<Tokens> tokens =
        generate(model, prompt.tokens, longest(prompt), sampling, take);
    print(text.take_rest() + "\n");
    if (!tokens.ok()) return tokens.status();
    keep(prompt, sample, text, std::ssize(*tokens));
    return absl::OkStatus();
  }

  // Prints texts, one after the other, when a part of them is written.
  absl::Status write_together(const Model& model, std::span<const Prompt> prompts) {
    while (!prompts.empty() && goes_on()) {
      const auto part = prompts.first(std::min(prompts.size(), kReadTogether));
      std::vector<Tokens> tokens;
      std::vector<WrittenText> texts;
      std::vector<int64_t> left;
      for (const Prompt& prompt : part) {
        tokens.push_back(prompt.tokens);
        texts.push_back(text_after(prompt));
        left.push_back(longest(prompt));
      }
      const auto take = [&](size_t row, int64_t token) {
        if (left[row] <= 0 || stop_.stop_requested()) return false;
        --left[row];
        return texts[row].add(token);
      };
      const int64_t count = *std::ranges::max_element(left);
      RETURN_IF_ERROR(generate_all(model, tokens, count, texts_.sampling, take).status());
      for (size_t i = 0; i < part.size(); ++i) {
        print_between();
        print(absl::StrCat(shown(part[i]), texts[i].text(), "\n"));
        keep(part[i], 1, texts[i], longest(part[i]) - left[i]);
      }
      prompts = prompts.subspan(part.size());
    }
    return absl::OkStatus();
  }

  absl::Status search(const Model& model, const Prompt& prompt) {
    const auto text_of = [&](std::span<const int64_t> tokens) {
      WrittenText text = text_after(prompt);
      for (const int64_t token : tokens) text.add(token);
      return text;
    };
    const auto ends = [&](std::span<const int64_t> tokens) {
      return text_of(tokens).end() != TextEnd::kLength;
    };
    absl::StatusOr<std::vector<Hypothesis>> found =
        beam_search(model, prompt.tokens, longest(prompt), *texts_.beam, ends, stop_);
    if (absl::IsCancelled(found.status())) return absl::OkStatus();
    if (!found.ok()) return found.status();
    const WrittenText best = text_of(found->front().tokens);
    print(absl::StrCat(shown(prompt), best.text(), "\n"));
    keep(prompt, 1, best, std::ssize(found->front().tokens));
    for (Hypothesis& h : *found) {
      written_.back().beam.emplace_back(text_of(h.tokens).text(), std::move(h));
    }
    return absl::OkStatus();
  }

  const LoadedRun& run_;
  const Config& config_ = run_.checkpoint.config;
  const TaskKind& task_ = *find_task(config_.data.task);
  const TextsToContinue& texts_;
  const std::stop_token& stop_;
  const Print& print_;
  bool is_read_ = true;  // whether somebody reads the output
  std::vector<Continuation> written_;
};

absl::Status check_answer_length(const LoadedRun& run, const TextsToContinue& texts) {
  const DataForm form = form_of(run.checkpoint.config.model.kind);
  if (form == DataForm::kSequence) return absl::OkStatus();
  const int64_t longest_answer = form == DataForm::kClass ? 1 : run.longest_sequence();
  if (texts.max_new_tokens.value_or(0) <= longest_answer) return absl::OkStatus();
  return invalid_argument("--max-new-tokens: this model answers with at most ", longest_answer,
                          longest_answer == 1 ? " token" : " tokens");
}

nlohmann::ordered_json continuation_json(const Continuation& written) {
  nlohmann::ordered_json object = {{"prompt", written.prompt},
                                   {"sample", written.sample},
                                   {"text", written.text},
                                   {"tokens", written.tokens},
                                   {"end", name_of(written.end)}};
  for (const auto& [text, hypothesis] : written.beam) {
    object["beam"].push_back({{"text", text},
                              {"log_probability", hypothesis.log_probability},
                              {"score", hypothesis.score}});
  }
  return object;
}

}  // namespace

WrittenText::WrittenText(const Vocabulary& vocabulary, int64_t before,
                         std::vector<std::string> stops, std::string last_token)
    : vocabulary_(&vocabulary),
      before_(before),
      stops_(std::move(stops)),
      last_token_(std::move(last_token)) {}

bool WrittenText::add(int64_t token) {
  if (!last_token_.empty() && vocabulary_->decode({{token}}) == last_token_) {
    end_ = TextEnd::kLastToken;
    return false;
  }
  // The text that the token adds after the one before it: there may be a space between them.
  const size_t length = text_.size();
  append(vocabulary_->decode({{before_, token}}).substr(vocabulary_->decode({{before_}}).size()));
  before_ = token;

  size_t first = std::string::npos;
  for (const std::string& stop : stops_) {
    const size_t searched = length < stop.size() ? 0 : length - stop.size() + 1;
    first = std::min(first, text_.find(stop, searched));
  }
  if (first == std::string::npos) return true;
  text_.resize(first);
  unfinished_.clear();
  end_ = TextEnd::kStop;
  return false;
}

std::string WrittenText::take_settled() {
  size_t held_back = 0;
  for (const std::string& stop : stops_) {
    held_back = std::max(held_back, beginning_of_stop(text_, stop));
  }
  return take_until(text_.size() - held_back);
}

std::string WrittenText::take_rest() {
  text_ = text();
  unfinished_.clear();
  return take_until(text_.size());
}

std::string WrittenText::text() const {
  return unfinished_.empty() ? text_ : text_ + std::string(kNoCharacter);
}

void WrittenText::append(std::string_view bytes) {
  unfinished_ += bytes;
  std::string_view left = unfinished_;
  const size_t rest = unfinished_length(left);
  while (left.size() > rest) {
    const size_t length = code_point_length(left);
    text_ += length == 0 ? kNoCharacter : left.substr(0, length);
    left.remove_prefix(std::max<size_t>(length, 1));
  }
  unfinished_ = std::string(left);
}

std::string WrittenText::take_until(size_t end) {
  const size_t begin = std::exchange(taken_, std::max(taken_, end));
  return text_.substr(begin, taken_ - begin);
}

absl::Status check_options(const TextsToContinue& texts) {
  const SamplingOptions& s = texts.sampling;
  const BeamOptions beam = texts.beam.value_or(BeamOptions());
  const std::pair<bool, const char*> mistakes[] = {
      {!(s.temperature >= 0) || !std::isfinite(s.temperature), "--temperature must be 0 or more"},
      {s.top_k < 0, "--top-k must be 0 (all tokens) or more"},
      {!(s.top_p > 0) || s.top_p > 1, "--top-p must be above 0 and at most 1"},
      {texts.max_new_tokens.value_or(0) < 0, "--max-new-tokens must be 0 or more"},
      {texts.samples < 1, "--samples must be 1 or more"},
      {beam.width < 1 || beam.width > 1024, "--beam must be in 1 … 1024"},
      {!(beam.length_penalty >= 0 && beam.length_penalty <= 10),
       "--length-penalty must be in 0 … 10"}};
  for (const auto& [is_made, mistake] : mistakes) {
    if (is_made) return absl::InvalidArgumentError(mistake);
  }
  return absl::OkStatus();
}

absl::StatusOr<Continuations> continue_texts(const LoadedRun& run, const Model& model,
                                             const TextsToContinue& texts, const Print& print,
                                             const TellNote& warn, const std::stop_token& stop) {
  if (run.checkpoint.data.is_image()) {
    return failed_precondition(run.path, ": the model classifies images; it writes no text");
  }
  if (!run.checkpoint.class_names.empty()) {
    return failed_precondition(
        run.path, ": the model classifies texts; qkv predict RUN FILE asks it for their classes");
  }
  RETURN_IF_ERROR(check_answer_length(run, texts));
  ASSIGN_OR_RETURN(const std::vector<Prompt> prompts, read_prompts(run, texts.prompts, texts.file));
  const std::string warning = warning_about(run, prompts);
  if (!warning.empty()) warn(warning);
  Writer writer(run, texts, print, stop);
  const absl::Status status = writer.write_all(model, prompts);
  if (!status.ok()) {
    return absl::Status(status.code(), absl::StrCat(run.path, ": ", status.message()));
  }
  return Continuations{std::move(writer.written()), stop.stop_requested()};
}

std::string continuations_json(const LoadedRun& run, const TextsToContinue& texts,
                               const Continuations& written) {
  nlohmann::ordered_json object = {{"generate", run.path}, {"step", run.checkpoint.state.step}};
  if (!texts.beam) object["seed"] = texts.sampling.seed;
  object["texts"] = nlohmann::ordered_json::array();
  for (const Continuation& one : written.all) object["texts"].push_back(continuation_json(one));
  return object.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace qkv
