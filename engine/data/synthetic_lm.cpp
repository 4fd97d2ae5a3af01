#include "engine/data/kinds.h"
#include "engine/data/token_rows.h"

namespace shardscope {

DataKind synthetic_lm_data() {
  return {"synthetic_lm",
          "random tokens as in the Parallax document; labels are the next tokens",
          {{"batch_size", int64_t{64}, true, 1, 1e7, "sequences in a step, over all devices"},
           {"seed", int64_t{0}, false, 0, 9.2e18, "of the tokens"},
           sequence_length_option()},
          token_inputs,
          [](const OptionList& options, const DataRequest& request) {
            return make_token_rows(integer_option(options, "seed"), *request.find("tokens"), LastLabel::zero);
          }};
}

}  // namespace shardscope
