// What becomes of products where oneDNN is wrong. This program has a function of its own in the
// place of the one that makes oneDNN compute. It calls that one, and may then spoil the result.

#include <dlfcn.h>
#include <dnnl.h>

#include <atomic>
#include <cstdlib>
#include <limits>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "framework/kernels/product/matmul.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/framework/kernels/testing.h"

namespace qkv::kernels {
namespace {

// While one lives, the primitives that compute for the first time are wrong from then on: all, or
// those with the numbers first … last.
class WrongProducts {
 public:
  explicit WrongProducts(int first = 0, int last = std::numeric_limits<int>::max())
      : first_(first), last_(last) {
    current = this;
  }
  ~WrongProducts() { current = nullptr; }
  WrongProducts(const WrongProducts&) = delete;
  WrongProducts& operator=(const WrongProducts&) = delete;

  bool has(const_dnnl_primitive_t primitive) {
    const std::lock_guard lock(mutex_);
    const int number =
        numbers_.try_emplace(primitive, static_cast<int>(numbers_.size())).first->second;
    return number >= first_ && number <= last_;
  }

  static std::atomic<WrongProducts*> current;

 private:
  std::mutex mutex_;
  std::map<const_dnnl_primitive_t, int> numbers_;
  int first_, last_;
};

std::atomic<WrongProducts*> WrongProducts::current{nullptr};

}  // namespace
}  // namespace qkv::kernels

extern "C" dnnl_status_t dnnl_primitive_execute(const_dnnl_primitive_t primitive,
                                                dnnl_stream_t stream, int count,
                                                const dnnl_exec_arg_t* arguments) {
  static const auto execute = reinterpret_cast<decltype(&dnnl_primitive_execute)>(
      dlsym(RTLD_NEXT, "dnnl_primitive_execute"));
  const dnnl_status_t status = execute(primitive, stream, count, arguments);
  qkv::kernels::WrongProducts* wrong = qkv::kernels::WrongProducts::current;
  for (int i = 0; i < count; ++i) {
    if (arguments[i].arg != DNNL_ARG_DST || !wrong || !wrong->has(primitive)) continue;
    void* result = nullptr;
    dnnl_memory_get_data_handle(arguments[i].memory, &result);
    *static_cast<float*>(result) += 1;
  }
  return status;
}

namespace qkv::kernels {
namespace {

// c = op(a) op(b) + bias of numbers that bf16 holds, so that every type has the same result. A `k`
// that no other test has makes it a product that oneDNN has not seen.
Array product(DType dtype, int64_t k, bool transpose = false) {
  const Shape wide = {2, 24, k}, tall = {2, k, 24};
  const auto numbers = [&](const Shape& shape, uint64_t seed) {
    return as(dtype, as(DType::bf16, normal(shape, seed)));
  };
  const DType sums = dtype == DType::f64 ? dtype : DType::f32;
  const Array bias = as(sums, normal({24}, 3));
  Array c({2, 24, 24}, sums);
  matmul(numbers(transpose ? tall : wide, 1), numbers(transpose ? wide : tall, 2), transpose,
         transpose, &bias, c);
  return c;
}

TEST(WrongOneDnn, ItsProductsAreRightAllTheSame) {
  const WrongProducts wrong;
  int64_t k = 1001;
  for (const DType dtype : {DType::f32, DType::bf16}) {
    for (const bool transpose : {false, true}) {
      expect_close(product(dtype, k, transpose), product(DType::f64, k, transpose), 1e-4);
      ++k;
    }
  }
}

TEST(WrongOneDnn, OneOfTheTwoPrimitivesOfAProductIsEnough) {
  for (const int which : {0, 1}) {
    const int64_t k = 1100 + which;
    const Array a = normal({1, 131, k}, 1), b = normal({1, k, 60}, 2);
    Array c({1, 131, 60}, DType::f32), expected({1, 131, 60}, DType::f64);
    matmul(a, b, false, false, nullptr, expected);
    const WrongProducts wrong(which, which);
    const int64_t created = primitives_created();
    matmul(as(DType::f32, a), as(DType::f32, b), false, false, nullptr, c);
    EXPECT_EQ(primitives_created(), created + 2);  // the pieces, and the last of them
    expect_close(c, expected, 1e-4);
  }
}

TEST(WrongOneDnn, IsAskedOnceAboutAProduct) {
  const Array before = [] {
    const WrongProducts wrong;
    return product(DType::f32, 1011);
  }();
  const int64_t created = primitives_created();
  EXPECT_EQ(bits(product(DType::f32, 1011)), bits(before));
  EXPECT_EQ(primitives_created(), created);
}

TEST(WrongOneDnn, ComputesInF32WhatItGetsWrongInBf16) {
  if (!bf16_products_are_fast()) return;  // f32 is all that it is asked for
  const Array bf16 = [] {
    const WrongProducts wrong(0, 0);
    return product(DType::bf16, 1021);
  }();
  const int64_t created = primitives_created();
  EXPECT_EQ(bits(product(DType::f32, 1021)), bits(bf16));
  EXPECT_EQ(primitives_created(), created);
}

TEST(WrongOneDnn, ProductsHaveTheSameBitsForAnyThreads) {
  const WrongProducts wrong;
  same_bits_for_any_threads([] {
    return std::vector<Array>{product(DType::f32, 1031), product(DType::bf16, 1032, true)};
  });
}

TEST(WrongOneDnn, IsNamedOnceOnStandardError) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // in a process that has said nothing yet
  const auto multiply = [] {
    const WrongProducts wrong;
    product(DType::f32, 1041);
    product(DType::f32, 1042);
    std::exit(0);
  };
  const std::string once =
      "^warning: oneDNN [0-9.]+ \\([^()]+\\) multiplies f32\\[2, 24, 1041\\] [^\n]*by "
      "f32\\[2, 1041, 24\\] [^\n]*into f32\\[2, 24, 24\\] [^\n]*with a bias wrongly on this "
      "processor; [^\n]*\n$";
  EXPECT_EXIT(multiply(), testing::ExitedWithCode(0), testing::ContainsRegex(once));
}

}  // namespace
}  // namespace qkv::kernels
