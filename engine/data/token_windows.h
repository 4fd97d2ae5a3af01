#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "engine/data/data_source.h"
#include "engine/data/token_files.h"

namespace shardscope {

// Of a store, tokens begin .. end - 1.
struct TokenRange {
  int64_t begin = 0, end = 0;
  int64_t size() const { return end - begin; }
};

// Windows of consecutive tokens of a range: "tokens" are rows of them, "labels" the token behind each, which is of the
// range too. With a seed, row r of step t begins at begin + (b * n) >> 64, where n = size - columns is the number of
// possible beginnings and b the 64 bits of elements (r, 0) and (r, 1) of
// jax.random.bits(fold_in(PRNGKey(seed), t), (rows, 2)). Without one, windows follow each other: row r of step t begins
// at begin + columns ((t * rows + r) mod whole windows).
//
// fill() reads what its box needs and no more, and throws Failure (token_range) where a token is not below the input's
// limit, with its place in the file.
std::unique_ptr<DataSource> make_token_windows(std::unique_ptr<TokenStore> store, TokenRange range,
                                               const DataInput& tokens, std::optional<int64_t> seed);

}  // namespace shardscope
