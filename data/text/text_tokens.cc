#include "data/text/text_tokens.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "data/text/text_pass.h"
#include "data/text/vocabulary_builder.h"
#include "framework/core/random.h"

namespace qkv {
namespace {

// Appends the tokens of a text that comes in parts.
class PartEncoder {
 public:
  PartEncoder(const Vocabulary& vocabulary, TokenWriter& writer)
      : vocabulary_(vocabulary), writer_(writer) {}

  absl::Status add(std::string_view part) {
    if (rest_.empty()) return encode(part);
    const std::string text = absl::StrCat(std::exchange(rest_, ""), std::string(part));
    return encode(text);
  }
  absl::Status end_text() { return write(std::exchange(rest_, "")); }

 private:
  absl::Status encode(std::string_view text) {
    const size_t length = vocabulary_.safe_length(text);
    rest_ = text.substr(length);
    return write(text.substr(0, length));
  }
  absl::Status write(std::string_view text) {
    tokens_.clear();
    RETURN_IF_ERROR(vocabulary_.encode(text, tokens_));
    return writer_.add(tokens_);
  }

  const Vocabulary& vocabulary_;
  TokenWriter& writer_;
  std::string rest_;  // whose tokens depend on the next part
  std::vector<int64_t> tokens_;
};

// The two parts of a text: from one file, or from a file each.
struct Sources {
  SourceFiles training, validation;
  bool has_validation = false;

  int64_t bytes() const { return training.bytes() + validation.bytes(); }
};

// A file that is named twice, by whatever path, would be for training and for validation.
absl::Status check_sides(const Sources& sources) {
  FileMistakes mistakes;
  std::map<std::string_view, std::string_view> trained;  // the path of each file
  for (const SourceFile& file : sources.training.files) {
    const auto [first, is_new] = trained.emplace(file.state, file.path);
    if (is_new || sources.has_validation) continue;
    mistakes.add(file.path, 0, "is the same file as ", std::string(first->second),
                 "; without data.validation_path a text has each file once");
  }
  for (const SourceFile& file : sources.validation.files) {
    const auto found = trained.find(file.state);
    if (found == trained.end()) continue;
    mistakes.add(file.path, 0, "is in both validation and training, there as ",
                 std::string(found->second), "; leave it out of one of the two");
  }
  return mistakes.status();
}

absl::StatusOr<Sources> find_sources(const DataOptions& options, bool all_is_one_part) {
  Sources sources;
  ASSIGN_OR_RETURN(sources.training, find_source_files(options.path));
  sources.has_validation = !options.validation_path.empty() && !all_is_one_part;
  if (sources.has_validation) {
    ASSIGN_OR_RETURN(sources.validation, find_source_files(options.validation_path));
  }
  if (absl::Status status = check_sides(sources); !status.ok() && !all_is_one_part) return status;
  return sources;
}

// Whether the vocabulary is learned from the training part alone.
bool is_learned(const DataOptions& options) {
  return options.tokens == TokenKind::kWords || options.tokens == TokenKind::kBpe ||
         options.min_count > 0;
}

// All that decides on the tokens: where two keys are equal, so are they.
std::string key_of(const Sources& sources, const DataOptions& options, const Vocabulary* known) {
  nlohmann::json parts;
  for (const SourceFiles* part : {&sources.training, &sources.validation}) {
    nlohmann::json files = nlohmann::json::array();
    for (const SourceFile& file : part->files) files.push_back(file.state);
    parts.push_back(files);
  }
  return nlohmann::json({{"version", 2},  // 1 read other line ends
                         {"files", parts},
                         {"train_fraction", options.train_fraction},
                         {"tokens", name_of(options.tokens)},
                         {"vocabulary_size", is_learned(options) ? options.vocabulary_size : 0},
                         {"least_count", least_count(options, /*are_questions=*/false)},
                         {"known", known ? fingerprint_of(text_of_vocabulary(*known)) : ""}})
      .dump();
}

// One for each text: that of a file that has changed takes the place of the one before.
std::string cache_name(const DataOptions& options, bool has_known_vocabulary) {
  std::string whole = has_known_vocabulary ? "known " : "";
  for (const std::string* paths : {&options.path, &options.validation_path}) {
    for (const std::string& path : split_paths(*paths)) {
      std::error_code ignored;
      absl::StrAppend(&whole, std::filesystem::weakly_canonical(path, ignored).string(), "\n");
    }
    absl::StrAppend(&whole, "\n");
  }
  const std::filesystem::path first = split_paths(options.path).front();
  return absl::StrCat(first.filename().string().substr(0, 100), "-", fingerprint_of(whole));
}

// Whether a file could change now and have the times that it has: of a file that was written this
// very moment no tokens may be kept.
bool may_change_unseen(const Sources& sources) {
  using std::chrono::system_clock;
  // The clock of a file system has ticks of at most 10 ms, or counts whole or even seconds.
  const auto now =
      std::chrono::duration_cast<std::chrono::nanoseconds>(system_clock::now().time_since_epoch());
  for (const SourceFiles* part : {&sources.training, &sources.validation}) {
    for (const SourceFile& file : part->files) {
      const int64_t tick = file.changed % 1'000'000'000 == 0 ? 2'000'000'000 : 20'000'000;
      if (now.count() - file.changed < tick) return true;
    }
  }
  return false;
}

class TextReading {
 public:
  TextReading(const DataOptions& options, const Vocabulary* known, bool judges, const Wait& wait,
              const TextLimits& limits, Sources sources)
      : options_(options),
        known_(known),
        judges_(judges),
        limits_(limits),
        sources_(std::move(sources)),
        learns_in_survey_(!is_learned(options) || options.train_fraction == 1),
        passes_(paths_to_show(options.path), wait, limits.piece_bytes,
                (known || learns_in_survey_ ? 2 : 3) * sources_.bytes(),
                (known ? known->kind() : options.tokens) == TokenKind::kBytes ? Bytes::kAsIs
                                                                              : Bytes::kAsText),
        builder_(options.tokens, options.vocabulary_size, options.tokenizer,
                 least_count(options, /*are_questions=*/false)) {}

