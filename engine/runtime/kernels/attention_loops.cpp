// Compiled for several generations of processors. It includes no header with functions, since the linker would keep
// just one version of those for all callers in the program.
#include "engine/runtime/kernels/attention_loops.h"

namespace shardscope {

namespace {

#if defined(__AVX512F__)
constexpr int lanes = 16, most_rows = 8;
#elif defined(__AVX2__)
constexpr int lanes = 8, most_rows = 6;
#else
constexpr int lanes = 4, most_rows = 6;
#endif
constexpr int most_vectors = 2;   // of a row of a tile of a product
constexpr int group_vectors = 4;  // of queries whose softmax is computed together
constexpr int64_t most_depth = 128;
constexpr float ln2 = 6.931471806e-1f;

typedef float Vector __attribute__((vector_size(lanes * sizeof(float))));
typedef float Stored __attribute__((vector_size(lanes * sizeof(float)), aligned(sizeof(float)), may_alias));
typedef int32_t Integers __attribute__((vector_size(lanes * sizeof(int32_t))));

inline Vector load(const float* from) { return *reinterpret_cast<const Stored*>(from); }
inline void store(Vector value, float* to) { *reinterpret_cast<Stored*>(to) = value; }
inline Vector larger(Vector a, Vector b) { return a > b ? a : b; }   // b where one is NaN
inline Vector smaller(Vector a, Vector b) { return a < b ? a : b; }  // the same

// 2^(i / 8) for i = (bits & 7), as bits, less i << 20 and the exponent's bias.
inline Integers eighths_of_octave(Integers bits) {
  constexpr int32_t table[8] = {0, -289342, -509968, -655657, -719629, -694486, -572163, -343865};
  Integers whole{}, result{};
  for (int i = 0; i < lanes; ++i) whole[i] = table[i & 7];
  if constexpr (lanes >= 8) {
    result = __builtin_shuffle(whole, bits);
  } else {
    for (int i = 0; i < lanes; ++i) result[i] = table[bits[i] & 7];
  }
  return result;
}

// 2^x for x in [-126, 127], within 2 ulp. x is rounded to an eighth: 2^eighth is exponent and table, and the rest's
// power a polynomial, a minimax fit of (2^r - 1) / r on [-1/16, 1/16], relative error 3e-8: the number of
// floating-point operations is what bounds softmax's time.
inline Vector exp2(Vector x) {
  constexpr float shift = 1572864.0f + 127.0f;  // 1.5 * 2^20: adding it rounds to eighths, kept in the low bits
  const Vector shifted = x + shift;
  const Vector r = x - (shifted - shift);
  const Vector p = ((5.549622327e-2f * r + 2.402576357e-1f) * r + 6.931472421e-1f) * r + 1.0f;
  const Integers bits = reinterpret_cast<Integers>(shifted);
  return p * reinterpret_cast<Vector>((bits << 20) + eighths_of_octave(bits));
}

// log(x) of normal numbers, within 2 ulp. Range reduction and polynomial as in Cephes' logf (S. Moshier).
inline Vector log(Vector x) {
  constexpr int32_t half_root = 0x3f3504f3, exponent_bias = 127;
  const Integers exponent = (reinterpret_cast<Integers>(x) - half_root) >> 23;
  const Vector f =
      x * reinterpret_cast<Vector>((exponent_bias - exponent) << 23) - 1.0f;  // sqrt(1/2) .. sqrt(2), less 1
  Vector p = 7.0376836292e-2f * f - 1.1514610310e-1f;
  p = p * f + 1.1676998740e-1f;
  p = p * f - 1.2420140846e-1f;
  p = p * f + 1.4249322787e-1f;
  p = p * f - 1.6668057665e-1f;
  p = p * f + 2.0000714765e-1f;
  p = p * f - 2.4999993993e-1f;
  p = p * f + 3.3333331174e-1f;
  const Vector octaves = __builtin_convertvector(exponent, Vector);
  return (p * f - 0.5f) * (f * f) + (f + octaves * ln2);
}

template <int rows, int vectors>
void multiply_tile(const SmallProduct& product, const float* a, const float* b, int64_t depth, bool accumulate,
                   int64_t columns, const float* scale, float* c) {
  Vector sums[rows][vectors] = {};
  const int64_t stride = product.a_row;
  const float* three_rows[3] = {a, a + 3 * stride, a + 6 * stride};
  for (int64_t l = 0; l < depth; ++l) {
    Vector right[vectors];
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) right[v] = load(b + v * lanes);
#pragma GCC unroll 16
    for (int i = 0; i < rows; ++i) {
      const float left = three_rows[i / 3][i % 3 * stride];
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) sums[i][v] += left * right[v];
    }
    b += product.b_row;
#pragma GCC unroll 3
    for (const float*& row : three_rows) row += product.a_column;
  }
#pragma GCC unroll 16
  for (int i = 0; i < rows; ++i) {
    float* row = c + i * product.c_row;
    const float factor = scale ? scale[i] : 1.0f;
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) {
      float* to = row + v * lanes;
      const int64_t count = columns - v * lanes;
      if (count >= lanes) {
        store((accumulate ? load(to) + sums[i][v] : sums[i][v]) * factor, to);
      } else {
        float rest[lanes];
        store(sums[i][v], rest);
        for (int64_t j = 0; j < count; ++j) to[j] = (accumulate ? to[j] + rest[j] : rest[j]) * factor;
      }
    }
  }
}

