#include "viz/paint/palette.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace shardscope {
namespace {

constexpr std::array<double, Mesh::max_axes> axis_hues{250, 55, 155, 330, 100, 200, 20};

constexpr double middle_part = 0.4;     // of the lightnesses, where none is reported
constexpr double tick_part = 0.5;       // of the step from one lightness to the next
constexpr double widest_hue_step = 60;  // degrees

double gamma(double linear) {
  const double value = std::clamp(linear, 0.0, 1.0);
  return value <= 0.0031308 ? 12.92 * value : 1.055 * std::pow(value, 1 / 2.4) - 0.055;
}

double luminance(const QColor& color) {
  const auto linear = [](double c) { return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4); };
  return 0.2126 * linear(color.redF()) + 0.7152 * linear(color.greenF()) + 0.0722 * linear(color.blueF());
}

// How much of the lightnesses so many coordinates take: few need less contrast than many.
double reach(int64_t size) { return std::min(1.0, 0.25 + 0.2 * double(size)); }

// From light to dark in a light theme, from dark to light in a dark one, as `part` goes from 0 to 1.
QColor shade(double part, double hue, const Theme& theme) {
  const double lightness = theme.dark ? 0.40 + 0.36 * part : 0.88 - 0.34 * part;
  const double chroma = theme.dark ? 0.075 + 0.035 * part : 0.06 + 0.07 * part;
  return oklch(lightness, chroma, hue);
}

double hue_of(const AxisTone& tone) {
  const double step = std::min(widest_hue_step, 360.0 / double(tone.size));
  return axis_hues[tone.axis % axis_hues.size()] + step * double(tone.coordinate);
}

const AxisTone* find_sign(const std::vector<AxisTone>& tones, AxisTone::Sign sign) {
  const auto found = std::ranges::find(tones, sign, &AxisTone::sign);
  return found == tones.end() ? nullptr : &*found;
}

}  // namespace

const Theme& light_theme() {
  static const Theme theme{false,
                           QColor(0xf3, 0xf4, 0xf6),
                           QColor(0xff, 0xff, 0xff),
                           QColor(0xfa, 0xfa, 0xfb),
                           QColor(0xd9, 0xdc, 0xe1),
                           QColor(0x1d, 0x21, 0x29),
                           QColor(0x63, 0x6b, 0x78),
                           QColor(0x2b, 0x62, 0xc9),
                           QColor(0xff, 0xff, 0xff),
                           QColor(0x1d, 0x7d, 0x4a),
                           QColor(0x94, 0x5f, 0x00),
                           QColor(0xc0, 0x2f, 0x2f)};
  return theme;
}

const Theme& dark_theme() {
  static const Theme theme{true,
                           QColor(0x1c, 0x1f, 0x24),
                           QColor(0x15, 0x17, 0x1b),
                           QColor(0x23, 0x27, 0x2d),
                           QColor(0x37, 0x3c, 0x45),
                           QColor(0xe4, 0xe7, 0xec),
                           QColor(0x98, 0xa1, 0xae),
                           QColor(0x6f, 0xa3, 0xff),
                           QColor(0x0d, 0x14, 0x22),
                           QColor(0x5f, 0xc9, 0x8f),
                           QColor(0xe2, 0xb2, 0x57),
                           QColor(0xff, 0x7d, 0x7a)};
  return theme;
}

QColor oklch(double lightness, double chroma, double hue) {
  const double angle = hue * std::numbers::pi / 180;
  const double a = chroma * std::cos(angle), b = chroma * std::sin(angle);
  const double l = std::pow(lightness + 0.3963377774 * a + 0.2158037573 * b, 3);
  const double m = std::pow(lightness - 0.1055613458 * a - 0.0638541728 * b, 3);
  const double s = std::pow(lightness - 0.0894841775 * a - 1.2914855480 * b, 3);
  return QColor::fromRgbF(static_cast<float>(gamma(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s)),
                          static_cast<float>(gamma(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s)),
                          static_cast<float>(gamma(-0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s)));
}

QColor text_on(const QColor& background) {
  return luminance(background) > 0.26 ? QColor(0x14, 0x18, 0x20) : QColor(0xff, 0xff, 0xff);
}

QColor mix(const QColor& a, const QColor& b, double part) {
  const auto blend = [part](int x, int y) { return static_cast<int>(std::lround(x + (y - x) * part)); };
  return QColor(blend(a.red(), b.red()), blend(a.green(), b.green()), blend(a.blue(), b.blue()));
}

