#include <algorithm>

#include "engine/base/error.h"
#include "engine/data/kinds.h"
#include "engine/data/token_rows.h"

namespace shardscope {

namespace {

class Zeros : public DataSource {
 public:
  void fill(const std::string& name, const Box&, int64_t, std::span<std::byte> bytes) const override {
    require_token_input(name);
    std::fill(bytes.begin(), bytes.end(), std::byte{0});
  }
  bool same_every_step() const override { return true; }
};

}  // namespace

DataKind zeros_data() {
  return {
      "zeros",
      "tokens and labels of 0",
      {{"batch_size", int64_t{8}, true, 1, 1e7, "sequences in a step, over all devices"},
       {"seed", int64_t{0}, false, 0, 9.2e18, "taken, and without effect"},
       sequence_length_option()},
      token_inputs,
      [](const OptionList&, const DataRequest&) -> std::unique_ptr<DataSource> { return std::make_unique<Zeros>(); }};
}

}  // namespace shardscope
