#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace shardscope {

// What a rank does at a time: local work, moving data, or waiting until its peers have come to do so. Of a stream
// beside its work: `hidden`, moving data while it works.
enum class TimePart : uint8_t { work, transfer, waiting, hidden };
inline constexpr size_t time_parts = 4;
using PartSeconds = std::array<double, time_parts>;  // by TimePart

struct TrackSlice {
  double start = 0, end = 0;  // seconds from the beginning of the training step
  int32_t step = -1;          // position in the main sequence
  TimePart part = TimePart::work;
};

// One pixel of a track: which share of its time goes where, and the slice that has most of it; -1: none has any.
struct TrackColumn {
  std::array<float, time_parts> share{};  // what is missing to 1 is idle
  int longest = -1;
};

// What one rank does over a training step, made ready to be drawn at any zoom: sums of time up to each slice give the
// share of any span exactly, and a pyramid of the longest slice among 16, 256, ... gives the one that matters most
// in it. A picture costs O(pixels log slices), a million slices like a thousand.
class TimelineTrack {
 public:
  TimelineTrack() = default;
  // Slices in order of start. What overlaps is cut: a later one begins where the earlier ends.
  explicit TimelineTrack(std::vector<TrackSlice> slices);

  const std::vector<TrackSlice>& slices() const { return slices_; }
  double end() const { return slices_.empty() ? 0 : slices_.back().end; }

  // The window [begin, end) on so many pixels. No slice that is longer than a pixel is lost: it is the longest of at
  // least one.
  std::vector<TrackColumn> columns(double begin, double end, int pixels) const;
  // What is in a span: seconds by part, and the slices (first, behind the last) that have a share in it.
  PartSeconds seconds(double begin, double end) const;
  std::pair<int, int> slices_in(double begin, double end) const;
  // The slice that has most of a span; nothing where none has any.
  std::optional<int> longest_in(double begin, double end) const;
  // Calls f for each slice in the window that is at least so long, in order.
  void each_longer(double begin, double end, double least, const std::function<void(int)>& f) const;
  // The slices of a step, by position, the next ones from slice `from` on that have no others between them: first and
  // behind the last; equal where there are none.
  std::pair<int, int> slices_of(int32_t step, int from = 0) const;

 private:
  static constexpr int fan = 16;
  static constexpr int few = 32;  // slices of a pixel that are summed up one by one, which is faster then

  double length(int slice) const { return slices_[size_t(slice)].end - slices_[size_t(slice)].start; }
  int behind(double time, int from) const;      // the first slice from `from` on that ends behind `time`
  int not_before(double time, int from) const;  // that starts at `time` or later
  int longest(int first, int last) const;
  TrackColumn column(double begin, double end, int first, int last) const;
  PartSeconds seconds(double begin, double end, int first, int last) const;

  std::vector<TrackSlice> slices_;
  bool is_by_step_ = true;                     // positions never descend
  std::vector<PartSeconds> before_;            // before_[i]: of all slices before i
  std::vector<std::vector<int32_t>> pyramid_;  // pyramid_[k][i]: the longest of slices [i, i + 1) * fan^(k + 1)
};

}  // namespace shardscope