  absl::StatusOr<TextTokens> run() {
    const bool is_large = sources_.bytes() > limits_.in_memory;
    const std::string key = key_of(sources_, options_, known_);
    std::string path;
    std::optional<LargeFile> file;
    if (is_large) {
      ASSIGN_OR_RETURN(path, token_cache_path(cache_name(options_, judges_)));
      if (std::optional<TextTokens> found = load_tokens(path, key)) return *std::move(found);
      ASSIGN_OR_RETURN(LargeFile made, LargeFile::create(path));
      file.emplace(std::move(made));
    }
    RETURN_IF_ERROR(survey());
    ASSIGN_OR_RETURN(Vocabulary vocabulary, known_ ? *known_ : learn());
    TokenWriter writer(vocabulary.size(), std::move(file), training_size_ + validation_size_);
    ASSIGN_OR_RETURN(const int64_t training_tokens, encode(vocabulary, writer));
    ASSIGN_OR_RETURN(const Sources now, find_sources(options_, judges_));
    if (key_of(now, options_, known_) != key) return changed();
    RETURN_IF_ERROR(writer.finish());
    if (is_large && !may_change_unseen(sources_)) {
      absl::Status kept = append_key(writer, key, vocabulary, fingerprint(), training_tokens);
      if (kept.ok()) kept = writer.file().keep();
      if (!kept.ok()) return kept;
    }
    return TextTokens{std::move(vocabulary), fingerprint(), training_tokens,
                      std::move(writer).store(path)};
  }

 private:
  absl::Status changed() const {
    return failed_precondition(paths_to_show(options_.path),
                               " was changed while it was read; start again");
  }

  // Counts the characters, and collects the parts of the fingerprint; the vocabulary as well where
  // that needs no cut.
  absl::Status survey() {
    const auto count = [this](std::string_view piece, int64_t& size, StableHash& hash) {
      size += characters_in(piece);
      hash.add(piece);
      return absl::OkStatus();
    };
    const bool learns = learns_in_survey_ && !known_;
    RETURN_IF_ERROR(passes_.read(sources_.training, [&](std::string_view piece) {
      if (learns) builder_.add(piece);
      return count(piece, training_size_, training_hash_);
    }));
    builder_.end_text();
    RETURN_IF_ERROR(passes_.read(sources_.validation, [&](std::string_view piece) {
      if (learns) builder_.add_validation(piece);
      return count(piece, validation_size_, validation_hash_);
    }));
    if (training_size_ == 0) return is_empty(options_.path);
    if (sources_.has_validation && validation_size_ == 0) return is_empty(options_.validation_path);
    return absl::OkStatus();
  }

  absl::StatusOr<Vocabulary> learn() {
    if (!learns_in_survey_) {
      RETURN_IF_ERROR(read_parts(
          [this](std::string_view piece) {
            builder_.add(piece);
            return absl::OkStatus();
          },
          [this] {
            builder_.end_text();
            return absl::OkStatus();
          },
          [this](std::string_view piece) {
            builder_.add_validation(piece);
            return absl::OkStatus();
          }));
    }
    return builder_.build();
  }

  static absl::Status is_empty(const std::string& paths) {
    return invalid_argument(paths_to_show(paths), ": is empty");
  }

  // The first characters are for training.
  int64_t training_characters() const {
    if (judges_) return 0;
    return static_cast<int64_t>(static_cast<double>(training_size_) * options_.train_fraction);
  }

