#pragma once

// A comma in a value belongs to it: --set optimizer.betas=[0.9,0.95]
#define CXXOPTS_VECTOR_DELIMITER '\0'
#include <cxxopts.hpp>
