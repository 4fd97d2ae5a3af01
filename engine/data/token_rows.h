#pragma once

#include <memory>
#include <string>
#include <vector>
#include "engine/base/options.h"

#include "engine/data/data_source.h"

namespace shardscope {

// The option "sequence_length" of every kind of token data: tokens in a row, for models that have no length of their
// own; 0: what the model says.
OptionDefinition sequence_length_option();
// What a legal data section says there; 0 where it says nothing.
int64_t sequence_length(const OptionList& options);

// Rows of drawn tokens, and labels that are the next token of each: what several kinds have in common.
enum class LastLabel : uint8_t { zero, first_token };

// "tokens" and "labels", alike, where the model asks for tokens i32 (batch, sequence) with a limit; else none.
std::vector<DataInput> token_inputs(const DataRequest& request);
// Throws Failure unless the input is "tokens" or "labels".
void require_token_input(const std::string& name);
// Tokens drawn by jax.random.randint(PRNGKey(seed), (batch, sequence), 0, limit), the same in every step.
std::unique_ptr<DataSource> make_token_rows(int64_t seed, const DataInput& tokens, LastLabel last);

}  // namespace shardscope
