#include "apps/cluster/start_together.h"

#include <nlohmann/json.hpp>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "framework/kernels/product/matmul.h"
#include "train/config/config.h"

namespace qkv {
namespace {

using Json = nlohmann::ordered_json;

std::string name_of_rank(size_t rank, const Json& said) {
  return absl::StrCat("rank ", rank, " (on ", said["host"].get<std::string>(), ")");
}

// The first lines in which two texts differ, shown as what two ranks have; "" where none does.
std::string first_difference(const std::string& a, const std::string& b) {
  const std::vector<std::string> left = absl::StrSplit(a, '\n'), right = absl::StrSplit(b, '\n');
  for (size_t i = 0; i < std::max(left.size(), right.size()); ++i) {
    const std::string in_a = i < left.size() ? left[i] : "",
                      in_b = i < right.size() ? right[i] : "";
    if (in_a != in_b) {
      return absl::StrCat(in_a.empty() ? "nothing" : in_a, ", but rank 0 has ",
                          in_b.empty() ? "nothing" : in_b);
    }
  }
  return "";
}

absl::Status judge(const std::vector<std::string>& texts) {
  std::vector<Json> said;
  for (const std::string& text : texts) {
    said.push_back(Json::parse(text, nullptr, /*allow_exceptions=*/false));
  }
  for (size_t rank = 0; rank < said.size(); ++rank) {
    const auto code = static_cast<absl::StatusCode>(said[rank]["code"].get<int>());
    if (code == absl::StatusCode::kOk) continue;
    const auto message = said[rank]["message"].get<std::string>();
    if (rank == 0) return absl::Status(code, message);
    return absl::Status(code, absl::StrCat(name_of_rank(rank, said[rank]), ": ", message));
  }
  for (size_t rank = 1; rank < said.size(); ++rank) {
    for (const auto& [name, value] : said[rank]["identity"].items()) {
      const std::string difference =
          first_difference(value.get<std::string>(), said[0]["identity"][name].get<std::string>());
      if (difference.empty()) continue;
      return failed_precondition("all ranks need the same ", name, ": ",
                                 name_of_rank(rank, said[rank]), " has ", difference);
    }
  }
  return absl::OkStatus();
}

}  // namespace

RankIdentity identity_of(const std::string& program, const Config& config, const Dataset& dataset) {
  return {.program = program, .config = to_toml(config), .data = dataset.fingerprint()};
}

absl::Status start_together(Ranks& ranks, const absl::Status& mine, const RankIdentity& identity) {
  Json json = {{"code", static_cast<int>(mine.code())},
               {"message", std::string(mine.message())},
               {"host", ranks.host()},
               {"identity",
                {{"program", identity.program},
                 {"processor", kernels::product_instructions()},
                 {"MPI", ranks.library()},
                 {"config", identity.config},
                 {"data", identity.data}}}};
  const std::vector<std::string> texts =
      ranks.gather(json.dump(-1, ' ', false, Json::error_handler_t::replace));
  absl::Status judged = ranks.leads() ? judge(texts) : mine;
  char good = judged.ok();
  ranks.broadcast(bytes_of(good));
  if (judged.ok() && !good) return absl::AbortedError("another rank cannot start");
  return judged;
}

}  // namespace qkv
