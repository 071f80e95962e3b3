#include "train/distributed/ranks.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <string_view>
#include <thread>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace qkv {
namespace {

StartRanks how_to_start = nullptr;

std::span<const std::byte> as_bytes(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

}  // namespace

void set_start_ranks(StartRanks start) { how_to_start = start; }

absl::StatusOr<std::unique_ptr<Ranks>> start_ranks() {
  if (how_to_start) return how_to_start();
  for (const char* variable : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}) {
    const char* ranks = std::getenv(variable);
    if (!ranks || std::string_view(ranks) == "1") continue;
    return absl::FailedPreconditionError(
        absl::StrCat("mpirun has started ", ranks,
                     " processes, but this program was built without MPI, so that each would train "
                     "alone; cmake --preset mpi builds one that shares a run"));
  }
  return nullptr;
}

void Ranks::wait(Message& message) {
  if (message.done()) return;
  waits_ = true;
  // A rank that shares its core with another one lets that one go on.
  for (int64_t tries = 0; !message.done(); ++tries) {
    poll(message);
    if (tries > 64 && !message.done()) std::this_thread::yield();
  }
  waits_ = false;
}

void Ranks::wait_all(std::span<Message> messages) {
  for (Message& message : messages) wait(message);
}

// The binomial tree: a rank hears from the one without its highest bit.
void Ranks::broadcast(std::span<std::byte> bytes, Subject subject) {
  const auto self = static_cast<unsigned>(rank());
  if (self > 0) {
    Message message = receive(static_cast<int>(self - std::bit_floor(self)), subject, bytes);
    wait(message);
  }
  std::vector<Message> messages;
  for (unsigned bit = self == 0 ? 1 : 2 * std::bit_floor(self);
       self + bit < static_cast<unsigned>(size()); bit *= 2) {
    messages.push_back(send(static_cast<int>(self + bit), subject, bytes));
  }
  wait_all(messages);
}

std::vector<std::string> Ranks::gather(const std::string& text) {
  int64_t length = std::ssize(text);
  const std::span<int64_t> length_span(&length, 1);
  if (!leads()) {
    Message first = send(0, kTexts, std::as_bytes(length_span));
    wait(first);
    Message second = send(0, kTexts, as_bytes(text));
    wait(second);
    return {};
  }
  std::vector<std::string> texts = {text};
  for (int from = 1; from < size(); ++from) {
    Message first = receive(from, kTexts, bytes_of(length_span));
    wait(first);
    std::string& other = texts.emplace_back(static_cast<size_t>(length), '\0');
    Message second = receive(from, kTexts, bytes_of(std::span(other.data(), other.size())));
    wait(second);
  }
  return texts;
}

std::vector<double> Ranks::gather_on_all(std::span<const double> mine,
                                         std::span<const int64_t> counts) {
  std::vector<double> all;
  std::vector<size_t> begins;
  for (const int64_t count : counts) {
    begins.push_back(all.size());
    all.resize(all.size() + static_cast<size_t>(count));
  }
  std::vector<Message> messages;
  for (int other = 0; other < size(); ++other) {
    const std::span<double> place(all.data() + begins[static_cast<size_t>(other)],
                                  static_cast<size_t>(counts[static_cast<size_t>(other)]));
    if (other == rank()) {
      std::copy(mine.begin(), mine.end(), place.begin());
      continue;
    }
    messages.push_back(receive(other, kSums, bytes_of(place)));
    messages.push_back(send(other, kSums, std::as_bytes(mine)));
  }
  wait_all(messages);
  return all;
}

}  // namespace qkv