  // Gives the part for training to `train`, calls `end`, and gives all else to `validate`; but if
  // validation has files of its own, the rest of training's files to nobody.
  using Take = TextPasses::Take;
  absl::Status read_parts(Take train, absl::FunctionRef<absl::Status()> end, Take validate) {
    int64_t left = training_characters();
    bool passes_left = sources_.has_validation;
    const auto take = [&](std::string_view piece) -> absl::Status {
      if (left == 0) return passes_left ? absl::OkStatus() : validate(piece);
      const int64_t characters = characters_in(piece);
      const std::string_view training = characters <= left ? piece : first_characters(piece, left);
      left -= std::min(characters, left);
      RETURN_IF_ERROR(train(training));
      if (left > 0) return absl::OkStatus();
      RETURN_IF_ERROR(end());
      piece.remove_prefix(training.size());
      return piece.empty() || passes_left ? absl::OkStatus() : validate(piece);
    };
    absl::Status status = passes_.read(sources_.training, take);
    passes_left = false;
    return status.ok() ? passes_.read(sources_.validation, take) : status;
  }

  // Writes all tokens. Returns how many of them are for training.
  absl::StatusOr<int64_t> encode(const Vocabulary& vocabulary, TokenWriter& writer) {
    PartEncoder encoder(vocabulary, writer);
    int64_t training_tokens = 0;
    const auto add = [&](std::string_view piece) { return encoder.add(piece); };
    const auto end = [&] {
      absl::Status status = encoder.end_text();
      training_tokens = writer.size();
      return status;
    };
    absl::Status status = read_parts(add, end, add);
    if (status.ok()) status = encoder.end_text();
    if (status.ok()) return training_tokens;
    return why_not_encoded(vocabulary, status);
  }

  static std::string_view first_characters(std::string_view text, int64_t count) {
    size_t end = 0;
    for (; end < text.size(); ++end) {
      if ((text[end] & 0xC0) != 0x80 && count-- == 0) break;
    }
    return text.substr(0, end);
  }

  // Where a vocabulary does not know a text: in the one that is made of it every character was.
  absl::Status why_not_encoded(const Vocabulary& vocabulary, const absl::Status& status) {
    if (!absl::IsInvalidArgument(status)) return status;
    if (!known_) return changed();
    FileMistakes mistakes;
    const auto take = [&](const std::string& path, int64_t number, std::string_view line) {
      const auto tokens = vocabulary.encode(line);
      if (!tokens.ok()) mistakes.add(path, number, tokens.status().message());
    };
    for (const SourceFiles* files : {&sources_.training, &sources_.validation}) {
      RETURN_IF_ERROR(passes_.read_lines(*files, take));
    }
    return mistakes.empty() ? changed() : mistakes.status();
  }

  std::string fingerprint() const {
    const auto digits = [](const StableHash& hash) {
      return absl::StrFormat("%016x", hash.value());
    };
    if (!sources_.has_validation) return digits(training_hash_);
    return fingerprint_of(absl::StrCat(digits(training_hash_), digits(validation_hash_)));
  }

  const DataOptions& options_;
  const Vocabulary* known_;  // nullptr: it is made of the text
  bool judges_;              // all of the text is for validation
  TextLimits limits_;
  Sources sources_;
  bool learns_in_survey_;
  TextPasses passes_;
  VocabularyBuilder builder_;
  StableHash training_hash_, validation_hash_;
  int64_t training_size_ = 0, validation_size_ = 0;  // in characters
};

absl::StatusOr<ReadText> read_tokens(const DataOptions& options, const Vocabulary* known,
                                     bool judges, const Wait& wait, const TextLimits& limits) {
  ASSIGN_OR_RETURN(Sources sources, find_sources(options, judges));
  std::vector<std::string> notes = notes_on_left_out({&sources.training, &sources.validation});
  TextReading reading(options, known, judges, wait, limits, std::move(sources));
  ASSIGN_OR_RETURN(TextTokens text, reading.run());
  return ReadText{std::move(text), std::move(notes)};
}

}  // namespace

absl::StatusOr<ReadText> read_text_tokens(const DataOptions& options, const Wait& wait,
                                          const TextLimits& limits) {
  if (options.tokens != TokenKind::kTokenizer) {
    return read_tokens(options, nullptr, false, wait, limits);
  }
  ASSIGN_OR_RETURN(const Vocabulary given,
                   VocabularyBuilder(options.tokens, 0, options.tokenizer).build());
  return read_tokens(options, &given, false, wait, limits);
}

absl::StatusOr<ReadText> read_known_tokens(const DataOptions& options, const Vocabulary& known,
                                           const Wait& wait, const TextLimits& limits) {
  return read_tokens(options, &known, true, wait, limits);
}

}  // namespace qkv
