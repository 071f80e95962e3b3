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
