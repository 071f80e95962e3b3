#include "framework/kernels/product/dnnl.h"

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <dnnl.hpp>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "framework/core/error.h"
#include "framework/core/memory/storage.h"
#include "framework/kernels/parallel.h"
#include "framework/kernels/product/library_check.h"
#include "framework/kernels/product/matmul.h"
#include "framework/kernels/product/matrix_product.h"

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

// Whether the processor has such instructions, and oneDNN may use them.
bool may_use(dnnl::cpu_isa instructions) {
  // The bits of a set of instructions hold those of every set that it includes.
  const auto available = static_cast<unsigned>(dnnl::get_effective_cpu_isa());
  const auto needed = static_cast<unsigned>(instructions);
  return (available & needed) == needed;
}

// oneDNN multiplies arrays of two axes, or three where there are several matrices.
Memory::desc memory_of(const Matrices& x, bool several) {
  const auto type = data_type(x.dtype);
  if (!several) return {{x.rows, x.columns}, type, {x.row_stride, x.column_stride}};
  return {{x.batch, x.rows, x.columns}, type, {x.batch_stride, x.row_stride, x.column_stride}};
}

// A primitive for one thread. Parallel work is shared out above it, in pieces that do not depend on
// the number of threads, so that results don't either.
struct MatmulPrimitive {
  dnnl::matmul::primitive_desc description;
  dnnl::matmul primitive;
  int64_t number;  // unlike that of any other
};

// How many threads oneDNN uses, the calling one included.
class ThreadsOfLibrary {
 public:
  explicit ThreadsOfLibrary(int count) : count_(count), before_(omp_get_max_threads()) {
    if (before_ != count_) omp_set_num_threads(count_);
  }
  ~ThreadsOfLibrary() {
    if (before_ != count_) omp_set_num_threads(before_);
  }
  ThreadsOfLibrary(const ThreadsOfLibrary&) = delete;
  ThreadsOfLibrary& operator=(const ThreadsOfLibrary&) = delete;

 private:
  int count_, before_;
};

// With packs_b, b has the layout that the primitive asks for.
MatmulPrimitive create(const MatrixProduct& p, bool packs_b) {
  require_spare_memory();  // oneDNN uses what it gets without a look whether it got it
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);  // a thread brings its own
  const bool several = p.c.batch > 1;
  const Memory::desc a = memory_of(p.a, several), c = memory_of(p.c, several);
  const Memory::desc b =
      packs_b ? Memory::desc({p.b.rows, p.b.columns}, data_type(p.b.dtype), Memory::format_tag::any)
              : memory_of(p.b, several);
  const Memory::desc bias = p.bias ? memory_of(*p.bias, several) : Memory::desc();
#if DNNL_VERSION_MAJOR >= 3
  const dnnl::matmul::primitive_desc description(engine(), a, b, bias, c, attributes);
#else
  const dnnl::matmul::primitive_desc description(dnnl::matmul::desc(a, b, bias, c), attributes,
                                                 engine());
#endif
  return {description, dnnl::matmul(description), ++created};
}

struct alignas(64) CacheLine {
  std::byte bytes[64];
};

// A thread's objects for a product: the memory objects, whose addresses change at every call.
class Call {
 public:
  explicit Call(const MatmulPrimitive& product) : stream_(engine()) {
    require_spare_memory();
    const auto& description = product.description;
    add(DNNL_ARG_SRC, description.src_desc());
    add(DNNL_ARG_WEIGHTS, description.weights_desc());
    add(DNNL_ARG_DST, description.dst_desc());
    add(DNNL_ARG_SCRATCHPAD, description.scratchpad_desc());
    add(DNNL_ARG_BIAS, description.bias_desc());
  }

