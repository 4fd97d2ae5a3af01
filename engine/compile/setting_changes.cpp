#include "engine/compile/setting_changes.h"

#include <map>
#include <set>

#include "engine/base/error.h"
#include "engine/compile/changed_settings.h"
#include "engine/compile/settings.h"
#include "engine/config/path_values.h"
#include "engine/config/run_document.h"

namespace shardscope {
namespace {

// By path, those that the file says and the defaults of its sections' other keys.
class FileValues {
 public:
  explicit FileValues(const RunConfig& config) : said_(values_of(config, to_run_document)) {
    for (const PathValue& value : said_) texts_.emplace(value.path, value.text);
    for (const PathValue& value : values_of(with_default_options(config), to_whole_run_document))
      if (value.text != "null" && value.text != R"("")") texts_.emplace(value.path, value.text);
  }

  const std::vector<PathValue>& said() const { return said_; }
  std::string at(const std::string& path) const {
    const auto found = texts_.find(path);
    return found == texts_.end() ? std::string() : found->second;
  }

 private:
  // Of a config that no file can say, why.
  static std::vector<PathValue> values_of(const RunConfig& config, JsonNode (*to_document)(const RunConfig&)) {
    try {
      return path_values(to_document(config));
    } catch (const Failure& failure) {
      return {{to_string(failure.errors().front().place), failure.errors().front().message}};
    }
  }

  std::vector<PathValue> said_;
  std::map<std::string, std::string> texts_;
};

}  // namespace

std::vector<SettingChange> setting_changes(const RunConfig& before, const RunConfig& after) {
  const FileValues old(before), now(after);
  std::vector<SettingChange> list;
  std::set<std::string> compared;
  for (const FileValues* file : {&old, &now}) {
    for (const auto& [path, text] : file->said()) {
      SettingChange change{path, old.at(path), now.at(path)};
      if (!compared.insert(path).second || without_fraction(change.before) == without_fraction(change.after)) continue;
      list.push_back(std::move(change));
    }
  }
  return list;
}

}  // namespace shardscope
