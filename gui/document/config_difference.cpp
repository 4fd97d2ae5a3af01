#include "gui/document/config_difference.h"

#include <QStringList>
#include <algorithm>
#include <map>

#include "engine/base/error.h"
#include "engine/compile/settings.h"
#include "engine/config/run_document.h"
#include "gui/document/text.h"

namespace shardscope {
namespace {

using Kind = JsonNode::Kind;

struct Setting {
  std::string path, value;
};

bool holds_objects(const JsonNode& node) {
  return std::ranges::any_of(node.items, [](const JsonNode& item) { return item.is(Kind::object); });
}

void list(const JsonNode& node, const std::string& path, std::vector<Setting>& settings) {
  if (node.is(Kind::object) && !node.items.empty()) {
    for (size_t i = 0; i < node.items.size(); ++i)
      list(node.items[i], path.empty() ? node.keys[i] : path + "." + node.keys[i], settings);
  } else if (node.is(Kind::array) && holds_objects(node)) {
    for (size_t i = 0; i < node.items.size(); ++i) list(node.items[i], path + "[" + std::to_string(i) + "]", settings);
  } else {
    settings.push_back({path, print_json_line(node)});
  }
}

// What no file can say (a number that is not finite, say) is compared as far as it can be.
std::vector<Setting> settings_of(const RunConfig& config, JsonNode (*to_document)(const RunConfig&) = to_run_document) {
  std::vector<Setting> settings;
  try {
    list(to_document(config), "", settings);
  } catch (const Failure& failure) {
    settings.push_back({to_string(failure.errors().front().place), failure.errors().front().message});
  }
  return settings;
}

using Values = std::map<std::string, std::string>;

Values values_of(const std::vector<Setting>& settings) {
  Values values;
  for (const Setting& setting : settings) values[setting.path] = setting.value;
  return values;
}

// All keys of its sections, those at their defaults, too.
Values meant_by(const RunConfig& config) {
  Values values = values_of(settings_of(with_default_options(config), to_whole_run_document));
  std::erase_if(values, [](const auto& entry) { return entry.second == "null" || entry.second == R"("")"; });
  return values;
}

std::string value_at(const std::string& path, const Values& said, const Values& meant) {
  if (const auto value = said.find(path); value != said.end()) return value->second;
  const auto value = meant.find(path);
  return value == meant.end() ? std::string() : value->second;
}

}  // namespace

std::vector<SettingDifference> differences(const RunConfig& before, const RunConfig& after) {
  const std::vector<Setting> old = settings_of(before), added = settings_of(after);
  const Values was = values_of(old), now = values_of(added), meant_before = meant_by(before),
               meant_after = meant_by(after);
  std::vector<SettingDifference> list;
  const auto compare = [&](const Setting& setting, const std::string& from, const std::string& to) {
    if (from != to) list.push_back({qt(setting.path), qt(from), qt(to)});
  };
  for (const Setting& setting : old) compare(setting, setting.value, value_at(setting.path, now, meant_after));
  for (const Setting& setting : added) {
    if (!was.contains(setting.path)) compare(setting, value_at(setting.path, was, meant_before), setting.value);
  }
  return list;
}

std::vector<SettingDifference> line_differences(const std::string& before, const std::string& after) {
  const QStringList old = qt(before).split('\n'), now = qt(after).split('\n');
  qsizetype first = 0, old_end = old.size(), now_end = now.size();
  while (first < old_end && first < now_end && old[first] == now[first]) ++first;
  while (old_end > first && now_end > first && old[old_end - 1] == now[now_end - 1]) --old_end, --now_end;
  std::vector<SettingDifference> list;
  for (qsizetype line = first; line < std::max(old_end, now_end); ++line)
    list.push_back({QObject::tr("line %1").arg(line + 1), line < old_end ? old[line] : QString(),
                    line < now_end ? now[line] : QString()});
  return list;
}

}  // namespace shardscope
