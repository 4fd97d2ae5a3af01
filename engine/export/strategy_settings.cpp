#include "engine/export/strategy_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "engine/base/number_text.h"

namespace shardscope {

const StrategySettings::Setting* StrategySettings::find(const std::string& key) const {
  const auto at =
      std::find_if(settings_.rbegin(), settings_.rend(), [&](const Setting& one) { return one.key == key; });
  return at == settings_.rend() ? nullptr : &*at;
}

std::string StrategySettings::text(const std::string& key, const std::string& other) const {
  const Setting* setting = find(key);
  return setting ? setting->value : other;
}

bool StrategySettings::flag(const std::string& key) const {
  std::string value = text(key, "false");
  std::ranges::transform(value, value.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return value != "false" && value != "0";
}

int64_t StrategySettings::integer(const std::string& key, int64_t other, int64_t low) {
  const Setting* setting = find(key);
  if (!setting) return other;
  constexpr int64_t most = 1'000'000'000;
  const auto value = number_of<int64_t>(setting->value);
  if (value && *value >= low && *value <= most) return *value;
  fail(key, fmt::format("'{}' is no number that can be read here", setting->value),
       fmt::format("an integer, {} to {}", low, most));
  return other;
}

double StrategySettings::number(const std::string& key, double other) {
  const Setting* setting = find(key);
  if (!setting) return other;
  const auto value = number_of<double>(setting->value);
  if (value && *value > 0) return *value;
  fail(key, fmt::format("'{}' is no number above 0", setting->value), "");
  return other;
}

void StrategySettings::fail(const std::string& key, std::string message, std::string hint) {
  const Setting* setting = find(key);
  errors_.push_back(
      {"strategy_file", key + ": " + std::move(message), in_file(file_, setting ? setting->line : 0), std::move(hint)});
}

void StrategySettings::finish() const {
  if (!errors_.empty()) throw Failure(errors_);
}

void UnsaidStrategy::refuse(bool is_unsaid, const std::string& key, const std::string& what, const std::string& hint) {
  if (is_unsaid) errors_.push_back({"unsaid", fmt::format("{} {}", program_, what), "strategy." + key, hint});
}

void UnsaidStrategy::refuse_replicas_within(const StrategyConfig& strategy) {
  const char* key = strategy.fsdp > 1 ? "fsdp" : strategy.context > 1 ? "context" : "expert";
  refuse(strategy.expert * strategy.context > 1 && strategy.zero == 0, key,
         "splits parameters over the devices of experts and of context as well", "zero 3, and data in place of fsdp");
}

void UnsaidStrategy::finish() const {
  if (!errors_.empty()) throw Failure(errors_);
}

std::vector<std::string> note_of_experts(const StrategyConfig& strategy) {
  if (strategy.expert == 1 || strategy.context == 1) return {};
  return {"experts there are split over the devices of context, which the plan has beside them"};
}

std::vector<int64_t> layers_of_equal_chunks(int64_t layers, int64_t chunks, int64_t ends) {
  if (layers == 0 || chunks == 1) return {};
  const int64_t all = layers + 2 * ends;
  std::vector<int64_t> result(static_cast<size_t>(chunks), all / chunks);
  for (int64_t i = 0; i < all % chunks; ++i) ++result[static_cast<size_t>(i)];
  result.front() -= ends;
  result.back() -= ends;
  return result;
}

std::string trimmed(std::string text) {
  const auto is_space = [](unsigned char c) { return c <= ' '; };
  while (!text.empty() && is_space(static_cast<unsigned char>(text.back()))) text.pop_back();
  text.erase(text.begin(), std::find_if_not(text.begin(), text.end(), is_space));
  return text;
}

std::vector<std::string> lines_without_comments(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    const size_t comment = line.find('#');
    lines.push_back(trimmed(line.substr(0, comment)));
  }
  return lines;
}

}  // namespace shardscope
