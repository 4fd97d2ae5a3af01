#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/machine/machine.h"
#include "engine/program/program.h"

namespace shardscope {

// What a device does one thing at a time on: `compute` (all instructions but the transfers of collectives) and, for
// each level of the machine, the communication over it.
struct Streams {
  static constexpr int compute = 0;
  // Two streams that run at the same time: how many times as long each takes meanwhile.
  struct Slowdown {
    double of_first = 1, of_second = 1;
  };

  std::vector<std::string> names{"compute", "communication"};
  std::vector<int> of_group;  // per Program::groups: the stream of its collectives; empty: 1
  std::vector<std::vector<std::optional<Slowdown>>> joined;  // by pair; nothing: one after the other; empty: all so
  // The program on the host, which issues the instructions of a device one by one, ahead of it where it can: s between
  // two of those that take the device or a link any time.
  double issue_seconds = 0;
  bool blocking_messages = false;  // StackOverlap
  bool shares_cores = false;       // ranks of a host compute on the same cores: at once it takes longer than alone

  int of(const Program& program, const CollectiveStart& start) const;
  // Nothing where they run one after the other.
  std::optional<Slowdown> find(int first, int second) const;
  // Whether any collective of a program may run beside what the device computes.
  bool may_hide_communication() const;
};

// By the machine's rules of overlap; `levels`: of each of the program's groups the outermost level in which members
// differ (GroupPlacement::level()). `blocking`, or empty: groups whose collectives have a stream of their own, which is
// joined with none.
Streams streams_on(const Machine& machine, std::span<const int> levels, const std::vector<bool>& blocking = {});

}  // namespace shardscope
