#pragma once

#include <cstddef>
#include <vector>

namespace shardscope {

// How the members of a group lie on hosts. Hosts are numbered in the order of their first members, so that all members
// number them alike; a member's local index is its place among those of its host.
class HostLayout {
 public:
  // Any numbers that are equal for members of one host.
  explicit HostLayout(const std::vector<int>& host_of_member);

  int hosts() const { return static_cast<int>(members_.size()); }
  int host(int member) const { return places_[static_cast<size_t>(member)].host; }
  int local_index(int member) const { return places_[static_cast<size_t>(member)].index; }
  const std::vector<int>& members(int host) const { return members_[static_cast<size_t>(host)]; }

  // Which member of `host` sends and receives there on behalf of `member`: itself where it is there, else the one of
  // its local index, so that the traffic between two hosts is spread over all pairs of their members.
  int forwarder(int host, int member) const;

 private:
  struct Place {
    int host = 0;
    int index = 0;
  };

  std::vector<Place> places_;              // by member
  std::vector<std::vector<int>> members_;  // by host
};

}  // namespace shardscope
