#include "gui/panels/shown_options.h"

#include <algorithm>

#include "engine/compile/settings.h"

namespace shardscope {

std::vector<ShownOption> shown_options(const RunConfig& config, OptionGroup which) {
  const NamedOptions& named = group(config, which);
  std::vector<ShownOption> shown;
  for (const OptionDefinition& definition : offered_options(config, group_name(which).toStdString())) {
    ShownOption option{definition.name, definition.default_value, definition.help, definition.choices};
    if (const OptionValue* value = named.find(definition.name)) option.value = *value;
    const auto* whole = std::get_if<int64_t>(&option.value);
    if (whole && std::holds_alternative<double>(definition.default_value)) option.value = static_cast<double>(*whole);
    shown.push_back(std::move(option));
  }
  for (const auto& [name, value] : named.options) {
    if (std::ranges::find(shown, name, &ShownOption::name) == shown.end()) shown.push_back({name, value});
  }
  return shown;
}

}  // namespace shardscope
