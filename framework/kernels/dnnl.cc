#include "framework/kernels/dnnl.h"

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <dnnl.hpp>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "framework/core/error.h"
#include "framework/kernels/parallel.h"

namespace qkv::kernels {
namespace {

using Memory = dnnl::memory;

constexpr size_t kMaxCached = 1024;

std::atomic<int64_t> created{0};

const dnnl::engine& engine() {
  static const dnnl::engine& instance = *new dnnl::engine(dnnl::engine::kind::cpu, 0);
  return instance;
}

Memory::data_type data_type(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return Memory::data_type::f32;
    case DType::bf16:
      return Memory::data_type::bf16;
    default:
      fail_not_computable("matmul", dtype);
  }
}

// One matrix or a batch of them: element (n, i, j) stands at n batch_stride + i row_stride +
// j column_stride.
struct Layout {
  DType dtype;
  int64_t batch, batch_stride, row_stride, column_stride;

  auto operator<=>(const Layout&) const = default;

  Memory::desc describe(int64_t batches, int64_t rows, int64_t columns) const {
    if (batches == 1) return {{rows, columns}, data_type(dtype), {row_stride, column_stride}};
    return {{batch, rows, columns}, data_type(dtype), {batch_stride, row_stride, column_stride}};
  }
};

// All that a primitive depends on: c = a b + bias for `batch` matrices of [m, k] and [k, l].
struct Problem {
  int64_t batch, m, k, l;
  Layout a, b, c;
  bool has_bias;
  DType bias_dtype;

  auto operator<=>(const Problem&) const = default;
};

// A primitive for one thread. Parallel work is shared out above it, in pieces that do not depend on
// the number of threads, so that results don't either.
struct Product {
  dnnl::matmul::primitive_desc description;
  dnnl::matmul primitive;
  int64_t number;  // unlike that of any other
};

// Makes oneDNN use the calling thread alone.
class OneThread {
 public:
  OneThread() : before_(omp_get_max_threads()) {
    if (before_ != 1) omp_set_num_threads(1);
  }
  ~OneThread() {
    if (before_ != 1) omp_set_num_threads(before_);
  }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_;
};

Product create(const Problem& p) {
  const OneThread one_thread;
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);  // a thread brings its own
  const Memory::desc a = p.a.describe(p.batch, p.m, p.k);
  const Memory::desc b = p.b.describe(p.batch, p.k, p.l);
  const Memory::desc c = p.c.describe(p.batch, p.m, p.l);
  Memory::desc bias;
  if (p.has_bias) {
    const auto type = data_type(p.bias_dtype);
    bias = p.batch == 1 ? Memory::desc({1, p.l}, type, Memory::dims{p.l, 1})
                        : Memory::desc({1, 1, p.l}, type, Memory::dims{p.l, p.l, 1});
  }
#if DNNL_VERSION_MAJOR >= 3
  const dnnl::matmul::primitive_desc description(engine(), a, b, bias, c, attributes);
#else
  const dnnl::matmul::primitive_desc description(dnnl::matmul::desc(a, b, bias, c), attributes,
                                                 engine());
#endif
  return {description, dnnl::matmul(description), ++created};
}

std::shared_ptr<const Product> cached(const Problem& problem) {
  static std::mutex& mutex = *new std::mutex;
  static auto& cache = *new std::map<Problem, std::shared_ptr<const Product>>;
  const std::lock_guard lock(mutex);
  const auto found = cache.find(problem);
  if (found != cache.end()) return found->second;
  if (cache.size() >= kMaxCached) cache.clear();
  return cache[problem] = std::make_shared<const Product>(create(problem));
}

// What a thread needs to run a product: the memory objects, whose addresses change at every call.
class Call {
 public:
  explicit Call(const Product& product) : stream_(engine()) {
    const auto& description = product.description;
    add(DNNL_ARG_SRC, description.src_desc());
    add(DNNL_ARG_WEIGHTS, description.weights_desc());
    add(DNNL_ARG_DST, description.dst_desc());
    add(DNNL_ARG_SCRATCHPAD, description.scratchpad_desc());
    add(DNNL_ARG_BIAS, description.bias_desc());
  }

