#include "engine/checkpoint/checkpoint_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "engine/base/number_text.h"
#include "engine/checkpoint/checkpoint_index.h"

namespace shardscope {

namespace {

// A number that a name ends in, or is.
std::optional<int64_t> number_in(std::string_view text) {
  const auto number = number_of<int64_t>(text);
  return number && *number >= 0 ? number : std::nullopt;
}

}  // namespace

std::string step_folder_name(int64_t step) { return fmt::format("step_{:06}", step); }
std::string part_name(int64_t step) { return fmt::format(".{}.part", step_folder_name(step)); }
std::string gone_name(int64_t step) { return fmt::format(".{}.gone", step_folder_name(step)); }
std::string damaged_name(int64_t step) { return step_folder_name(step) + ".damaged"; }
std::string left_name(int64_t step) { return step_folder_name(step) + ".left"; }
std::string rank_file_name(int rank) { return fmt::format("rank_{:05}.safetensors", rank); }

std::optional<int64_t> step_of_checkpoint(const std::string& name) {
  constexpr std::string_view prefix = "step_";
  if (!name.starts_with(prefix)) return std::nullopt;
  const std::optional<int64_t> step = number_in(std::string_view(name).substr(prefix.size()));
  return step && step_folder_name(*step) == name ? step : std::nullopt;
}

std::optional<int64_t> step_of_leftover(const std::string& name) {
  const size_t end = name.rfind('.');
  if (!name.starts_with('.') || end == 0) return std::nullopt;
  const std::optional<int64_t> step = step_of_checkpoint(name.substr(1, end - 1));
  if (!step) return std::nullopt;
  if (name == part_name(*step) || name == gone_name(*step)) return step;
  const std::string numbered = gone_name(*step) + "_";
  return name.starts_with(numbered) && number_in(name.substr(numbered.size())) ? step : std::nullopt;
}

bool is_checkpoint_file(const std::string& name) {
  constexpr std::string_view prefix = "rank_", suffix = ".safetensors";
  if (name == index_file_name) return true;
  if (!name.starts_with(prefix) || !name.ends_with(suffix)) return false;
  const std::string rank = name.substr(prefix.size(), name.size() - prefix.size() - suffix.size());
  const std::optional<int64_t> number = number_in(rank);
  return number && *number <= INT32_MAX && rank_file_name(static_cast<int>(*number)) == name;
}

bool is_held_by_nfs(const std::string& name) {
  constexpr std::string_view prefix = ".nfs";
  constexpr size_t fewest = 8;
  const bool is_number = std::all_of(name.begin() + std::min(prefix.size(), name.size()), name.end(),
                                     [](unsigned char c) { return std::isxdigit(c) != 0; });
  return name.starts_with(prefix) && name.size() >= prefix.size() + fewest && is_number;
}

}  // namespace shardscope
