#pragma once

#include <utility>
#include <vector>

#include "engine/graph/graph.h"
#include "engine/program/program.h"
#include "engine/search/network_parts.h"
#include "engine/simulate/streams.h"

namespace shardscope {

// What a part of a network (a layer, or what stands before or behind the layers) needs at least of one device, in one
// run of a task.
struct PartWork {
  double clock = 0;      // s: computing, and waiting for collectives that it depends on
  double computing = 0;  // of these, without waiting
  double ahead = 0;      // of the clock, what does not wait for the message with which the part begins
  double behind = 0;     // of these, what comes behind the message with which it ends
  double late = 0;       // of what is before or behind the layers: what comes behind the message of the layer beside
  double passing = 0;    // of the computing, what waits for that message and comes before the one with which it ends
  double weights = 0;    // of the clock, gradients of parameters alone
  double weight_computing = 0;      // of these, without waiting
  std::vector<double> weight_wire;  // s, by stream: transfers of what they make
  double movable = 0;  // of the clock, what no message waits for: transfers, and what is listed behind all layers
  // s of transfers beside computing that neither wait for the message nor are of what the task is given.
  double free_wire = 0;
  std::vector<double> wire;  // s, by stream: transfers one after the other
  // What runs in the listed order, in s; and by stream, where it is joined with computing, transfers of what the task
  // is given that this needs, and those of what it makes.
  double firm = 0;
  std::vector<double> given, made;
  // Likewise what the part takes at least from its begin, where the stream is idle until then, and to its end, where it
  // is idle from then on: needed transfers and what comes behind them, at most; what comes before transfers, and these.
  // All four are empty where they are not looked for.
  std::vector<double> with_given, with_made;
  void take_smaller(const PartWork& other);
};

// What parts give to those that run behind them, as stages send it.
struct PartMessages {
  double bytes = 0;       // of all that a layer gives; the least
  bool is_single = true;  // each part gives one array, and only to the part behind it
};

// Small arrays of several layers, such as gradients, joined; an exchange of counted rows is of one array.
bool is_bucket(const CollectiveStart& start);

// One task, its instructions as listed. Streams of transfers have no limit here but that of what they depend on: so
// what the clock shows is no later than any order of the overlap schedule, which keeps the listed order of all but
// starts, dones, sums over microbatches, and casts and slices of what the task is given.
class TaskClock {
 public:
  TaskClock(const Program& program, const Graph& graph, const NetworkParts& parts, const Streams& streams,
            bool overlaps, const std::vector<bool>& weight_gradient, const std::vector<bool>& left_out, bool coarse,
            int kept);

  // Of a part that does nothing.
  PartWork no_work() const;

  // By part. `seconds`: of each instruction. `tail`: s from the last instruction until transfers of the first part and
  // of what is before it are done. `without_weights`: as if gradients of parameters were not made.
  std::vector<PartWork> run(const Task& task, const std::vector<double>& seconds, double* tail = nullptr,
                            PartMessages* messages = nullptr, bool without_weights = false);

 private:
  bool may_be_carried(const Instruction& instruction) const;
  bool makes_weight_gradient(const Instruction& instruction) const;
  // `computed`, `transferred`: what counts of each instruction, in s.
  void add_transfers(const Task& task, const std::vector<double>& computed, const std::vector<double>& transferred,
                     const std::vector<int>& part, bool is_backward, std::vector<PartWork>& works);
  // By instruction: it makes gradients of parameters, or moves what only these need.
  std::vector<bool> needed_by_weights_alone(const Task& task) const;

  // For what another part gives, as for the message of another stage.
  bool waits(const Instruction& instruction, const std::vector<int>& part, size_t i, bool is_backward) const;
  bool is_onwards(int from, int to, bool is_backward) const;

  // Where another part uses a value of the task, of another stage. What is made of what the task is given alone, such
  // as parameters that are gathered in one collective for several parts, each stage makes itself.
  bool is_sent(int value) const {
    return !program_.values[value].shape.empty() && !is_early_[static_cast<size_t>(value)];
  }

  // `given`: by part, values and the parts that they are given to.
  PartMessages messages_of(std::vector<std::vector<std::pair<int, int>>>& given) const;

  const Program& program_;
  const Graph& graph_;
  const NetworkParts& parts_;
  const Streams& streams_;
  bool overlaps_;
  const std::vector<bool>&weight_gradient_, &left_out_;
  bool coarse_;
  int part_count_;
  std::vector<bool> used_;  // by value: some instruction reads it
  std::vector<double> ready_;
  std::vector<int> maker_, started_in_;
  std::vector<bool> is_early_, waits_;
};

}  // namespace shardscope
