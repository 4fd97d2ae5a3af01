#include "viz/text/metric_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

namespace shardscope {

std::string_view metric_kind(std::string_view name) { return name.substr(name.rfind('_') + 1); }

std::string metric_label(std::string_view name) {
  std::string label(name);
  std::replace(label.begin(), label.end(), '_', ' ');
  if (!label.empty()) label[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(label[0])));
  return label;
}

bool is_share(std::string_view name) { return metric_kind(name) == "accuracy"; }

std::string metric_text(std::string_view name, double value) {
  if (metric_kind(name) == "tokens") return fmt::format("{:.0f}", value);
  if (metric_kind(name) == "rate") return fmt::format("{:.3g}", value);
  if (std::abs(value) >= 1e9) return fmt::format("{:.5g}", value);
  return is_share(name) ? fmt::format("{:.2f}%", value * 100) : fmt::format("{:.4f}", value);
}

}  // namespace shardscope
