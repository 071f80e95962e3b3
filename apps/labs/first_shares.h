#pragma once

#include "apps/labs/lab.h"

// How equal the shares of attention are before any training: a section of the lab influence.
namespace qkv {

Section share_section(const LabContext& lab);

}  // namespace qkv