  void run(const MatmulPrimitive& product, const void* a, const void* b, const void* bias, void* c,
           std::vector<CacheLine>& scratchpad) {
    const size_t needed = memories_[3].get_desc().get_size();
    if (scratchpad.size() * sizeof(CacheLine) < needed) {
      scratchpad.resize(needed / sizeof(CacheLine) + 1);
    }
    void* addresses[] = {const_cast<void*>(a), const_cast<void*>(b), c, scratchpad.data(),
                         const_cast<void*>(bias)};
    const size_t count = bias ? 5 : 4;
    for (size_t i = 0; i < count; ++i) memories_[i].set_data_handle(addresses[i]);
    // The C function: the C++ one builds a vector of the arguments at every call.
    dnnl::error::wrap_c_api(dnnl_primitive_execute(product.primitive.get(), stream_.get(),
                                                   static_cast<int>(count), arguments_.data()),
                            "the product could not be computed");
  }

 private:
  void add(int argument, const Memory::desc& desc) {
    memories_.emplace_back(desc, engine(), nullptr);
    arguments_.push_back({argument, memories_.back().get()});
  }

  dnnl::stream stream_;
  std::vector<Memory> memories_;
  std::vector<dnnl_exec_arg_t> arguments_;
};

void run(const MatmulPrimitive& product, const void* a, const void* b, const void* bias, void* c) {
  thread_local struct {
    std::unordered_map<int64_t, Call> calls;
    std::vector<CacheLine> scratchpad;
  } own;
  if (own.calls.size() > kMaxCached) own.calls.clear();
  const ThreadsOfLibrary one_thread(1);
  Call& call = own.calls.try_emplace(product.number, product).first->second;
  call.run(product, a, b, bias, c, own.scratchpad);
}

std::string describe(const Matrices& x) {
  return absl::StrFormat("%s[%d, %d, %d] (strides %d, %d, %d)", dtype_name(x.dtype), x.batch,
                         x.rows, x.columns, x.batch_stride, x.row_stride, x.column_stride);
}

// Once for all of them: where one product is wrong, others are.
void warn_of(const MatrixProduct& p, const MatmulPrimitive& product) {
  static std::atomic<bool> warned{false};
  if (warned.exchange(true)) return;
  absl::FPrintF(stderr,
                "warning: %s (%s) multiplies %s by %s into %s%s wrongly on this "
                "processor; such products are computed in another way, right and slower\n",
                product_library(), product.description.impl_info_str(), describe(p.a),
                describe(p.b), describe(p.c), p.bias ? " with a bias" : "");
}

// With AMX, 2.6 and 2.7 end the program with an illegal instruction where sums of bf16 have 63
// terms (oneDNN issue 1661). That cannot be tried out.
bool may_crash(const MatrixProduct& p) {
  return p.a.dtype == DType::bf16 && p.a.columns == 63 && may_use(dnnl::cpu_isa::avx512_core_amx);
}

// The primitive for a product; null where oneDNN is wrong about it. Each is put to the test when it
// is made: no version of oneDNN is known to be right on a processor that came after it.
std::shared_ptr<const MatmulPrimitive> cached(const MatrixProduct& any_description) {
  static std::mutex& mutex = *new std::mutex;
  static auto& cache = *new std::map<MatrixProduct, std::shared_ptr<const MatmulPrimitive>>;
  // oneDNN sees one description of a product. With AMX, 3.7 and 3.12 take bf16 [3, 1, 9] with
  // strides {9, 1, 1} for something else than with {9, 9, 1}, and the first primitive that is made
  // for either of the two serves both.
  const MatrixProduct p = canonical(any_description);
  const std::lock_guard lock(mutex);
  const auto found = cache.find(p);
  if (found != cache.end()) return found->second;
  if (cache.size() >= kMaxCached) cache.clear();
  if (may_crash(p)) return cache[p] = nullptr;
  const ThreadsOfLibrary one_thread(1);
  auto product = std::make_shared<const MatmulPrimitive>(create(p, /*packs_b=*/false));
  const auto multiply = [&](const void* a, const void* b, const void* bias, void* c) {
    run(*product, a, b, bias, c);
  };
  if (!multiplies_rightly(p, multiply)) {
    warn_of(p, *product);
    product = nullptr;
  }
  return cache[p] = product;
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
std::byte* at(Array& x, int64_t element) {
  return const_cast<std::byte*>(at(std::as_const(x), element));
}

bool has(DType t) { return t == DType::f32 || (t == DType::bf16 && bf16_products_are_fast()); }

}  // namespace

