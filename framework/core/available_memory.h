#pragma once

#include <cstdint>

namespace qkv {

// How many bytes this process can still get before the system has to swap or to end a process: the
// least of what the machine has left, what the control group leaves (a container), and what the
// limit of addresses leaves (ulimit -v). UINT64_MAX where the system says nothing.
uint64_t available_memory();

}  // namespace qkv
