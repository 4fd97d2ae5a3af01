#include "models/multiple_of.h"

#include <fmt/format.h>

namespace shardscope {

void require_multiple(const OptionList& options, const std::string& whole, const std::string& part,
                      std::vector<Error>& errors) {
  const int64_t size = integer_option(options, whole), count = integer_option(options, part);
  if (size % count == 0) return;
  errors.push_back({"indivisible", fmt::format("{} {} is not a multiple of {} {}", whole, size, part, count),
                    "model." + whole, fmt::format("for example {}", (size / count + 1) * count)});
}

}  // namespace shardscope
