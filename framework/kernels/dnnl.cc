#include "framework/kernels/dnnl.h"

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdio>
#include <dnnl.hpp>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "framework/core/error.h"
#include "framework/kernels/matrices.h"
#include "framework/kernels/parallel.h"
#include "framework/kernels/product_check.h"

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

// What oneDNN multiplies has two axes, or three where there are several matrices.
Memory::desc memory_of(const Matrices& x, bool several) {
  const auto type = data_type(x.dtype);
  if (!several) return {{x.rows, x.columns}, type, {x.row_stride, x.column_stride}};
  return {{x.batch, x.rows, x.columns}, type, {x.batch_stride, x.row_stride, x.column_stride}};
}

// A primitive for one thread. Parallel work is shared out above it, in pieces that do not depend on
// the number of threads, so that results don't either.
struct Product {
  dnnl::matmul::primitive_desc description;
  dnnl::matmul primitive;
  int64_t number;     // unlike that of any other
  bool right = true;  // whether it gives what it says
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

Product create(const MatrixProduct& p) {
  const OneThread one_thread;
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);  // a thread brings its own
  const bool several = p.c.batch > 1;
  const Memory::desc a = memory_of(p.a, several), b = memory_of(p.b, several);
  const Memory::desc c = memory_of(p.c, several);
  const Memory::desc bias = p.bias ? memory_of(*p.bias, several) : Memory::desc();
#if DNNL_VERSION_MAJOR >= 3
  const dnnl::matmul::primitive_desc description(engine(), a, b, bias, c, attributes);
#else
  const dnnl::matmul::primitive_desc description(dnnl::matmul::desc(a, b, bias, c), attributes,
                                                 engine());
#endif
  return {description, dnnl::matmul(description), ++created};
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

std::string describe(const Matrices& x) {
  return absl::StrFormat("%s[%d, %d, %d] (strides %d, %d, %d)", dtype_name(x.dtype), x.batch,
                         x.rows, x.columns, x.batch_stride, x.row_stride, x.column_stride);
}

// Once for all of them: where one product is wrong, others are.
void warn_of(const MatrixProduct& p, const Product& product) {
  static std::atomic<bool> warned{false};
  if (warned.exchange(true)) return;
  const dnnl_version_t& version = *dnnl::version();
  absl::FPrintF(stderr,
                "warning: oneDNN %d.%d.%d (%s) multiplies %s by %s into %s%s wrongly on this "
                "processor; such products are computed in another way, right and slower\n",
                version.major, version.minor, version.patch, product.description.impl_info_str(),
                describe(p.a), describe(p.b), describe(p.c), p.bias ? " with a bias" : "");
}

// The primitive for a product, put to the test when it is made: no version of oneDNN is known to be
// right on a processor that came after it.
std::shared_ptr<const Product> cached(const MatrixProduct& any_description) {
  static std::mutex& mutex = *new std::mutex;
  static auto& cache = *new std::map<MatrixProduct, std::shared_ptr<const Product>>;
  // oneDNN sees one description of a product. With AMX, 3.7 and 3.12 take bf16 [3, 1, 9] with
  // strides {9, 1, 1} for something else than with {9, 9, 1}, and the first primitive that is made
  // for either of the two serves both.
  const MatrixProduct p = canonical(any_description);
  const std::lock_guard lock(mutex);
  const auto found = cache.find(p);
  if (found != cache.end()) return found->second;
  if (cache.size() >= kMaxCached) cache.clear();
  const auto product = std::make_shared<Product>(create(p));
  product->right = multiplies_rightly(p, [&](const void* a, const void* b, const void* bias,
                                             void* c) { run(*product, a, b, bias, c); });
  if (!product->right) warn_of(p, *product);
  return cache[p] = product;
}

// Which size is cut into pieces, and how long a piece is.
enum class Cut { batch, rows, columns, depth };
struct Pieces {
  Cut where;
  int64_t size, length;
};

Pieces cut(const MatrixProduct& p) {
  constexpr int64_t kFlops = 4'000'000;  // worth a piece: 10 to 20 microseconds
  const int64_t batch = p.c.batch, m = p.c.rows, k = p.a.columns, l = p.c.columns;
  // To read b takes as long as some 32 rows of products by it.
  const int64_t flops = 2 * batch * std::max<int64_t>(m, 32) * k * l;
  const auto length = [&](int64_t size, int64_t most_pieces, int64_t multiple) {
    const int64_t wanted =
        std::clamp<int64_t>(flops / kFlops, 1, std::max<int64_t>(most_pieces, 1));
    // A power of two shares evenly among 2, 4, 8, … threads.
    const auto pieces = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(wanted)));
    const int64_t even = (size + pieces - 1) / pieces;
    return (even + multiple - 1) / multiple * multiple;
  };
  if (batch >= 8 || batch > m) return {Cut::batch, batch, length(batch, 16, 1)};
  const bool transposed_a = p.a.row_stride == 1;
  // oneDNN rearranges both operands when a is transposed. Pieces of the sum share nothing, so that
  // each is rearranged once; that pays where the sum is long and the results to add are small.
  if (p.a.dtype == DType::bf16 && transposed_a && m * l <= 16384 && k >= 1024 && batch == 1 &&
      !p.bias && p.c.dtype == DType::f32) {
    return {Cut::depth, k, length(k, std::min<int64_t>(k / 512, 8), 16)};
  }
  // Each piece reads the other matrix whole, and rearranges it: not too many. With a transposed a
  // that costs most.
  const int64_t size = std::max(m, l);
  const int64_t few = transposed_a ? std::clamp<int64_t>(size / 128, 2, 8) : 8;
  const int64_t most_pieces = std::max(std::min(few, size / 32), size / 256);
  return {m >= l ? Cut::rows : Cut::columns, size, length(size, most_pieces, 16)};
}