  void run(const Product& product, const void* a, const void* b, const void* bias, void* c) {
    const size_t needed = memories_[3].get_desc().get_size();
    if (scratchpad().size() * sizeof(CacheLine) < needed) {
      scratchpad().resize(needed / sizeof(CacheLine) + 1);
    }
    void* addresses[] = {const_cast<void*>(a), const_cast<void*>(b), c, scratchpad().data(),
                         const_cast<void*>(bias)};
    const size_t count = bias ? 5 : 4;
    for (size_t i = 0; i < count; ++i) memories_[i].set_data_handle(addresses[i]);
    // The C function: the C++ one builds a vector of the arguments at every call.
    dnnl::error::wrap_c_api(dnnl_primitive_execute(product.primitive.get(), stream_.get(),
                                                   static_cast<int>(count), arguments_.data()),
                            "the product could not be computed");
  }

 private:
  struct alignas(64) CacheLine {
    std::byte bytes[64];
  };

  static std::vector<CacheLine>& scratchpad() {
    thread_local std::vector<CacheLine> lines;
    return lines;
  }

  void add(int argument, const Memory::desc& desc) {
    memories_.emplace_back(desc, engine(), nullptr);
    arguments_.push_back({argument, memories_.back().get()});
  }

  dnnl::stream stream_;
  std::vector<Memory> memories_;
  std::vector<dnnl_exec_arg_t> arguments_;
};

void run(const Product& product, const void* a, const void* b, const void* bias, void* c) {
  thread_local std::unordered_map<int64_t, Call> calls;
  if (calls.size() > kMaxCached) calls.clear();
  const OneThread one_thread;
  calls.try_emplace(product.number, product).first->second.run(product, a, b, bias, c);
}

// Which size is cut into pieces, and how long a piece is.
enum class Cut { batch, rows, columns, depth };
struct Pieces {
  Cut where;
  int64_t size, length;
};

Pieces cut(const Problem& p) {
  constexpr int64_t kFlops = 4'000'000;  // worth a piece: 10 to 20 microseconds
  // To read b takes as long as some 32 rows of products by it.
  const int64_t flops = 2 * p.batch * std::max<int64_t>(p.m, 32) * p.k * p.l;
  const auto length = [&](int64_t size, int64_t most_pieces, int64_t multiple) {
    const int64_t wanted =
        std::clamp<int64_t>(flops / kFlops, 1, std::max<int64_t>(most_pieces, 1));
    // A power of two shares evenly among 2, 4, 8, … threads.
    const auto pieces = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(wanted)));
    const int64_t even = (size + pieces - 1) / pieces;
    return (even + multiple - 1) / multiple * multiple;
  };
  if (p.batch >= 8 || p.batch > p.m) return {Cut::batch, p.batch, length(p.batch, 16, 1)};
  // oneDNN rearranges both operands when a is transposed. Pieces of the sum share nothing, so that
  // each is rearranged once; that pays where the sum is long and the results to add are small.
  if (p.a.dtype == DType::bf16 && p.a.row_stride == 1 && p.m * p.l <= 16384 && p.k >= 1024 &&
      p.batch == 1 && !p.has_bias && p.c.dtype == DType::f32) {
    return {Cut::depth, p.k, length(p.k, std::min<int64_t>(p.k / 512, 8), 16)};
  }
  // Each piece reads the other matrix whole, and rearranges it: not too many. With a transposed a
  // that costs most.
  const int64_t size = std::max(p.m, p.l);
  const bool transposed_a = p.a.row_stride == 1;
  const int64_t few = transposed_a ? std::clamp<int64_t>(size / 128, 2, 8) : 8;
  const int64_t most_pieces = std::max(std::min(few, size / 32), size / 256);
  return {p.m >= p.l ? Cut::rows : Cut::columns, size, length(size, most_pieces, 16)};
}

Problem problem_of(const Array& a, const Array& b, bool transpose_a, bool transpose_b,
                   const Array* bias, const Array& c) {
  Problem p{.batch = c.shape()[0],
            .m = c.shape()[1],
            .k = a.shape()[transpose_a ? 1 : 2],
            .l = c.shape()[2],
            .a = {},
            .b = {},
            .c = {},
            .has_bias = bias != nullptr,
            .bias_dtype = bias ? bias->dtype() : DType::f32};
  // Rows of several products by the same b are rows of one product.
  const bool one_product = b.shape()[0] == 1 && a.shape()[0] == p.batch && !transpose_a;
  if (one_product) {
    p.m *= p.batch;
    p.batch = 1;
  }
  const auto layout = [&](const Array& x, bool transposed) {
    const int64_t width = x.shape()[2];
    const int64_t batch = one_product ? 1 : x.shape()[0];
    return Layout{.dtype = x.dtype(),
                  .batch = batch,
                  .batch_stride = p.batch == 1 ? 0 : x.shape()[1] * width,
                  .row_stride = transposed ? 1 : width,
                  .column_stride = transposed ? width : 1};
  };
  p.a = layout(a, transpose_a);
  p.b = layout(b, transpose_b);
  p.c = layout(c, false);
  return p;
}

