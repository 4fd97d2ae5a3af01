#include "engine/plan/pipeline_timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace shardscope {

namespace {

// Of an item in the order.
struct Turn {
  int device = 0;
  int index = 0;
};

// An item by what it is, wherever it stands: work, microbatch, and stretch of layers in the network's order.
struct Item {
  Work work = Work::forward;
  int microbatch = 0;
  int stretch = 0;
  auto operator<=>(const Item&) const = default;
};

class Playing {
 public:
  Playing(const PipelineOrder& order, const PipelineCosts& costs)
      : order_(order), costs_(costs), next_(order.size()), free_(order.size()) {
    for (int d = 0; d < devices(); ++d) {
      timeline_.devices.emplace_back(order[static_cast<size_t>(d)].size());
      for (int i = 0; i < static_cast<int>(order[static_cast<size_t>(d)].size()); ++i) {
        turns_[item_at({d, i})] = {d, i};
      }
    }
  }

  PipelineTimeline run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (int d = 0; d < devices(); ++d) {
        while (begin_next(d)) moved = true;
      }
    }
    double busy = 0;
    for (int d = 0; d < devices(); ++d) {
      if (next_[static_cast<size_t>(d)] < static_cast<int>(order_[static_cast<size_t>(d)].size())) throw cycle(d);
      for (const auto& span : timeline_.devices[static_cast<size_t>(d)]) {
        busy += span.end - span.start;
        timeline_.seconds = std::max(timeline_.seconds, span.end);
      }
    }
    if (timeline_.seconds > 0) timeline_.bubble = 1 - busy / (timeline_.seconds * devices());
    return std::move(timeline_);
  }

 private:
  int devices() const { return static_cast<int>(order_.size()); }
  const WorkItem& work_at(Turn turn) const {
    return order_[static_cast<size_t>(turn.device)][static_cast<size_t>(turn.index)];
  }
  Item item_at(Turn turn) const {
    const WorkItem& work = work_at(turn);
    return {work.work, work.microbatch, work.chunk * devices() + turn.device};
  }

  // What has to be done before, of another device or of this one.
  std::vector<Item> needs(const Item& item) const {
    std::vector<Item> list;
    const auto add = [&](Work work, int stretch) {
      const Item needed{work, item.microbatch, stretch};
      if (turns_.contains(needed)) list.push_back(needed);
    };
    switch (item.work) {
      case Work::forward: add(Work::forward, item.stretch - 1); break;
      case Work::backward_weight: add(Work::backward_input, item.stretch); break;
      case Work::backward:
      case Work::backward_input:
        add(Work::forward, item.stretch);
        add(item.work, item.stretch + 1);
        break;
    }
    return list;
  }

  bool is_done(Turn turn) const { return turn.index < next_[static_cast<size_t>(turn.device)]; }

  bool begin_next(int device) {
    const auto d = static_cast<size_t>(device);
    const Turn here{device, next_[d]};
    if (here.index == static_cast<int>(order_[d].size())) return false;
    double start = free_[d];
    for (const Item& needed : needs(item_at(here))) {
      const Turn turn = turns_.at(needed);
      if (!is_done(turn)) return false;
      double arrives = timeline_.devices[static_cast<size_t>(turn.device)][static_cast<size_t>(turn.index)].end;
      if (turn.device != device) arrives += costs_.transfer(turn.device, work_at(turn));
      start = std::max(start, arrives);
    }
    const double end = start + costs_.work(device, work_at(here));
    timeline_.devices[d][static_cast<size_t>(here.index)] = {start, end};
    free_[d] = end;
    ++next_[d];
    return true;
  }

  std::string text(Turn turn) const {
    const WorkItem& work = work_at(turn);
    std::string text = fmt::format("{} of microbatch {} on stage {}", name(work.work), work.microbatch, turn.device);
    return work.chunk == 0 ? text : text + fmt::format(", chunk {}", work.chunk);
  }

  // From a device that cannot go on along what it waits for, until a device comes again.
  Failure cycle(int device) const {
    std::vector<Turn> path;
    std::vector<int> seen(order_.size(), -1);
    while (seen[static_cast<size_t>(device)] < 0) {
      const Turn waiting{device, next_[static_cast<size_t>(device)]};
      seen[static_cast<size_t>(device)] = static_cast<int>(path.size());
      path.push_back(waiting);
      for (const Item& needed : needs(item_at(waiting))) {
        if (!is_done(turns_.at(needed))) device = turns_.at(needed).device;
      }
    }
    std::string ring;
    for (size_t i = static_cast<size_t>(seen[static_cast<size_t>(device)]); i < path.size(); ++i) {
      ring += (ring.empty() ? "" : " waits for ") + text(path[i]);
    }
    return Failure(Error{"pipeline_cycle", "stages wait for each other: " + ring + " waits for the first", "schedule",
                         "change the order of the schedule"});
  }

  const PipelineOrder& order_;
  const PipelineCosts& costs_;
  std::map<Item, Turn> turns_;
  std::vector<int> next_;
  std::vector<double> free_;
  PipelineTimeline timeline_;
};

}  // namespace

PipelineTimeline play(const PipelineOrder& order, const PipelineCosts& costs) { return Playing(order, costs).run(); }

void prove_no_cycle(const PipelineOrder& order) {
  const auto one = [](int, const WorkItem&) { return 1.0; };
  play(order, {one, one});
}

}  // namespace shardscope
