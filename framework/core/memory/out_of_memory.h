#pragma once

#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <string_view>

namespace qkv {

// There is not enough memory, even after the cache was given back to the system. Nobody misused the
// library, so this is not an Error. Its text is a sentence that names the array, the op, and the
// place in the model:
//   "softmax: there is not enough memory for f32[64, 8, 4096, 4096], 32 GiB, beside 3.1 GiB in use
//   (in blocks.0.attention)"
class OutOfMemory : public std::bad_alloc {
 public:
  explicit OutOfMemory(const std::string& array);  // "f32[2, 3], 24 bytes"
  // `error` itself, if it is an OutOfMemory; else "there is not enough memory".
  static OutOfMemory of(const std::bad_alloc& error);

  // The same error with the name of an op, if it does not have one already.
  OutOfMemory in_op(std::string_view op) const;

  const char* what() const noexcept override { return text_->c_str(); }

 private:
  OutOfMemory();

  std::shared_ptr<const std::string> text_;  // shared: an exception's copies must not throw
  bool names_op_ = false, names_place_ = false;
};

std::string describe_bytes(uint64_t bytes);  // "24 bytes", "3.1 GiB"

// How many bytes this process can still get before the system has to swap or to end a process: the
// least of what the machine has left, what the control group leaves (a container), and what the
// limit of addresses leaves (ulimit -v). UINT64_MAX where the system says nothing.
uint64_t available_memory();

}  // namespace qkv
