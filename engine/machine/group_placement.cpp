#include "engine/machine/group_placement.h"

#include <algorithm>

namespace shardscope {

namespace {

// How many links' rate a ring, and how many times a link's time an all-to-all, has along the dimensions of a level; and
// how many messages follow each other.
struct Reach {
  double ring = 1, all_to_all = 1;
  int64_t messages = 0;
};

bool is_circular(const Level& level) { return level.kind == LevelKind::ring || level.kind == LevelKind::torus; }

// `positions`: of the units of one group within a unit of the level, ascending; at least two.
Reach reach_of(const Level& level, const std::vector<int>& positions, int level_units) {
  if (!is_circular(level)) return {.messages = static_cast<int64_t>(positions.size()) - 1};
  std::vector<int> dims = level.dims;
  if (level.kind == LevelKind::ring) dims = {level.count.size() == 1 ? level.count[0] : level_units};
  double ring = 0, cut = 0;
  int64_t messages = 0;
  int below = 1;
  for (size_t d = dims.size(); d-- > 0; below *= dims[d]) {
    std::vector<int> places;
    for (int position : positions) places.push_back(position / below % dims[d]);
    std::ranges::sort(places);
    places.erase(std::unique(places.begin(), places.end()), places.end());
    if (places.size() < 2) continue;
    int stride = dims[d];
    for (size_t i = 1; i < places.size(); ++i) stride = std::min(stride, places[i] - places[i - 1]);
    const int span = stride * static_cast<int>(places.size());
    const bool is_closed = level.wraps && dims[d] >= 3 && span >= dims[d];
    ring += (is_closed ? 2.0 : 1.0) / stride;
    messages += is_closed ? std::ssize(places) / 2 : std::ssize(places) - 1;
    cut = std::max(cut, span * (is_closed ? 1 / 8.0 : 1 / 4.0));
  }
  const auto units = static_cast<double>(positions.size());
  return {ring, cut * units / (units - 1), messages};
}

// What the groups ask of one level.
class LevelLoad {
 public:
  LevelLoad(const Level& level, int number, const Topology& topology, const LevelLinks& links)
      : level_(level),
        number_(number),
        topology_(topology),
        links_(links),
        ring_(links.of_device.empty() ? 0 : static_cast<size_t>(links.of_device.back()) + 1),
        shared_(ring_.size()),
        all_to_all_(ring_.size()),
        exchange_(ring_.size()),
        senders_(ring_.size()) {}

  // `members` ascending.
  void add(const std::vector<int>& members) {
    group_size_ = static_cast<double>(members.size());
    int64_t in_ring = 0;
    for (auto first = members.begin(); first != members.end();) {
      const int unit = topology_.unit(number_, *first);
      const auto last = std::find_if(first, members.end(), [&](int d) { return topology_.unit(number_, d) != unit; });
      if (topology_.unit(number_ - 1, *first) != topology_.unit(number_ - 1, *(last - 1))) {
        add_unit(first, last);
        in_ring += std::ssize(positions_) - 1;
      }
      first = last;
    }
    traffic_.in_ring = std::max(traffic_.in_ring, is_circular(level_) ? traffic_.messages : in_ring);
  }

  bool is_used() const { return traffic_.units > 1; }

  LevelTraffic traffic() const {
    const double rate = links_.bytes_per_second;
    LevelTraffic traffic = traffic_;
    const double around = rate * least_ring_, across = rate / most_all_to_all_;
    traffic.level = number_;
    traffic.latency = level_.latency;
    traffic.ring = std::ranges::max(ring_) / around;
    traffic.shared = std::ranges::max(shared_) / around;
    traffic.all_to_all = std::ranges::max(all_to_all_) / across;
    traffic.exchange = std::ranges::max(exchange_) / across;
    traffic.one_way = std::ranges::max(senders_) / rate;
    return traffic;
  }

 private:
  using Member = std::vector<int>::const_iterator;

  void add_unit(Member first, Member last) {
    std::vector<int>& positions = positions_;
    positions.clear();
    const auto here = static_cast<double>(last - first);
    while (first != last) {
      const int below = topology_.unit(number_ - 1, *first);
      const auto end = std::find_if(first, last, [&](int d) { return topology_.unit(number_ - 1, d) != below; });
      positions.push_back(below);
      add_unit_below(first, end, here);
      first = end;
    }
    traffic_.units = std::max(traffic_.units, static_cast<int64_t>(positions.size()));
    const Reach reach = reach_of(level_, positions, links_.units);
    traffic_.messages = std::max(traffic_.messages, reach.messages);
    least_ring_ = is_reached_ ? std::min(least_ring_, reach.ring) : reach.ring;
    most_all_to_all_ = is_reached_ ? std::max(most_all_to_all_, reach.all_to_all) : reach.all_to_all;
    is_reached_ = true;
  }

  // `here`: members of the group in the same unit of the level.
  void add_unit_below(Member first, Member end, double here) {
    const auto inside = static_cast<double>(end - first);
    const auto link_of = [&](Member member) {
      return static_cast<size_t>(links_.of_device[static_cast<size_t>(*member)]);
    };
    double used = 0;
    for (auto member = first; member != end; ++member) {
      const size_t link = link_of(member);
      ++senders_[link];
      shared_[link] += 1 / inside;
      all_to_all_[link] += (here - inside) / group_size_;
      exchange_[link] += (here - inside) / here;
      used += member == first || link_of(member) != link_of(member - 1);
    }
    for (auto member = first; member != end; ++member) {
      if (member == first || link_of(member) != link_of(member - 1)) ring_[link_of(member)] += 1 / used;
    }
  }

  const Level& level_;
  int number_;
  const Topology& topology_;
  const LevelLinks& links_;
  std::vector<int> positions_;  // of the group's part at hand
  // By link: rings over it; members that send over it, and what these send of what LevelTraffic says.
  std::vector<double> ring_, shared_, all_to_all_, exchange_, senders_;
  LevelTraffic traffic_;
  double group_size_ = 1;
  double least_ring_ = 1, most_all_to_all_ = 1;
  bool is_reached_ = false;
};

}  // namespace

GroupPlacement place_groups(const std::vector<Level>& levels, const Topology& topology,
                            std::span<const LevelLinks> links, std::vector<std::vector<int>> groups) {
  GroupPlacement placement;
  for (std::vector<int>& group : groups) {
    if (!std::ranges::is_sorted(group)) std::ranges::sort(group);
    placement.size = std::max(placement.size, static_cast<int64_t>(group.size()));
  }
  for (int number = 0; number < topology.level_count(); ++number) {
    LevelLoad load(levels[static_cast<size_t>(number)], number, topology, links[static_cast<size_t>(number)]);
    for (const std::vector<int>& group : groups) load.add(group);
    if (load.is_used()) placement.levels.push_back(load.traffic());
  }
  return placement;
}

std::vector<std::vector<int>> groups_over(const Mesh& mesh, const std::vector<AxisIndex>& axes) {
  std::vector<std::vector<int>> groups;
  std::vector<bool> is_in(static_cast<size_t>(mesh.device_count()));
  for (int device = 0; device < mesh.device_count(); ++device) {
    if (is_in[static_cast<size_t>(device)]) continue;
    groups.push_back(mesh.group(device, axes));
    for (int member : groups.back()) is_in[static_cast<size_t>(member)] = true;
  }
  return groups;
}

}  // namespace shardscope
