#include "engine/worker/common_instruction_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "engine/base/instruction_set.h"
#include "engine/runtime/kernels/serial_product.h"
#include "engine/worker/rank_exchange.h"

namespace shardscope {

std::string agree_on_instruction_set(Communicator& ranks) {
  const InstructionSet own = machine_instruction_set();
  const std::vector<InstructionSet> all = RankExchange(ranks).gather(own);
  const auto [least, most] = std::ranges::minmax_element(all);
  limit_instruction_set(*least);
  if (*least < processor_instruction_set()) limit_onednn(*least);
  if (*least == *most) return {};
  return fmt::format("all ranks compute with {}, which is all that rank {} has (rank {} has {})", name(*least),
                     least - all.begin(), most - all.begin(), name(*most));
}

}  // namespace shardscope