Matrices matrices_of(const Array& x, bool transposed) {
  const int64_t batch = x.shape()[0], rows = x.shape()[1], columns = x.shape()[2];
  Matrices result = {x.dtype(), batch, rows, columns, rows * columns, columns, 1};
  if (transposed) {
    std::swap(result.rows, result.columns);
    std::swap(result.row_stride, result.column_stride);
  }
  return result;
}

MatrixProduct product_of(const Array& a, const Array& b, bool transpose_a, bool transpose_b,
                         const Array* bias, const Array& c) {
  MatrixProduct p = {.a = matrices_of(a, transpose_a),
                     .b = matrices_of(b, transpose_b),
                     .c = matrices_of(c, false),
                     .bias = {}};
  if (bias) p.bias = matrices_of(bias->reshaped({1, 1, bias->size()}), false);
  p = canonical(p);
  // Rows of several products by the same b are rows of one product, where they follow each other.
  const auto follow = [&](const Matrices& x) {
    return x.batch == p.c.batch && x.batch_stride == x.rows * x.row_stride;
  };
  if (p.b.batch == 1 && follow(p.a) && follow(p.c)) {
    for (Matrices* x : {&p.a, &p.c}) {
      x->rows *= x->batch;
      x->batch = 1;
    }
  }
  return p;
}

// The first piece of such a length.
MatrixProduct piece_of(const MatrixProduct& whole, Cut where, int64_t length) {
  MatrixProduct p = whole;
  switch (where) {
    case Cut::batch:
      for (Matrices* x : {&p.a, &p.b, &p.c}) x->batch = std::min(x->batch, length);
      break;
    case Cut::rows:
      p.a.rows = p.c.rows = length;
      break;
    case Cut::columns:
      p.b.columns = p.c.columns = length;
      if (p.bias) p.bias->columns = length;
      break;
    case Cut::depth:
      p.a.columns = p.b.rows = length;
      break;
  }
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

bool dnnl_matmul(const Array& a, const Array& b, bool transpose_a, bool transpose_b,
                 const Array* bias, Array& c) {
  const MatrixProduct whole = product_of(a, b, transpose_a, transpose_b, bias, c);
  const Pieces chosen = cut(whole);  // a lambda cannot capture a structured binding everywhere
  const Cut where = chosen.where;
  const int64_t size = chosen.size, length = chosen.length;
  const int64_t pieces = (size + length - 1) / length;
  const bool sums = where == Cut::depth && pieces > 1;
  try {
    // Every piece but the last has the same size.
    const auto last = cached(piece_of(whole, where, size - (pieces - 1) * length));
    const auto other = pieces > 1 ? cached(piece_of(whole, where, length)) : last;
    if (!last->right || !other->right) return false;
    Array results = sums ? Array({pieces, whole.c.rows, whole.c.columns}, c.dtype()) : c;
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
          skip_c = piece * c.size();
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
    if (sums) add_up(results, c);
    return true;
  } catch (const dnnl::error& error) {
    fail(absl::StrCat("matmul: ", a.describe(), " by ", b.describe(), ": oneDNN: ", error.what()));
  }
}

bool dnnl_multiplies_bf16() {
  // The bits of a set of instructions hold those of every set that it includes.
  const auto available = static_cast<unsigned>(dnnl::get_effective_cpu_isa());
  const auto needed = static_cast<unsigned>(dnnl::cpu_isa::avx512_core_bf16);
  return (available & needed) == needed;
}

int64_t dnnl_primitives_created() { return created; }

}  // namespace qkv::kernels