template <int rows, int vectors>
void multiply_rows(int count, const SmallProduct& product, const float* a, const float* b, int64_t depth,
                   bool accumulate, int64_t columns, const float* scale, float* c) {
  if constexpr (rows > 0) {
    if (count == rows) return multiply_tile<rows, vectors>(product, a, b, depth, accumulate, columns, scale, c);
    multiply_rows<rows - 1, vectors>(count, product, a, b, depth, accumulate, columns, scale, c);
  }
}

// Brings arrays into the cache in so many parts.
struct Fetcher {
  const Prefetch& arrays;
  int64_t lines, row = 0, column = 0;  // in each part; the next line

  Fetcher(const Prefetch& arrays, int64_t parts) : arrays(arrays) {
    lines = (arrays.rows * ((arrays.columns + line - 1) / line) + parts - 1) / parts;
  }
  // Inlined, since GCC drops calls of functions that do nothing but prefetch.
  [[gnu::always_inline]] void fetch_part() {
    for (int64_t i = 0; i < lines && row < arrays.rows; ++i) {
      __builtin_prefetch(arrays.first + row * arrays.row + column, 0, 2);
      __builtin_prefetch(arrays.second + row * arrays.row + column, 0, 2);
      column += line;
      if (column < arrays.columns) continue;
      column = 0;
      ++row;
    }
  }
  static constexpr int64_t line = 16;  // floats
};

// Tiles of rows and columns of C, of nearly equal numbers of rows, over slices of k that the caches hold.
void multiply(const SmallProduct& product) {
  constexpr int64_t most_columns = most_vectors * lanes;
  const int64_t tiles = (product.m + most_rows - 1) / most_rows;
  Fetcher fetcher(product.prefetch, tiles * ((product.n + most_columns - 1) / most_columns));
  for (int64_t l = 0; l == 0 || l < product.k; l += most_depth) {
    const int64_t depth = product.k - l < most_depth ? product.k - l : most_depth;
    const bool accumulate = product.accumulate || l > 0;
    for (int64_t tile = 0; tile < tiles; ++tile) {
      const int64_t i = product.m * tile / tiles;
      const int rows = static_cast<int>(product.m * (tile + 1) / tiles - i);
      const float* a = product.a + i * product.a_row + l * product.a_column;
      const float* scale = product.row_scale && l + depth == product.k ? product.row_scale + i : nullptr;
      for (int64_t j = 0; j < product.n; j += most_columns) {
        fetcher.fetch_part();
        const int64_t columns = product.n - j;
        const float* b = product.b + l * product.b_row + j;
        float* c = product.c + i * product.c_row + j;
        (columns > lanes ? multiply_rows<most_rows, 2> : multiply_rows<most_rows, 1>)(rows, product, a, b, depth,
                                                                                      accumulate, columns, scale, c);
      }
    }
  }
}

