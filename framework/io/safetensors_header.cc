#include "framework/io/safetensors_header.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "framework/core/text/utf8.h"

namespace qkv {
namespace {

using nlohmann::json;

constexpr std::pair<const char*, DType> kTypes[] = {{"F64", DType::f64},
                                                    {"F32", DType::f32},
                                                    {"BF16", DType::bf16},
                                                    {"I64", DType::i64},
                                                    {"BOOL", DType::boolean}};

std::optional<DType> type_from_name(const std::string& name) {
  for (const auto& [type_name, dtype] : kTypes) {
    if (name == type_name) return dtype;
  }
  return std::nullopt;
}

// Takes the events of the JSON parser one by one, so that a key that comes twice is seen and
// nothing deeper than a header goes is ever built. Each handler returns false to stop, with error_
// set.
class HeaderReader : public nlohmann::json_sax<json> {
 public:
  absl::StatusOr<TensorFileHeader> read(std::string_view text) {
    const bool is_read = json::sax_parse(text.begin(), text.end(), this);
    if (!error_.empty()) return absl::InvalidArgumentError(error_);
    // The parser takes a zero for the end of the text.
    if (!is_read || text.find('\0') != std::string_view::npos) {
      return absl::InvalidArgumentError("the header is not valid JSON");
    }
    return std::move(header_);
  }

  bool start_object(std::size_t) override {
    switch (place_) {
      case Place::before:
        place_ = Place::file;
        return true;
      case Place::file_value:
        keys_.clear();
        if (is_metadata_) {
          place_ = Place::metadata;
        } else {
          entry_ = TensorEntry();
          place_ = Place::tensor;
        }
        return true;
      default:
        return unexpected("an object");
    }
  }

  bool key(std::string& name) override {
    switch (place_) {
      case Place::file:
        if (!names_.insert(name).second) {
          return stop(absl::StrCat("the header names ", in_quotes(name), " twice"));
        }
        name_ = name;
        is_metadata_ = name == kMetadata;
        place_ = Place::file_value;
        return true;
      case Place::metadata:
        key_ = name;
        place_ = Place::metadata_value;
        break;
      default:
        if (name == "dtype") {
          place_ = Place::dtype;
        } else if (name == "shape") {
          place_ = Place::before_shape;
        } else if (name == "data_offsets") {
          place_ = Place::before_offsets;
        } else {
          return stop(absl::StrCat(owner(), " has an unknown field ", in_quotes(name)));
        }
    }
    if (keys_.insert(name).second) return true;
    return stop(absl::StrCat(owner(), " has the field ", in_quotes(name), " twice"));
  }

  bool string(std::string& value) override {
    if (place_ == Place::metadata_value) {
      header_.metadata[key_] = value;
      place_ = Place::metadata;
      return true;
    }
    if (place_ != Place::dtype) return unexpected("a string");
    const std::optional<DType> dtype = type_from_name(value);
    entry_.dtype = dtype.value_or(DType::f32);
    entry_.type = dtype ? "" : value;
    place_ = Place::tensor;
    return true;
  }

  bool start_array(std::size_t) override {
    numbers_.clear();
    if (place_ == Place::before_shape) {
      place_ = Place::shape;
    } else if (place_ == Place::before_offsets) {
      place_ = Place::offsets;
    } else {
      return unexpected("an array");
    }
    return true;
  }

  bool number_unsigned(number_unsigned_t number) override {
    if (place_ != Place::shape && place_ != Place::offsets) return unexpected("a number");
    if (number > INT64_MAX) return stop(absl::StrCat(owner(), " has a number that is too large"));
    numbers_.push_back(static_cast<int64_t>(number));
    constexpr size_t kMaxNumbers = 64;
    return numbers_.size() <= kMaxNumbers ||
           stop(absl::StrCat(owner(), " has an array that is too long"));
  }

  bool end_array() override {
    if (place_ == Place::shape) {
      if (!set_shape()) return false;
    } else {
      if (numbers_.size() != 2 || numbers_[0] > numbers_[1]) {
        return stop(absl::StrCat(owner(), " has data_offsets that are not a begin and an end"));
      }
      entry_.begin = static_cast<uint64_t>(numbers_[0]);
      entry_.end = static_cast<uint64_t>(numbers_[1]);
    }
    place_ = Place::tensor;
    return true;
  }

  bool end_object() override {
    if (place_ == Place::tensor && !add_entry()) return false;
    place_ = place_ == Place::file ? Place::after : Place::file;
    return true;
  }

  bool null() override { return unexpected("null"); }
  bool boolean(bool) override { return unexpected("a boolean"); }
  bool number_integer(number_integer_t) override { return unexpected("a negative number"); }
  bool number_float(number_float_t, const std::string&) override {
    return unexpected("a number that is not a 64-bit integer");
  }
  bool binary(json::binary_t&) override { return unexpected("binary data"); }
  bool parse_error(std::size_t position, const std::string&, const json::exception&) override {
    return stop(absl::StrCat("the header is not valid JSON at its byte ", position));
  }