// c = sum of results[i] over i
void add_up(const Array& results, Array& c) {
  const int64_t size = c.size();
  const auto* terms = results.data<float>();
  auto* out = c.mutable_data<float>();
  parallel_for(size, 8192, [=, count = results.shape()[0]](int64_t begin, int64_t end) {
    std::copy(terms + begin, terms + end, out + begin);
    for (int64_t i = 1; i < count; ++i) {
#pragma omp simd
      for (int64_t k = begin; k < end; ++k) out[k] += terms[i * size + k];
    }
  });
}

// The address of an element, counted in elements from the start.
const std::byte* at(const Array& x, int64_t element) {
  return static_cast<const std::byte*>(x.raw()) +
         element * static_cast<int64_t>(dtype_bytes(x.dtype()));
}

}  // namespace

void dnnl_matmul(const Array& a, const Array& b, bool transpose_a, bool transpose_b,
                 const Array* bias, Array& c) {
  const Problem whole = problem_of(a, b, transpose_a, transpose_b, bias, c);
  const Pieces chosen = cut(whole);  // a lambda cannot capture a structured binding everywhere
  const Cut where = chosen.where;
  const int64_t size = chosen.size, length = chosen.length;
  const int64_t pieces = (size + length - 1) / length;
  const bool sums = where == Cut::depth && pieces > 1;
  Array results = sums ? Array({pieces, whole.m, whole.l}, c.dtype()) : c;
  // Every piece but the last has the same size.
  const auto piece_of = [&](int64_t piece_length) {
    Problem p = whole;
    if (where == Cut::rows) p.m = piece_length;
    if (where == Cut::columns) p.l = piece_length;
    if (where == Cut::depth) p.k = piece_length;
    if (where == Cut::batch) {
      p.batch = p.c.batch = piece_length;
      p.a.batch = std::min(p.a.batch, piece_length);
      p.b.batch = std::min(p.b.batch, piece_length);
    }
    return cached(p);
  };
  try {
    const auto last = piece_of(size - (pieces - 1) * length);
    const auto other = pieces > 1 ? piece_of(length) : last;
    void* out = results.mutable_raw();
    parallel_for(pieces, 1, [&](int64_t begin, int64_t end) {
      for (int64_t piece = begin; piece < end; ++piece) {
        const int64_t start = piece * length;
        int64_t skip_a = 0, skip_b = 0, skip_c = 0, skip_bias = 0;  // in elements
        if (where == Cut::rows) {
          skip_a = start * whole.a.row_stride;
          skip_c = start * whole.c.row_stride;
        } else if (where == Cut::columns) {
          skip_b = start * whole.b.column_stride;
          skip_c = start;
          skip_bias = start;
        } else if (where == Cut::depth) {
          skip_a = start * whole.a.column_stride;
          skip_b = start * whole.b.row_stride;
          skip_c = piece * whole.m * whole.l;
        } else {
          skip_a = whole.a.batch > 1 ? start * whole.a.batch_stride : 0;
          skip_b = whole.b.batch > 1 ? start * whole.b.batch_stride : 0;
          skip_c = start * whole.c.batch_stride;
        }
        run(piece + 1 == pieces ? *last : *other, at(a, skip_a), at(b, skip_b),
            bias ? at(*bias, skip_bias) : nullptr,
            static_cast<std::byte*>(out) + (at(results, skip_c) - at(results, 0)));
      }
    });
  } catch (const dnnl::error& error) {
    fail(absl::StrCat("matmul: ", a.describe(), " by ", b.describe(), ": oneDNN: ", error.what()));
  }
  if (sums) add_up(results, c);
}

bool dnnl_multiplies_bf16() {
  // The bits of a set of instructions hold those of every set that it includes.
  const auto available = static_cast<unsigned>(dnnl::get_effective_cpu_isa());
  const auto needed = static_cast<unsigned>(dnnl::cpu_isa::avx512_core_bf16);
  return (available & needed) == needed;
}

int64_t dnnl_primitives_created() { return created; }

}  // namespace qkv::kernels