void copy(const float* from, int64_t from_row, int64_t rows, int64_t columns, float* to, int64_t to_row) {
  for (int64_t r = 0; r < rows; ++r, from += from_row, to += to_row) {
    int64_t c = 0;
    for (; c + lanes <= columns; c += lanes) store(load(from + c), to + c);
    for (; c < columns; ++c) to[c] = from[c];
    for (; c < to_row; ++c) to[c] = 0;
  }
}

typedef float Eight __attribute__((vector_size(8 * sizeof(float))));
typedef float StoredEight __attribute__((vector_size(8 * sizeof(float)), aligned(sizeof(float)), may_alias));

inline void transpose_eight(const float* from, int64_t from_row, float factor, float* to, int64_t to_row) {
  Eight in[8], pairs[8], quads[8];
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) in[i] = *reinterpret_cast<const StoredEight*>(from + i * from_row) * factor;
#pragma GCC unroll 4
  for (int i = 0; i < 8; i += 2) {
    pairs[i] = __builtin_shufflevector(in[i], in[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
    pairs[i + 1] = __builtin_shufflevector(in[i], in[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
  }
#pragma GCC unroll 2
  for (int i = 0; i < 8; i += 4) {
#pragma GCC unroll 2
    for (int j = 0; j < 2; ++j) {
      quads[i + 2 * j] = __builtin_shufflevector(pairs[i + j], pairs[i + j + 2], 0, 1, 8, 9, 4, 5, 12, 13);
      quads[i + 2 * j + 1] = __builtin_shufflevector(pairs[i + j], pairs[i + j + 2], 2, 3, 10, 11, 6, 7, 14, 15);
    }
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    *reinterpret_cast<StoredEight*>(to + i * to_row) =
        __builtin_shufflevector(quads[i], quads[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
    *reinterpret_cast<StoredEight*>(to + (i + 4) * to_row) =
        __builtin_shufflevector(quads[i], quads[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
  }
}

void transpose(const float* from, int64_t from_row, int64_t rows, int64_t columns, float factor, float* to,
               int64_t to_row) {
  const int64_t whole_rows = lanes >= 8 ? rows / 8 * 8 : 0, whole_columns = columns / 8 * 8;
  for (int64_t r = 0; r < whole_rows; r += 8) {
    for (int64_t c = 0; c < whole_columns; c += 8) {
      transpose_eight(from + r * from_row + c, from_row, factor, to + c * to_row + r, to_row);
    }
  }
  for (int64_t c = 0; c < columns; ++c) {
    int64_t r = c < whole_columns ? whole_rows : 0;
    for (; r < rows; ++r) to[c * to_row + r] = from[r * from_row + c] * factor;
    for (; r < to_row; ++r) to[c * to_row + r] = 0;
  }
}

// The weights of `vectors` vectors of queries, from `query` on: powers of 2, of scores less a logarithm.
template <int vectors>
struct Group {
  float* scores;
  int64_t row, open, keys;  // all of the queries see the keys before `open`
  const int32_t* valid_keys;
  Integers first_hidden[vectors];  // the key before which each query sees
  Vector shift[vectors], least;

  Group(const TransposedScores& all, int64_t query)
      : scores(all.scores + query),
        row(all.row),
        keys(all.keys),
        valid_keys(all.valid_keys),
        least(Vector{} + all.least) {
    const int64_t limit = all.first_limit + query;
    open = limit < keys ? limit : keys;
    Integers ascending{};
    for (int i = 0; i < lanes; ++i) ascending[i] = i;
    for (int v = 0; v < vectors; ++v) first_hidden[v] = ascending + (static_cast<int32_t>(limit) + v * lanes);
  }

  float* at(int64_t key, int v) const { return scores + key * row + v * lanes; }
  bool is_valid(int64_t key) const { return !valid_keys || valid_keys[key] > 0; }
  Vector hide(int64_t key, int v, Vector value, float otherwise) const {
    return first_hidden[v] > static_cast<int32_t>(key) ? value : Vector{} + otherwise;
  }

  Vector score(int64_t key, int v) const { return load(at(key, v)); }
  template <bool hides>
  Vector weight(int64_t key, int v, Vector score) const {
    const Vector power = exp2(larger(least, score - shift[v]));
    return hides ? hide(key, v, power, 0.0f) : power;
  }

  // Calls visit<hides>(key) for each key, where `hides` says that a causal mask hides it from some queries.
  template <class Visit>
  void for_keys(const Visit& visit) const {
    for (int64_t key = 0; key < open; ++key) visit.template operator()<false>(key);
    for (int64_t key = open; key < keys; ++key) visit.template operator()<true>(key);
  }
};

// Calls work.operator()<vectors>(query) for groups of vectors of queries.
template <class Work>
inline void for_groups(int64_t queries, const Work& work) {
  int64_t query = 0;
  for (; query + group_vectors * lanes <= queries; query += group_vectors * lanes) {
    work.template operator()<group_vectors>(query);
  }
  for (; query < queries; query += lanes) work.template operator()<1>(query);
}

void softmax(const TransposedScores& scores, float* lse, float* shares) {
  for_groups(scores.row, [&]<int vectors>(int64_t query) {
    Group<vectors> group(scores, query);
    Vector top[vectors], sum[vectors] = {};
    for (int v = 0; v < vectors; ++v) top[v] = Vector{} - __builtin_inff();
    group.for_keys([&]<bool hides>(int64_t key) {
      if (!group.is_valid(key)) return;
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) {
        const Vector score = load(group.at(key, v));
        top[v] = larger(top[v], hides ? group.hide(key, v, score, -__builtin_inff()) : score);
      }
    });
    for (int v = 0; v < vectors; ++v) group.shift[v] = top[v];
    group.for_keys([&]<bool hides>(int64_t key) {
      const bool valid = group.is_valid(key);
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) {
        const Vector weight = valid ? group.template weight<hides>(key, v, group.score(key, v)) : Vector{};
        sum[v] += weight;
        store(weight, group.at(key, v));
      }
    });
    for (int v = 0; v < vectors; ++v) {
      store(top[v], lse + query + v * lanes);
      store(sum[v], shares + query + v * lanes);
    }
  });
  for (int64_t query = 0; query < scores.row; query += lanes) {
    const Vector sum = load(shares + query);
    store(load(lse + query) * ln2 + log(sum), lse + query);
    store(1.0f / sum, shares + query);
  }
}

void softmax_grad(const TransposedScores& scores, const float* lse, const float* means, float* dweights) {
  for_groups(scores.row, [&]<int vectors>(int64_t query) {
    Group<vectors> group(scores, query);
    Vector mean[vectors];
    for (int v = 0; v < vectors; ++v) {
      group.shift[v] = load(lse + query + v * lanes);
      mean[v] = load(means + query + v * lanes);
    }
    group.for_keys([&]<bool hides>(int64_t key) {
      const bool valid = group.is_valid(key);
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) {
        float* dweight = dweights + key * scores.row + query + v * lanes;
        // No score is above the logarithm of the sum, but for its rounding.
        const Vector score = smaller(group.shift[v], group.score(key, v));
        const Vector weight = valid ? group.template weight<hides>(key, v, score) : Vector{};
        store(weight, group.at(key, v));
        store(weight * (load(dweight) - mean[v]), dweight);
      }
    });
  });
}

void row_dots(const float* a, int64_t a_row, const float* b, int64_t b_row, int64_t rows, int64_t columns, float factor,
              float* sums) {
  for (int64_t r = 0; r < rows; ++r, a += a_row, b += b_row) {
    Eight parts{};
    int64_t c = 0;
    for (; c + 8 <= columns; c += 8) {
      parts += *reinterpret_cast<const StoredEight*>(a + c) * *reinterpret_cast<const StoredEight*>(b + c);
    }
    parts += __builtin_shufflevector(parts, parts, 4, 5, 6, 7, 4, 5, 6, 7);
    parts += __builtin_shufflevector(parts, parts, 2, 3, 2, 3, 2, 3, 2, 3);
    float sum = parts[0] + parts[1];
    for (; c < columns; ++c) sum += a[c] * b[c];
    sums[r] = sum * factor;
  }
}

}  // namespace

extern const AttentionLoops SHARDSCOPE_ATTENTION_LOOPS;
const AttentionLoops SHARDSCOPE_ATTENTION_LOOPS{copy, transpose, multiply, softmax, softmax_grad, row_dots};

}  // namespace shardscope