 private:
  enum class Place {
    before,  // of the header
    file,
    file_value,
    metadata,
    metadata_value,
    tensor,
    dtype,
    before_shape,
    shape,
    before_offsets,
    offsets,
    after,
  };

  std::string owner() const {
    switch (place_) {
      case Place::before:
      case Place::file:
      case Place::after:
        return "the header";
      default:
        return is_metadata_ ? kMetadata : absl::StrCat("tensor ", in_quotes(name_));
    }
  }

  bool stop(std::string error) {
    error_ = std::move(error);
    return false;
  }
  bool unexpected(const char* what) {
    return stop(absl::StrCat(owner(), " has ", what, " where the format has none"));
  }

  bool set_shape() {
    if (numbers_.size() > Shape::kMaxRank) {
      return stop(absl::StrCat(owner(), " has ", numbers_.size(),
                               " dimensions; this program knows at most ", Shape::kMaxRank));
    }
    if (!Shape::mistake_in(numbers_).empty()) {
      return stop(absl::StrCat(owner(), " has a shape whose product overflows"));
    }
    entry_.shape = Shape(numbers_);
    return true;
  }

  bool add_entry() {
    for (const char* field : {"dtype", "shape", "data_offsets"}) {
      if (keys_.count(field) == 0) return stop(absl::StrCat(owner(), " has no ", field));
    }
    entry_.name = name_;
    uint64_t bytes = entry_.end - entry_.begin;
    const size_t width = entry_.type == kHalf  ? 2
                         : entry_.type.empty() ? dtype_bytes(entry_.dtype)
                                               : 0;
    if (width > 0 &&
        __builtin_mul_overflow(static_cast<uint64_t>(entry_.shape.size()), width, &bytes)) {
      return stop(absl::StrCat(owner(), " has a shape whose product overflows"));
    }
    if (entry_.end - entry_.begin != bytes) {
      return stop(absl::StrCat(owner(), " is ", type_in_file(entry_), entry_.shape.to_string(),
                               ", which takes ", bytes, " bytes, but its data_offsets span ",
                               entry_.end - entry_.begin));
    }
    header_.tensors.push_back(std::move(entry_));
    return true;
  }

  Place place_ = Place::before;
  TensorFileHeader header_;
  std::set<std::string> names_;  // seen in the header
  std::set<std::string> keys_;   // seen in the object at hand
  std::string name_, key_;
  bool is_metadata_ = false;
  TensorEntry entry_{};
  std::vector<int64_t> numbers_;
  std::string error_;
};

}  // namespace

const char* name_of_type(DType dtype) {
  for (const auto& [type_name, type] : kTypes) {
    if (dtype == type) return type_name;
  }
  return "";
}

std::string type_in_file(const TensorEntry& entry) {
  return entry.type.empty() ? name_of_type(entry.dtype) : entry.type;
}

std::string in_quotes(const std::string& name) {
  constexpr size_t kLongest = 200;
  size_t length = std::min(name.size(), kLongest);
  while (length > 0 && length < name.size() && (name[length] & 0xC0) == 0x80) --length;
  return absl::StrCat("\"", escape(name.substr(0, length)), length < name.size() ? "…\"" : "\"");
}

absl::StatusOr<TensorFileHeader> parse_safetensors_header(std::string_view text) {
  absl::StatusOr<TensorFileHeader> header = HeaderReader().read(text);
  if (!header.ok()) return header;
  std::stable_sort(header->tensors.begin(), header->tensors.end(),
                   [](const TensorEntry& a, const TensorEntry& b) {
                     return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
                   });
  return header;
}

absl::StatusOr<std::string> safetensors_header_json(const TensorFileHeader& header) {
  std::set<std::string> names = {kMetadata};
  nlohmann::ordered_json object = nlohmann::ordered_json::object();
  if (!header.metadata.empty()) object[kMetadata] = header.metadata;
  for (const TensorEntry& entry : header.tensors) {
    if (!names.insert(entry.name).second) {
      return absl::InvalidArgumentError(absl::StrCat("two tensors named ", in_quotes(entry.name)));
    }
  }
  try {
    std::string text = object.dump();
    text.pop_back();  // the closing brace; appending here keeps many tensors linear in time
    for (const TensorEntry& entry : header.tensors) {
      nlohmann::ordered_json value;
      value["dtype"] = type_in_file(entry);
      value["shape"] = std::vector<int64_t>(entry.shape.begin(), entry.shape.end());
      value["data_offsets"] = {entry.begin, entry.end};
      absl::StrAppend(&text, text.size() > 1 ? "," : "", json(entry.name).dump(), ":",
                      value.dump());
    }
    return text + "}";
  } catch (const json::exception&) {
    return absl::InvalidArgumentError("a name or the metadata is not valid UTF-8");
  }
}

}  // namespace qkv
