#include <array>

#include "data/tasks/task_kit.h"

namespace qkv {
namespace {

// Something to like: the first characters of `verb` and `noun` stand in no other.
struct Activity {
  const char* verb;
  const char* name;  // that character
  const char* rest;
};

constexpr std::array kActivities = {
    Activity{"踢", "足", "球"}, Activity{"打", "篮", "球"},   Activity{"打", "排", "球"},
    Activity{"打", "网", "球"}, Activity{"打", "羽", "毛球"}, Activity{"打", "乒", "乓球"},
    Activity{"弹", "钢", "琴"}, Activity{"听", "音", "乐"},   Activity{"看", "电", "影"},
    Activity{"读", "书", ""},   Activity{"唱", "歌", ""},     Activity{"跳", "舞", ""},
    Activity{"下", "棋", ""},   Activity{"爬", "山", ""},     Activity{"滑", "雪", ""},
    Activity{"骑", "车", ""}};
constexpr std::array kWho = {"我", "你", "他", "她"};
constexpr std::array kLikes = {"喜欢", "爱"};
constexpr std::array kBut = {"但", "可是", "不过"};

std::string text(const Activity& activity) {
  return absl::StrCat(activity.verb, activity.name, activity.rest);
}

Sentence draw_preference(Choices& choices) {
  const std::string who = one_of(kWho, choices), likes = one_of(kLikes, choices);
  const Tokens two = draw_distinct(2, std::ssize(kActivities), choices);
  const Activity& first = kActivities[two[0]];
  const Activity& second = kActivities[two[1]];

  const std::string more = "更";
  const int64_t form = choices.below(3);
  if (form == 0) {
    return {absl::StrCat("比起", text(first), ",", who, more, likes, text(second)), second.name};
  }
  const bool prefers_first = form == 1;
  const std::string but = one_of(kBut, choices);
  return {absl::StrCat(who, prefers_first ? more : "", likes, text(first), ",", but, who,
                       prefers_first ? "" : more, likes, text(second)),
          prefers_first ? first.name : second.name};
}

std::string all_characters() {
  std::string all = "更比起,";
  for (const Activity& activity : kActivities) all += text(activity);
  for (const char* word : kWho) all += word;
  for (const char* word : kLikes) all += word;
  for (const char* word : kBut) all += word;
  return all;
}

}  // namespace

// 我喜欢踢足球,但我更喜欢打篮球=篮 ("I like football, but I like basketball more"): which one is
// liked more? Either may come first, and then nothing but the one 更 ("more") tells. The answer is
// one character, the first of the noun. Each character is a token.
TaskKind preference_task() {
  return sentence_task({.name = "preference",
                        .token_texts = characters_of(all_characters()),
                        .draw = draw_preference,
                        .longest_question = 18});  // 我喜欢打羽毛球,可是我更喜欢打乒乓球
}

}  // namespace qkv
