#include "framework/kernels/elementwise/convert.h"
#include "framework/kernels/elementwise/vector_math.h"
#include "framework/kernels/kernels.h"
#include "framework/kernels/parallel.h"

namespace qkv::kernels {
void sgd(const SgdStep& step, const Array& gradient, Array& weight, Array& velocity) {
  dispatch_floating("sgd", weight.dtype(), [&]<class T>(T) {
    const T* g = gradient.data<T>();
    T* w = weight.mutable_data<T>();
    T* v = velocity.mutable_data<T>();
    const T learning_rate = static_cast<T>(step.learning_rate);
    const T momentum = static_cast<T>(step.momentum);
    const T decay = static_cast<T>(step.weight_decay);
    const T scale = static_cast<T>(step.gradient_scale);
    parallel_for(weight.size(), kGrain, [=](int64_t begin, int64_t end) {
#pragma omp simd
      for (int64_t i = begin; i < end; ++i) {
        v[i] = momentum * v[i] + (scale * g[i] + decay * w[i]);
        w[i] -= learning_rate * v[i];
      }
    });
  });
}

void adam(const AdamStep& step, const Array& gradient, Array& weight, Array& first_moment,
          Array& second_moment) {
  dispatch_floating("adam", weight.dtype(), [&]<class T>(T) {
    using S = ScalarOf<T>;
    const T* gradients = gradient.data<T>();
    T* w = weight.mutable_data<T>();
    T* m = first_moment.mutable_data<T>();
    T* v = second_moment.mutable_data<T>();
    const T beta1 = static_cast<T>(step.beta1);
    const T beta2 = static_cast<T>(step.beta2);
    const T rest1 = static_cast<T>(1 - S(step.beta1));
    const T rest2 = static_cast<T>(1 - S(step.beta2));
    const T l2 = static_cast<T>(step.l2);
    const T keep = static_cast<T>(1 - S(step.learning_rate) * S(step.weight_decay));
    const T rate = static_cast<T>(S(step.learning_rate) / S(step.correction1));
    const T inverse_root = static_cast<T>(1 / math::sqrt(S(step.correction2)));
    const T epsilon = static_cast<T>(step.epsilon);
    const T scale = static_cast<T>(step.gradient_scale);
    parallel_for(weight.size(), kGrain, [=](int64_t begin, int64_t end) {
#pragma omp simd
      for (int64_t i = begin; i < end; ++i) {
        const T g = scale * gradients[i] + l2 * w[i];
        m[i] = beta1 * m[i] + rest1 * g;
        v[i] = beta2 * v[i] + rest2 * g * g;
        w[i] = keep * w[i] - rate * m[i] / (math::sqrt(v[i]) * inverse_root + epsilon);
      }
    });
  });
}

void momentum(Float128 beta, Float128 scale, const Array& gradient, Array& m, Array& u) {
  dispatch_floating("momentum", m.dtype(), [&]<class T>(T) {
    const T* g = gradient.data<T>();
    T *mean = m.mutable_data<T>(), *next = u.mutable_data<T>();
    const T old = static_cast<T>(beta);
    const T part = static_cast<T>((1 - ScalarOf<T>(beta)) * ScalarOf<T>(scale));
    parallel_for(m.size(), kGrain, [=](int64_t begin, int64_t end) {
#pragma omp simd
      for (int64_t i = begin; i < end; ++i) {
        mean[i] = old * mean[i] + part * g[i];
        next[i] = old * mean[i] + part * g[i];
      }
    });
  });
}

void normalize_matrices(Array& x) {
  dispatch_floating("normalize_matrices", x.dtype(), [&]<class T>(T) {
    using S = ScalarOf<T>;
    const int64_t size = x.shape()[1] * x.shape()[2];
    T* matrices = x.mutable_data<T>();
    parallel_for(x.shape()[0], 1, [=](int64_t begin, int64_t end) {
      for (T* matrix = matrices + begin * size; matrix != matrices + end * size; matrix += size) {
        S sum = 0;
        for (int64_t i = 0; i < size; ++i) sum += S(matrix[i]) * S(matrix[i]);
        const T factor = static_cast<T>(1 / (math::sqrt(sum) + S(1e-7)));
#pragma omp simd
        for (int64_t i = 0; i < size; ++i) matrix[i] *= factor;
      }
    });
  });
}

void add_to_diagonal(double factor, double term, Array& x) {
  dispatch_floating("add_to_diagonal", x.dtype(), [&]<class T>(T) {
    const int64_t n = x.shape()[2];
    T* rows = x.mutable_data<T>();
    const T f = static_cast<T>(factor), t = static_cast<T>(term);
    parallel_for(x.size() / n, piece_rows(n, kGrain), [=](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
#pragma omp simd
        for (int64_t i = 0; i < n; ++i) rows[row * n + i] *= f;
        rows[row * n + row % n] += t;
      }
    });
  });
}

void muon(const MuonStep& step, const Array& x, Array& weight) {
  dispatch_floating("muon", weight.dtype(), [&]<class T>(T) {
    using S = ScalarOf<T>;
    const T* change = x.data<T>();
    T* w = weight.mutable_data<T>();
    const T keep = static_cast<T>(1 - S(step.learning_rate) * S(step.weight_decay));
    const T rate = static_cast<T>(S(step.learning_rate) * S(step.factor));
    parallel_for(weight.size(), kGrain, [=](int64_t begin, int64_t end) {
#pragma omp simd
      for (int64_t i = begin; i < end; ++i) w[i] = keep * w[i] - rate * change[i];
    });
  });
}

void average(double share, const Array& weight, Array& average) {
  dispatch_floating("average", weight.dtype(), [&]<class T>(T) {
    const T* w = weight.data<T>();
    T* a = average.mutable_data<T>();
    const T part = static_cast<T>(share);
    parallel_for(weight.size(), kGrain, [=](int64_t begin, int64_t end) {
#pragma omp simd
      for (int64_t i = begin; i < end; ++i) a[i] += part * (w[i] - a[i]);
    });
  });
}

}  // namespace qkv::kernels
