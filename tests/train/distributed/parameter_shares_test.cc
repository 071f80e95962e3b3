#include "train/distributed/parameter_shares.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "framework/kernels/elementwise.h"

namespace qkv {
namespace {

std::vector<NamedParameter> parameters_of(const std::vector<int64_t>& sizes) {
  std::vector<NamedParameter> all;
  for (const int64_t size : sizes) {
    all.push_back({"p", parameter(Array::full({size}, DType::f32, 0))});
  }
  return all;
}

TEST(ParameterSharesTest, EveryElementHasOneOwnerAndOwnersHaveAboutAsMany) {
  const auto all = parameters_of({1'000'000, 3, 70'000, 40'000, 500'001, 1, 16'384});
  constexpr int64_t kTotal = 1'626'389, kLargestPiece = 1'000'000 / 32;
  for (const int ranks : {1, 2, 3, 8}) {
    const ParameterShares shares(all, ranks);
    std::map<size_t, std::vector<ParameterPart>> parts;
    for (int rank = 0; rank < ranks; ++rank) {
      EXPECT_NEAR(double(shares.elements(rank)), double(kTotal) / ranks, kLargestPiece) << ranks;
      for (const ParameterPart& part : shares.parts(rank)) parts[part.parameter].push_back(part);
    }
    for (size_t i = 0; i < all.size(); ++i) {
      std::ranges::sort(parts[i], {}, &ParameterPart::begin);
      int64_t end = 0;
      for (const ParameterPart& part : parts[i]) {
        EXPECT_EQ(part.begin, end);
        end = part.end;
        const auto pieces = kernels::sum_pieces(all[i].tensor.size());
        EXPECT_TRUE(std::ranges::count(pieces, part.end)) << "a part is made of whole pieces";
      }
      EXPECT_EQ(end, all[i].tensor.size());
    }
  }
}

TEST(ParameterSharesTest, TheLastParametersAreTheFirstBucket) {
  const ParameterShares shares(parameters_of({100'000, 100'000, 100'000}), 2);
  EXPECT_EQ(shares.buckets(), 3);
  EXPECT_EQ(shares.bucket_of(2), 0);
  EXPECT_EQ(shares.bucket_of(0), 2);
}

TEST(ParameterSharesTest, PiecesHaveTheSumsOfSquaresOfTheWhole) {
  Array x({100'003}, DType::f32);
  for (int64_t i = 0; i < x.size(); ++i) x.mutable_data<float>()[i] = 1.0f / float(i + 1);
  double sum = 0;
  for (const double piece : kernels::sums_of_squares(x, kernels::sum_pieces(x.size()))) {
    sum += piece;
  }
  EXPECT_EQ(sum, static_cast<double>(kernels::sum_of_squares(x)));
}

}  // namespace
}  // namespace qkv
