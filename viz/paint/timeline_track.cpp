#include "viz/paint/timeline_track.h"

#include <algorithm>

namespace shardscope {
namespace {

// The first of [from, slices) for which `reached` holds; all behind it hold too. Near `from` first.
template <class Reached>
int gallop(int from, int size, const Reached& reached) {
  int step = 1, low = from, high = from;
  while (high < size && !reached(high)) {
    low = high + 1;
    high += step;
    step *= 2;
  }
  high = std::min(high, size);
  while (low < high) {
    const int middle = low + (high - low) / 2;
    if (reached(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

}  // namespace

TimelineTrack::TimelineTrack(std::vector<TrackSlice> slices) : slices_(std::move(slices)) {
  is_by_step_ = std::ranges::is_sorted(slices_, {}, &TrackSlice::step);
  before_.reserve(slices_.size() + 1);
  before_.push_back({});
  double reached = slices_.empty() ? 0 : slices_.front().start;
  for (TrackSlice& slice : slices_) {
    slice.start = std::max(slice.start, reached);
    reached = slice.end = std::max(slice.end, slice.start);
    before_.push_back(before_.back());
    before_.back()[static_cast<size_t>(slice.part)] += slice.end - slice.start;
  }
  for (size_t below = slices_.size(); below > fan; below = pyramid_.back().size()) {
    const bool is_first = pyramid_.empty();
    std::vector<int32_t> level((below + fan - 1) / fan);
    for (size_t block = 0; block < level.size(); ++block) {
      level[block] = is_first ? static_cast<int32_t>(block * fan) : pyramid_.back()[block * fan];
      for (size_t i = block * fan; i < std::min(below, (block + 1) * fan); ++i) {
        const int slice = is_first ? static_cast<int>(i) : pyramid_.back()[i];
        if (length(slice) > length(level[block])) level[block] = slice;
      }
    }
    pyramid_.push_back(std::move(level));
  }
}

int TimelineTrack::behind(double time, int from) const {
  return gallop(from, static_cast<int>(slices_.size()), [&](int i) { return slices_[size_t(i)].end > time; });
}

int TimelineTrack::not_before(double time, int from) const {
  return gallop(from, static_cast<int>(slices_.size()), [&](int i) { return slices_[size_t(i)].start >= time; });
}

// Whole blocks by the pyramid, what is beside them one by one.
int TimelineTrack::longest(int first, int last) const {
  int best = -1;
  const auto consider = [&](int slice) {
    if (best < 0 || length(slice) > length(best)) best = slice;
  };
  const auto entry = [&](int level, int i) { return level < 0 ? i : pyramid_[size_t(level)][size_t(i)]; };
  for (int level = -1; first < last; ++level) {
    const bool is_top = level + 1 == static_cast<int>(pyramid_.size());
    while (first < last && (is_top || first % fan != 0)) consider(entry(level, first++));
    while (first < last && last % fan != 0) consider(entry(level, --last));
    first /= fan;
    last /= fan;
  }
  return best;
}

PartSeconds TimelineTrack::seconds(double begin, double end, int first, int last) const {
  PartSeconds sum{};
  if (first >= last) return sum;
  for (size_t part = 0; part < time_parts; ++part)
    sum[part] = before_[size_t(last)][part] - before_[size_t(first)][part];
  const TrackSlice &left = slices_[size_t(first)], &right = slices_[size_t(last) - 1];
  sum[static_cast<size_t>(left.part)] -= std::max(0.0, begin - left.start);
  sum[static_cast<size_t>(right.part)] -= std::max(0.0, right.end - end);
  return sum;
}

TrackColumn TimelineTrack::column(double begin, double end, int first, int last) const {
  TrackColumn column;
  if (first >= last) return column;
  PartSeconds sum{};
  double most = 0;
  const auto consider = [&](int slice) {
    const TrackSlice& own = slices_[size_t(slice)];
    const double inside = std::min(own.end, end) - std::max(own.start, begin);
    if (inside > most) {
      most = inside;
      column.longest = slice;
    }
    return inside;
  };
  if (last - first <= few) {
    for (int slice = first; slice < last; ++slice)
      sum[static_cast<size_t>(slices_[size_t(slice)].part)] += std::max(0.0, consider(slice));
  } else {
    sum = seconds(begin, end, first, last);
    consider(first);
    consider(longest(first + 1, last - 1));
    consider(last - 1);
  }
  for (size_t part = 0; part < time_parts; ++part)
    column.share[part] = static_cast<float>(std::clamp(sum[part] / (end - begin), 0.0, 1.0));
  return column;
}

std::vector<TrackColumn> TimelineTrack::columns(double begin, double end, int pixels) const {
  std::vector<TrackColumn> columns(static_cast<size_t>(std::max(0, pixels)));
  if (!(end > begin) || slices_.empty()) return columns;
  const double width = (end - begin) / pixels;
  for (int i = 0, last = 0; i < pixels; ++i) {
    const double left = begin + i * width, right = begin + (i + 1) * width;
    const int first = behind(left, std::max(0, last - 1));
    last = not_before(right, first);
    columns[size_t(i)] = column(left, right, first, last);
  }
  return columns;
}

std::pair<int, int> TimelineTrack::slices_in(double begin, double end) const {
  const int first = behind(begin, 0);
  return {first, not_before(end, first)};
}

PartSeconds TimelineTrack::seconds(double begin, double end) const {
  const auto [first, last] = slices_in(begin, end);
  return seconds(begin, end, first, last);
}

std::optional<int> TimelineTrack::longest_in(double begin, double end) const {
  if (!(end > begin)) return std::nullopt;
  const auto [first, last] = slices_in(begin, end);
  const int found = column(begin, end, first, last).longest;
  return found < 0 ? std::nullopt : std::optional(found);
}

void TimelineTrack::each_longer(double begin, double end, double least, const std::function<void(int)>& f) const {
  const auto [first, last] = slices_in(begin, end);
  for (int i = first; i < last;) {
    int skipped = 0, block = 1;
    for (size_t level = 0; level < pyramid_.size(); ++level) {
      block *= fan;
      if (i % block != 0 || i + block > last) break;
      if (length(pyramid_[level][size_t(i / block)]) < least) skipped = block;
    }
    if (skipped == 0 && length(i) >= least) f(i);
    i += std::max(1, skipped);
  }
}

std::pair<int, int> TimelineTrack::slices_of(int32_t step, int from) const {
  const auto begin = slices_.begin() + from;
  auto first = begin, last = slices_.end();
  if (is_by_step_) {
    const auto found = std::ranges::equal_range(begin, last, step, {}, &TrackSlice::step);
    first = found.begin(), last = found.end();
  } else {
    first = std::ranges::find(begin, last, step, &TrackSlice::step);
    last = std::find_if(first, last, [step](const TrackSlice& slice) { return slice.step != step; });
  }
  return {static_cast<int>(first - slices_.begin()), static_cast<int>(last - slices_.begin())};
}

}  // namespace shardscope
