#include "engine/program/issue_order.h"

#include "engine/base/error.h"

namespace shardscope {

IssueOrder::IssueOrder(std::vector<int> indices) : indices_(std::move(indices)), places_(indices_.size(), -1) {
  bool as_listed = true;
  for (size_t place = 0; place < indices_.size(); ++place) {
    const auto index = static_cast<size_t>(indices_[place]);
    if (index >= places_.size() || places_[index] >= 0)
      throw Failure(Error{"invalid_program", "the order of a task is not a permutation of its instructions", "", ""});
    places_[index] = static_cast<int>(place);
    as_listed &= index == place;
  }
  if (as_listed) indices_.clear(), places_.clear();
}

}  // namespace shardscope
