#pragma once

#include <QColor>
#include <string>
#include <vector>

#include "engine/plan/plan.h"
#include "viz/paint/palette.h"

namespace shardscope {

// By what the slices of a time line are coloured. Steps that move data have the colour of their kind in either case.
enum class TimelineColoring : uint8_t { kind, layer };

// What a colour stands for, with what it is predicted to take in a training step, on the slowest stage.
struct TimelineColor {
  std::string label;  // "einsum", "layer 3", "all-gather"
  QColor color;
  double seconds = 0;
  bool is_moving = false;  // of steps that move data
};

struct TimelineColors {
  std::vector<TimelineColor> legend;        // work, longest first (layers in order); then what moves data
  std::vector<std::vector<QRgb>> of_stage;  // by position in the stage's main sequence
};

// Kinds of ops beyond the `most_kinds` that take longest share a colour.
inline constexpr size_t most_kinds = 7;
TimelineColors timeline_colors(const Plan& plan, TimelineColoring coloring, const Theme& theme);

}  // namespace shardscope
