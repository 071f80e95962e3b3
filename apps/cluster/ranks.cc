#include "apps/cluster/ranks.h"

#include <cstdint>
#include <cstdlib>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace qkv {

void Ranks::broadcast(std::span<std::byte> bytes) {
  if (!leads()) return exchange({}, {{0, bytes}});
  std::vector<Outgoing> out;
  for (int other = 1; other < size(); ++other) out.push_back({other, bytes});
  exchange(out, {});
}

std::vector<std::string> Ranks::gather(const std::string& text) {
  int64_t length = std::ssize(text);
  if (!leads()) {
    exchange({{0, bytes_of(length)}, {0, std::as_bytes(std::span(text))}}, {});
    return {};
  }
  std::vector<int64_t> lengths(static_cast<size_t>(size()), length);
  std::vector<Incoming> first, second;
  for (int other = 1; other < size(); ++other) {
    first.push_back({other, bytes_of(lengths[other])});
  }
  exchange({}, first);
  std::vector<std::string> texts;
  for (const int64_t of_text : lengths) texts.emplace_back(static_cast<size_t>(of_text), '\0');
  for (int other = 1; other < size(); ++other) {
    std::string& place = texts[other];
    second.push_back({other, std::as_writable_bytes(std::span(place))});
  }
  exchange({}, second);
  texts[0] = text;
  return texts;
}

std::string Ranks::name() const { return absl::StrCat("rank ", rank(), " (on ", host(), ")"); }

absl::StatusOr<double> patience_with_ranks() {
  constexpr int kLongest = 86400;  // in seconds
  const char* const said = std::getenv("QKV_PATIENCE");
  double seconds = 20;
  if (!said) return seconds;
  if (absl::SimpleAtod(said, &seconds) && seconds > 0 && seconds <= kLongest) return seconds;
  return invalid_argument("QKV_PATIENCE is \"", said,
                          "\", but must be a number of seconds, at most a day's: ", kLongest);
}

}  // namespace qkv
