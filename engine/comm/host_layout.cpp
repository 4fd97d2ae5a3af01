#include "engine/comm/host_layout.h"

#include <algorithm>

namespace shardscope {

HostLayout::HostLayout(const std::vector<int>& host_of_member) {
  std::vector<int> numbers;  // as given, by host
  for (size_t member = 0; member < host_of_member.size(); ++member) {
    auto found = std::ranges::find(numbers, host_of_member[member]);
    const auto host = static_cast<size_t>(found - numbers.begin());
    if (found == numbers.end()) {
      numbers.push_back(host_of_member[member]);
      members_.emplace_back();
    }
    places_.push_back({static_cast<int>(host), static_cast<int>(members_[host].size())});
    members_[host].push_back(static_cast<int>(member));
  }
}

int HostLayout::forwarder(int host, int member) const {
  const std::vector<int>& there = members(host);
  return there[static_cast<size_t>(local_index(member)) % there.size()];
}

}  // namespace shardscope
