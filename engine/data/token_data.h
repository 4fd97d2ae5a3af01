#pragma once

#include <memory>
#include <vector>

#include "engine/data/data_kind.h"

namespace shardscope {

// What kinds `text` and `tokens` have in common: where the tokens are, which are trained on and which are kept back.

std::vector<OptionDefinition> token_data_options();

// A source of the training part, or of what is kept back, of tokens of `width` bytes each.
std::unique_ptr<DataSource> make_token_data(const OptionList& options, const DataRequest& request, int width,
                                            bool validation);

std::vector<Error> check_token_options(const OptionList& options);
// missing_file, unreadable_file, file_size; too_short where a part has fewer tokens than it needs.
std::vector<Error> check_token_files(const OptionList& options, const DataRequest& request, int width);
// The files that are trained on, and those of their own that are evaluated with. Throws Failure as those.
std::vector<DataPart> identify_token_files(const OptionList& options, int width);

}  // namespace shardscope
