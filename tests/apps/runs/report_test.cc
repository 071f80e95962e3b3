// ./qkv report: the page of a run.

#include <gmock/gmock.h>

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "tests/data/image_bytes.h"
