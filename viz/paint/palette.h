#pragma once

#include <QColor>
#include <vector>

#include "engine/mesh/sharding.h"
#include "engine/plan/plan.h"

namespace shardscope {

// The colours of the program, light and dark. Where data is is coloured by mesh axis: one hue family per axis, the
// lightness by the coordinate along it. Nothing is reported by colour alone: labels and hatches say the same.
struct Theme {
  bool dark = false;
  QColor window, base, raised, line, text, muted, accent, on_accent, good, warning, error;
};

const Theme& light_theme();
const Theme& dark_theme();

// OKLCH (Ottosson 2020): perceptual lightness 0..1, chroma 0..0.4, hue in degrees.
QColor oklch(double lightness, double chroma, double hue);
// Black or white, whichever reads better on `background`.
QColor text_on(const QColor& background);
QColor mix(const QColor& a, const QColor& b, double part_of_b);

// A coordinate along a mesh axis, and how it is seen in the one fill that a device or a shard has. Of the axes of more
// than one device the first is reported by hue, the second by lightness, further ones by ticks at the edges. A single
// one is reported by lightness, in its own hue.
struct AxisTone {
  enum class Sign : uint8_t { hue, lightness, tick };

  AxisIndex axis = 0;
  int64_t coordinate = 0;
  int64_t size = 1;
  Sign sign = Sign::lightness;
  bool operator==(const AxisTone&) const = default;
};

QColor axis_color(AxisIndex axis, const Theme& theme);
// The colour of a single coordinate, by lightness.
QColor tone_color(const AxisTone& tone, const Theme& theme);
// The fill of what has these tones; neutral without any. Ticks change it a little, for places that are too small to
// have them. Where neither hue nor lightness is reported, the first tick is reported by lightness.
QColor fill_color(const std::vector<AxisTone>& tones, const Theme& theme);

// What tells a device from the others: its tone on every axis of more than one device.
std::vector<AxisTone> device_tones(const Mesh& mesh, int device);
// What the devices that hold `device`'s shard have in common: its tones on the axes that split the array.
std::vector<AxisTone> shard_tones(const Mesh& mesh, const Sharding& sharding, int device);

// Curves of one chart: the accent first, then the hues of the mesh axes; they repeat after curve_color_count.
inline constexpr int curve_color_count = Mesh::max_axes;
QColor curve_color(int curve, const Theme& theme);

QColor category_color(MemoryCategory category, const Theme& theme);
QColor phase_color(Phase phase, const Theme& theme);
QColor instruction_color(InstructionKind kind, const Theme& theme);

}  // namespace shardscope
