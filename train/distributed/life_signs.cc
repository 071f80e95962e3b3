#include "train/distributed/life_signs.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace qkv {

LifeSigns::LifeSigns(int rank, std::vector<std::string> names, double patience)
    : self_(static_cast<size_t>(rank)),
      names_(std::move(names)),
      patience_(patience),
      ranks_(names_.size()) {}

void LifeSigns::heard(int from, const LifeSign& sign) {
  heard(from);
  Rank& rank = ranks_[static_cast<size_t>(from)];
  rank.sign = sign;
  if (sign.what != LifeSign::kIdles) rank.idleness = 0;
}

void LifeSigns::note_own(const LifeSign& sign) { heard(static_cast<int>(self_), sign); }

bool LifeSigns::all_wait() const {
  return std::ranges::all_of(ranks_,
                             [](const Rank& rank) { return rank.sign.what == LifeSign::kWaits; });
}

int64_t LifeSigns::arrivals() const {
  int64_t sum = 0;
  for (const Rank& rank : ranks_) sum += rank.sign.arrivals;
  return sum;
}

bool LifeSigns::alone() const {
  for (size_t i = 0; i < ranks_.size(); ++i) {
    if (hears(i) && ranks_[i].sign.what != LifeSign::kLeaves) return false;
  }
  return true;
}

std::string LifeSigns::pass(double seconds) {
  // Where the network is down all notice it. Rank 0, whom a person hears, is the first, and then
  // one of the others.
  const double patience = patience_ * (1 + 0.1 * static_cast<double>(std::min<size_t>(self_, 2)));
  for (size_t i = 0; i < ranks_.size(); ++i) {
    Rank& rank = ranks_[i];
    if (hears(i) && rank.sign.what != LifeSign::kLeaves) rank.silence += seconds;
    if (rank.silence > patience) {
      return absl::StrCat(names_[i], " has given no sign of life for ", patience_,
                          " s: it is stopped, or its machine or the network is down");
    }
    if (self_ != 0) continue;
    if (rank.sign.what == LifeSign::kIdles) rank.idleness += seconds;
    if (rank.idleness > patience) {
      return absl::StrCat(names_[i], " has done nothing for ", patience_,
                          " s, and waits for no other rank: something blocks it");
    }
  }
  if (self_ != 0) return "";
  all_waited_ = all_wait() && arrived_ == arrivals() ? all_waited_ + seconds : 0;
  arrived_ = arrivals();
  if (all_waited_ <= patience) return "";
  return absl::StrCat("all ranks have waited for one another for ", patience_,
                      " s, a mistake in qkv");
}

}  // namespace qkv
