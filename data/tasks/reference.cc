#include <array>

#include "data/tasks/task_kit.h"

namespace qkv {
namespace {

// The nouns that a possessive can mean.
struct Group {
  const char* possessive;
  std::array<const char*, 6> nouns;
};

constexpr std::array kGroups = {
    Group{"its", {"law", "book", "city", "idea", "machine", "river"}},
    Group{"their", {"laws", "books", "cities", "judges", "farmers", "children"}},
    Group{"his", {"king", "father", "brother", "boy", "uncle", "monk"}},
    Group{"her", {"queen", "mother", "sister", "girl", "aunt", "nun"}}};
constexpr std::array kRelations = {"will never be perfect for", "came before", "changed",
                                   "could not do without"};
constexpr std::array kThings = {"application", "history", "future"};
constexpr std::array kPredicates = {"should be just", "is not certain", "was soon forgotten"};

Sentence draw_reference(Choices& choices) {
  const Tokens two = draw_distinct(2, std::ssize(kGroups), choices);
  const Group& meant = kGroups[two[0]];
  const Group& other = kGroups[two[1]];
  const std::string noun = one_of(meant.nouns, choices), another = one_of(other.nouns, choices);
  const bool comes_first = choices.below(2) == 0;
  const std::string relation = one_of(kRelations, choices), thing = one_of(kThings, choices);
  return {absl::StrCat("the ", comes_first ? noun : another, " ", relation, " the ",
                       comes_first ? another : noun, " , but ", meant.possessive, " ", thing, " ",
                       one_of(kPredicates, choices)),
          noun};
}

std::string all_words() {
  std::string all = "the , but";
  for (const Group& group : kGroups) {
    absl::StrAppend(&all, " ", group.possessive);
    for (const char* noun : group.nouns) absl::StrAppend(&all, " ", noun);
  }
  for (const char* words : kRelations) absl::StrAppend(&all, " ", words);
  for (const char* words : kThings) absl::StrAppend(&all, " ", words);
  for (const char* words : kPredicates) absl::StrAppend(&all, " ", words);
  return all;
}

}  // namespace

// the law will never be perfect for the judges , but its application should be just = law: whose?
// The possessive (its, their, his, her) agrees with one of two nouns, which come in either order.
// Each word is a token.
TaskKind reference_task() {
  return sentence_task({.name = "reference",
                        .token_texts = words_of(all_words()),
                        .draw = draw_reference,
                        .longest_question = 16});  // of the sentence above
}

}  // namespace qkv
