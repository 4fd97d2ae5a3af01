#pragma once

#include <cstdint>

namespace shardscope {

// Two arrays of `rows` rows of `columns` floats that are soon read or written: brought into the cache meanwhile, a few
// lines at a time, since a burst of them would make other loads wait.
struct Prefetch {
  const float *first = nullptr, *second = nullptr;
  int64_t row = 0;  // stride
  int64_t rows = 0, columns = 0;
};

// C (m, n) = A (m, k) B (k, n) of small dense f32 matrices, on the calling thread. Element (i, l) of A is at
// a[i * a_row + l * a_column]. B has rows of whole vectors (attention_row),
// filled up with zeros. Sums run over l in order, whatever m and n are.
struct SmallProduct {
  int64_t m, n, k;
  const float* a;
  int64_t a_row, a_column;
  const float* b;
  int64_t b_row;
  float* c;
  int64_t c_row;
  bool accumulate = false;           // C += A B
  const float* row_scale = nullptr;  // m factors of the rows of C, in the end
  Prefetch prefetch = {};
};

// Scores of a block of queries of one head, times log2(e), transposed: key l and query i are at scores[l * row + i].
// What fills the rows up is worked on like queries.
struct TransposedScores {
  float* scores;
  int64_t row;   // stride: whole vectors
  int64_t keys;  // those that some query of the block sees; further ones are not looked at
  // Query i sees keys before first_limit + i alone; keys where there is no causal mask.
  int64_t first_limit;
  const int32_t* valid_keys;  // keys with numbers above 0 are seen; nullptr: all
  float least = -120;  // a weight's logarithm to base 2: smaller ones become this, so that all are normal numbers
};

// The inner loops of attention, compiled for several generations of processors (cmake/instruction_sets.cmake).
struct AttentionLoops {
  // to[r][c] = from[r][c], and to[c][r] = from[r][c] factor, for r < rows, c < columns; rows of `to` are filled up with
  // zeros. `to_row`: whole vectors.
  void (*copy)(const float* from, int64_t from_row, int64_t rows, int64_t columns, float* to, int64_t to_row);
  void (*transpose)(const float* from, int64_t from_row, int64_t rows, int64_t columns, float factor, float* to,
                    int64_t to_row);
  void (*multiply)(const SmallProduct& product);
  // Scores become weights that are still to be multiplied by `shares`; lse: the logarithms of the sums of exponentials.
  // Both have scores.row elements.
  void (*softmax)(const TransposedScores& scores, float* lse, float* shares);
  // Scores become weights, by the logarithms to base 2 of the sums of their powers, and `dweights` d scores: weight
  // (d weight - mean), where the mean is the sum over keys of weight times d weight.
  void (*softmax_grad)(const TransposedScores& scores, const float* lse, const float* means, float* dweights);
  // sums[r] = factor times the sum over c of a[r][c] b[r][c].
  void (*row_dots)(const float* a, int64_t a_row, const float* b, int64_t b_row, int64_t rows, int64_t columns,
                   float factor, float* sums);
};

// Those of used_instruction_set().
const AttentionLoops& attention_loops();

}  // namespace shardscope
