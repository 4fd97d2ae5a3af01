#include "viz/paint/memory_track.h"

#include <algorithm>

#include "viz/paint/memory_curve.h"

namespace shardscope {

MemoryTrack::MemoryTrack(std::span<const Simulation::Span> spans, std::vector<int64_t> totals, int64_t held)
    : totals_(std::move(totals)), held_(held) {
  starts_.reserve(spans.size());
  for (const Simulation::Span& span : spans) starts_.push_back(span.start);
}

int MemoryTrack::position_at(double seconds) const {
  const auto behind = std::ranges::upper_bound(starts_, seconds);
  return std::max(0, static_cast<int>(behind - starts_.begin()) - 1);
}

int64_t MemoryTrack::at(double seconds) const { return totals_[static_cast<size_t>(position_at(seconds))]; }

std::vector<int64_t> MemoryTrack::columns(double begin, double end, int pixels) const {
  std::vector<int64_t> most(static_cast<size_t>(std::max(0, pixels)), 0);
  for (int x = 0; x < pixels; ++x) {
    const double from = begin + (end - begin) * x / pixels, to = begin + (end - begin) * (x + 1) / pixels;
    const int first = position_at(from);
    const int behind = static_cast<int>(std::ranges::lower_bound(starts_, to) - starts_.begin());
    most[static_cast<size_t>(x)] =
        *std::max_element(totals_.begin() + first, totals_.begin() + std::max(first + 1, behind));
  }
  return most;
}

std::vector<MemoryTrack> memory_tracks(const Plan& plan, const std::stop_token& stop) {
  std::vector<MemoryTrack> tracks;
  for (int stage = 0; stage < plan.program.stages; ++stage) {
    MemoryCurve curve = memory_curve(plan, stage, stop);
    if (curve.totals.empty()) return {};
    const int64_t held = arena_of(curve, plan, stage).bytes;
    tracks.emplace_back(plan.simulation.stages.at(static_cast<size_t>(stage)), std::move(curve.totals), held);
  }
  return tracks;
}

void paint_memory_track(QPainter& painter, const QRectF& place, const MemoryTrack& track, double begin, double end,
                        double highest, int64_t limit, const MemoryInk& ink) {
  const auto height_of = [&](double bytes) { return std::min(1.0, bytes / highest) * place.height(); };
  const std::vector<int64_t> most = track.columns(begin, end, static_cast<int>(place.width()));
  const double line = place.bottom() - height_of(double(limit));
  for (size_t x = 0; x < most.size(); ++x) {
    const QRectF bar(place.x() + double(x), place.bottom() - height_of(double(most[x])), 1, height_of(double(most[x])));
    painter.fillRect(bar, ink.in_use);
    if (limit > 0 && most[x] > limit) painter.fillRect(QRectF(bar.topLeft(), QPointF(bar.right(), line)), ink.too_much);
  }
  if (limit <= 0 || double(limit) > highest) return;
  painter.setPen(QPen(ink.limit, 1, Qt::DashLine));
  painter.drawLine(QPointF(place.x(), line), QPointF(place.right(), line));
}

}  // namespace shardscope
