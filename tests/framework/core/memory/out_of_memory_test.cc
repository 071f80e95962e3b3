#include "framework/core/memory/out_of_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "framework/autograd/backward.h"
#include "framework/core/error.h"
#include "framework/core/memory/storage.h"
#include "framework/graph/op.h"
#include "framework/kernels/parallel.h"
#include "framework/ops/ops.h"

namespace qkv {
namespace {

using testing::MatchesRegex;

constexpr int64_t kTooMany = int64_t{1} << 50;

std::string text_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const OutOfMemory& error) {
    return error.what();
  }
  return "";
}

TEST(OutOfMemoryTest, SaysForWhatHowMuchWasAskedAndWhere) {
  EXPECT_THAT(text_of([] {
                Array({2, kTooMany / 8}, DType::f32);
              }),
              MatchesRegex("there is not enough memory for f32\\[2, 140737488355328\\], 1.0 PiB, "
                           "beside [0-9.]+ [A-Za-z]+ in use"));
  const Scope block("blocks.0");
  const Scope attention("attention");
  EXPECT_THAT(text_of([] { pad(ones({1}), 0, 0, kTooMany); }),
              MatchesRegex("pad: there is not enough memory for f32\\[1125899906842624\\], 4.0 "
                           "PiB, beside [0-9.]+ [A-Za-z]+ in use \\(in blocks.0.attention\\)"));
}

TEST(OutOfMemoryTest, CountsWhatIsInUse) {
  const Array eight_mebibytes({1 << 20}, DType::f64);
  const uint64_t in_use = allocator_statistics().bytes_in_use;
  EXPECT_THAT(text_of([] { Array({kTooMany}, DType::f32); }),
              testing::EndsWith("beside " + describe_bytes(in_use) + " in use"));
  EXPECT_GE(in_use, 8u << 20);
  EXPECT_EQ(allocator_statistics().bytes_in_use, in_use);
}

// An op that needs more than there is, in its forward or in its backward, on a thread of its own.
class Greedy final : public Op {
 public:
  enum class Where { kForward, kBackward, kThread, kVector };
  explicit Greedy(Where where) : where_(where) {}
  std::string_view name() const override { return "greedy"; }
  Array forward(const Inputs& x) override {
    if (where_ == Where::kForward) Array({kTooMany}, DType::f32);
    if (where_ == Where::kVector) throw std::bad_alloc();
    if (where_ == Where::kThread) {
      kernels::parallel_for(8, 1, [](int64_t, int64_t) { Array({kTooMany}, DType::f32); });
    }
    return x[0];
  }
  std::vector<Tensor> backward(const Saved&, const Tensor& dy) const override {
    if (where_ == Where::kBackward) Array({kTooMany}, DType::f32);
    return {dy};
  }

 private:
  Where where_;
};

TEST(OutOfMemoryTest, NamesTheOpAndThePlaceWhereverItCameFrom) {
  const std::string sentence =
      "there is not enough memory for f32\\[1125899906842624\\], 4.0 PiB, "
      "beside [0-9.]+ [A-Za-z]+ in use \\(in here\\)";
  const Tensor x = parameter(Array::full({}, DType::f32, 1.0));
  const auto run = [&](Greedy::Where where) {
    const Tensor y = [&] {
      const Scope scope("here");
      return apply<Greedy>({x}, where);
    }();
    backward(y);
  };
  EXPECT_THAT(text_of([&] { run(Greedy::Where::kForward); }), MatchesRegex("greedy: " + sentence));
  EXPECT_THAT(text_of([&] { run(Greedy::Where::kThread); }), MatchesRegex("greedy: " + sentence));
  EXPECT_THAT(text_of([&] { run(Greedy::Where::kBackward); }),
              MatchesRegex("backward of greedy: " + sentence));
  EXPECT_EQ(text_of([&] { run(Greedy::Where::kVector); }),
            "greedy: there is not enough memory (in here)");
}

TEST(OutOfMemoryTest, IsWhatNewThrows) {
  EXPECT_THROW(Array({kTooMany}, DType::f32), std::bad_alloc);
  EXPECT_THROW(Storage(SIZE_MAX), std::bad_alloc);
  EXPECT_THROW(Storage(std::numeric_limits<size_t>::max() / 2), std::bad_alloc);
}

TEST(DescribeBytesTest, HasTwoDigitsOrMore) {
  EXPECT_EQ(describe_bytes(0), "0 bytes");
  EXPECT_EQ(describe_bytes(1023), "1023 bytes");
  EXPECT_EQ(describe_bytes(1024), "1.0 KiB");
  EXPECT_EQ(describe_bytes((int64_t{1} << 20) - 1), "1.0 MiB");
  EXPECT_EQ(describe_bytes(3328599654), "3.1 GiB");
  EXPECT_EQ(describe_bytes(uint64_t{32} << 30), "32 GiB");
  EXPECT_EQ(describe_bytes(std::numeric_limits<uint64_t>::max()), "16 EiB");
}

}  // namespace
}  // namespace qkv
