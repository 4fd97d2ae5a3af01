#include "engine/data/kinds.h"
#include "engine/data/token_rows.h"

namespace shardscope {

DataKind random_rolled_data() {
  return {"random_rolled",
          "random tokens; labels are the tokens, rolled by one",
          {{"batch_size", int64_t{64}, true, 1, 1e7, "sequences in a step, over all devices"},
           {"seed", int64_t{0}, false, 0, 9.2e18, "of the tokens"},
           sequence_length_option()},
          token_inputs,
          [](const OptionList& options, const DataRequest& request) {
            return make_token_rows(integer_option(options, "seed"), *request.find("tokens"), LastLabel::first_token);
          }};
}

}  // namespace shardscope