QColor axis_color(AxisIndex axis, const Theme& theme) {
  return oklch(theme.dark ? 0.76 : 0.52, 0.13, axis_hues[axis % axis_hues.size()]);
}

QColor curve_color(int curve, const Theme& theme) {
  const int hue = curve % curve_color_count;
  return hue == 0 ? theme.accent : axis_color(static_cast<AxisIndex>(hue), theme);
}

QColor tone_color(const AxisTone& tone, const Theme& theme) {
  const double part = tone.size > 1 ? reach(tone.size) * double(tone.coordinate) / double(tone.size - 1) : 0;
  return shade(part, axis_hues[tone.axis % axis_hues.size()], theme);
}

QColor fill_color(const std::vector<AxisTone>& tones, const Theme& theme) {
  if (tones.empty()) return mix(theme.window, theme.line, 0.6);
  const AxisTone* hue = find_sign(tones, AxisTone::Sign::hue);
  const AxisTone* lightness = find_sign(tones, AxisTone::Sign::lightness);
  if (!hue && !lightness) lightness = &tones.front();
  double ticks = 0, width = 1;  // which of the combinations of ticks, of a unit
  for (const AxisTone& tone : tones) {
    if (&tone == hue || &tone == lightness) continue;
    width /= double(tone.size);
    ticks += double(tone.coordinate) * width;
  }
  const double angle = hue ? hue_of(*hue) : axis_hues[lightness->axis % axis_hues.size()];
  if (!lightness) return shade(middle_part + tick_part * ticks, angle, theme);
  const double step = reach(lightness->size) / std::max(1.0, double(lightness->size - 1));
  return shade(step * (double(lightness->coordinate) + tick_part * ticks), angle, theme);
}

std::vector<AxisTone> device_tones(const Mesh& mesh, int device) {
  std::vector<AxisTone> tones;
  tones.reserve(static_cast<size_t>(mesh.axis_count()));
  for (int axis = 0; axis < mesh.axis_count(); ++axis) {
    const auto index = static_cast<AxisIndex>(axis);
    if (mesh.axis_size(index) < 2) continue;
    const AxisTone::Sign sign = tones.empty()       ? AxisTone::Sign::hue
                                : tones.size() == 1 ? AxisTone::Sign::lightness
                                                    : AxisTone::Sign::tick;
    tones.push_back({index, mesh.coordinate(device, index), mesh.axis_size(index), sign});
  }
  if (tones.size() == 1) tones.front().sign = AxisTone::Sign::lightness;
  return tones;
}

std::vector<AxisTone> shard_tones(const Mesh& mesh, const Sharding& sharding, int device) {
  std::vector<AxisTone> tones = device_tones(mesh, device);
  std::erase_if(tones, [&](const AxisTone& tone) {
    for (int d = 0; d < sharding.rank; ++d)
      if (sharding.dims[d].contains(tone.axis)) return false;
    return true;
  });
  return tones;
}

QColor category_color(MemoryCategory category, const Theme& theme) {
  constexpr std::array<double, memory_category_count> hues{255, 30, 300, 160, 80, 0};
  const double chroma = category == MemoryCategory::workspace ? 0.0 : 0.09;
  return oklch(theme.dark ? 0.62 : 0.72, chroma, hues[static_cast<int>(category)]);
}

QColor phase_color(Phase phase, const Theme& theme) {
  constexpr std::array<double, step_phases> hues{225, 20, 140, 60};
  return oklch(theme.dark ? 0.60 : 0.70, 0.08, hues[static_cast<int>(phase)]);
}

QColor instruction_color(InstructionKind kind, const Theme& theme) {
  if (kind == InstructionKind::compute) return oklch(theme.dark ? 0.58 : 0.74, 0.035, 250);
  if (kind == InstructionKind::slice) return oklch(theme.dark ? 0.50 : 0.82, 0.02, 250);
  if (is_transfer(kind)) return oklch(theme.dark ? 0.68 : 0.66, 0.14, kind == InstructionKind::send ? 190 : 165);
  constexpr std::array<double, 5> hues{45, 25, 75, 330, 110};
  return oklch(theme.dark ? 0.68 : 0.66, 0.14,
               hues[static_cast<int>(kind) - static_cast<int>(InstructionKind::all_gather)]);
}

}  // namespace shardscope
