#pragma once

#include <QColor>
#include <QPainter>
#include <cstdint>
#include <span>
#include <stop_token>
#include <vector>

#include "engine/plan/plan.h"

namespace shardscope {

// What each device of a stage holds through a predicted step (memory_curve()), over time in place of instructions: from
// the start of an instruction to the start of the next, before the first and behind the last as beside these.
class MemoryTrack {
 public:
  // By position in the main sequence, at least one: when instructions run, and the bytes in use. `held`: with what the
  // allocator keeps.
  MemoryTrack(std::span<const Simulation::Span> spans, std::vector<int64_t> totals, int64_t held);

  // The most that is in use in each of `pixels` columns of the window [begin, end) seconds.
  std::vector<int64_t> columns(double begin, double end, int pixels) const;
  int64_t at(double seconds) const;  // bytes in use
  int64_t held() const { return held_; }

 private:
  int position_at(double seconds) const;

  std::vector<double> starts_;
  std::vector<int64_t> totals_;
  int64_t held_ = 0;
};
std::vector<MemoryTrack> memory_tracks(const Plan& plan, const std::stop_token& stop = {});  // by stage; empty: stopped

struct MemoryInk {
  QColor in_use, too_much;  // below and above the limit
  QColor limit;             // a line
};
// As high as `highest` bytes; without a limit (0) nothing is too much.
void paint_memory_track(QPainter& painter, const QRectF& place, const MemoryTrack& track, double begin, double end,
                        double highest, int64_t limit, const MemoryInk& ink);

}  // namespace shardscope
