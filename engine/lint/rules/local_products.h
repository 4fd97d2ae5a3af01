#pragma once

#include <vector>

#include "engine/graph/op_definition.h"
#include "engine/lint/rules/lint_rule.h"

namespace shardscope {

// A matrix product of the training step, as one device computes it.
struct LocalProduct {
  OpId op = no_id;
  ProductWork work;
  double seconds = 0;  // of a step
};
std::vector<LocalProduct> local_products(const Plan& plan);

// Rows and columns that the machine's products work on at a time. On devices of their own 128: the matrix unit of a TPU
// (J. Austin et al., "How To Scale Your Model", 2025), and the smallest tile that NVIDIA's "Matrix Multiplication
// Background User's Guide" calls efficient; on the cores of a host 16, the floats of a vector register of AVX-512.
int64_t product_tile(const Machine& machine);

// Changes that make a device's products larger: fewer microbatches, and axes that do not split the rows made smaller.
std::vector<Settings> larger_products(const LintSubject& subject);

}  // namespace shardscope