bool dnnl_matmul(const Array& a, const Array& b, bool transpose_a, bool transpose_b,
                 const Array* bias, Array& c) {
  if (!has(a.dtype())) return false;
  const MatrixProduct whole = product_of(a, b, transpose_a, transpose_b, bias, c);
  const Pieces pieces = cut(whole);
  const int64_t count = pieces.count();
  const bool sums = pieces.cut == Pieces::Cut::depth && count > 1;
  try {
    // Every piece but the last has the same size.
    const auto last = cached(piece_of(whole, pieces, count - 1).product);
    const auto other = count > 1 ? cached(piece_of(whole, pieces, 0).product) : last;
    if (!last || !other) return false;
    Array results = sums ? Array({count, whole.c.rows, whole.c.columns}, c.dtype()) : c;
    parallel_for(count, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const Piece piece = piece_of(whole, pieces, i);
        run(i + 1 == count ? *last : *other, at(a, piece.a), at(b, piece.b),
            bias ? at(*bias, piece.bias) : nullptr, at(results, piece.c));
      }
    });
    if (sums) add_up(results, c);
    return true;
  } catch (const dnnl::error& error) {
    if (error.status == dnnl_out_of_memory) throw std::bad_alloc();
    fail(absl::StrCat("matmul: ", a.describe(), " by ", b.describe(), ": oneDNN: ", error.what()));
  }
}

std::function<void()> library_product(const Array& a, const Array& b, bool transpose_a,
                                      bool transpose_b, const Array* bias, Array& c) {
  const MatrixProduct p = canonical(product_of(a, b, transpose_a, transpose_b, bias, c));
  if (!has(a.dtype()) || a.size() == 0 || b.size() == 0 || may_crash(p)) {
    return [=, &a, &b, &c] { matmul(a, b, transpose_a, transpose_b, bias, c); };
  }
  struct Whole {
    explicit Whole(MatmulPrimitive made) : product(std::move(made)), call(product) {}
    MatmulPrimitive product;
    Call call;
    std::vector<CacheLine> scratchpad, packed;
  };
  const ThreadsOfLibrary threads(num_threads());
  const bool packs = p.c.batch == 1 && p.a.row_stride != 1;
  const auto whole = std::make_shared<Whole>(create(p, packs));
  const void* right = b.raw();
  if (packs) {
    const Memory::desc to = whole->product.description.weights_desc();
    whole->packed.resize(to.get_size() / sizeof(CacheLine) + 1);
    Memory from_memory(memory_of(p.b, false), engine(), const_cast<void*>(right));
    Memory to_memory(to, engine(), whole->packed.data());
    dnnl::stream stream(engine());
    dnnl::reorder(from_memory, to_memory).execute(stream, from_memory, to_memory);
    right = whole->packed.data();
  }
  return [=, left = a.raw(), row = bias ? bias->raw() : nullptr, out = at(c, 0)] {
    const ThreadsOfLibrary all_threads(num_threads());
    whole->call.run(whole->product, left, right, row, out, whole->scratchpad);
  };
}

bool bf16_products_are_fast() {
  static const bool fast = may_use(dnnl::cpu_isa::avx512_core_bf16);
  return fast;
}

int64_t primitives_created() { return created; }

std::string product_instructions() {
  return absl::StrFormat("instructions 0x%x", static_cast<unsigned>(dnnl_get_effective_cpu_isa()));
}

std::string product_library() {
  const dnnl_version_t& version = *dnnl::version();
  return absl::StrCat("oneDNN ", version.major, ".", version.minor, ".", version.patch);
}

const char* instructions() {
#if defined(__AVX512BF16__)
  return "AVX-512 with bf16";
#elif defined(__AVX512F__)
  return "AVX-512";
#elif defined(__AVX2__)
  return "AVX2";
#elif defined(__x86_64__)
  return "x86-64";
#elif defined(__aarch64__)
  return "arm64";
#else
  return "an unknown processor";
#endif
}

}  // namespace qkv::kernels
