#include "gui/document/spec_batch.h"

#include <algorithm>
#include <optional>
#include <set>
#include <unordered_map>

#include "engine/base/name_pattern.h"
#include "engine/base/path.h"
#include "engine/config/parameter_specs.h"
#include "gui/document/spec_text.h"
#include "gui/document/text.h"

namespace shardscope {
namespace {

// "Block_12" without its number; nothing where it has none.
std::optional<std::string> stem_of(const std::string& part) {
  const size_t last = part.find_last_not_of("0123456789");
  const size_t begin = last == std::string::npos ? 0 : last + 1;
  return begin == part.size() ? std::nullopt : std::optional(part.substr(0, begin));
}

bool differs_in_number_alone(const ParameterPath& one, const ParameterPath& other, size_t part) {
  if (one.size() != other.size() || one[part] == other[part]) return false;
  for (size_t i = 0; i < one.size(); ++i)
    if (i != part && one[i] != other[i]) return false;
  return stem_of(one[part]) == stem_of(other[part]);
}

const ParameterInfo* find(const std::vector<ParameterInfo>& parameters, const ParameterPath& path) {
  const auto found = std::ranges::find(parameters, path, &ParameterInfo::path);
  return found == parameters.end() ? nullptr : &*found;
}

// The path with a pattern for the part in which those of the layers differ.
ParameterPath pattern_of(const ParameterPath& path, const ParameterPath& other) {
  ParameterPath pattern = path;
  for (size_t i = 0; i < path.size(); ++i)
    if (path[i] != other[i]) pattern[i] = *stem_of(path[i]) + "*";
  return pattern;
}

bool means_these_alone(const ParameterPath& pattern, const std::vector<ParameterInfo>& parameters,
                       const std::set<ParameterPath>& these) {
  NamePatterns patterns;
  patterns.add(join_path(pattern), 0);
  return std::ranges::all_of(parameters, [&](const ParameterInfo& info) {
    std::vector<int> matching;
    patterns.match(join_path(info.path), matching);
    return matching.empty() || these.contains(info.path);
  });
}

// The specs with one line for all; nothing where another line decides one of them.
std::optional<ShardingConfig> with_pattern(ShardingConfig sharding, const ParameterPath& pattern,
                                           const std::set<ParameterPath>& these, const PartitionSpec& spec) {
  std::erase_if(sharding.parameters, [&](const ParameterSpec& line) { return these.contains(line.path); });
  set_parameter_spec(sharding, pattern, spec);
  const ParameterSpecs specs(sharding);
  const bool decides = std::ranges::all_of(these, [&](const ParameterPath& path) {
    const ParameterSpec* line = specs.find(path);
    return line && line->path == pattern;
  });
  return decides ? std::optional(std::move(sharding)) : std::nullopt;
}

}  // namespace

void set_specs(Document& document, const std::vector<SpecChange>& changes, const QString& text) {
  RunConfig config = document.config();
  std::vector<ParameterSpec>& lines = config.sharding.parameters;
  std::unordered_map<std::string, size_t> line_of;
  for (size_t i = 0; i < lines.size(); ++i) line_of.emplace(join_path(lines[i].path), i);
  std::vector<const SpecChange*> others;
  for (const SpecChange& change : changes) {
    const auto* parameter = std::get_if<ParameterRef>(&change.array);
    const auto line = parameter ? line_of.find(join_path(parameter->path)) : line_of.end();
    if (line == line_of.end()) others.push_back(&change);
    else lines[line->second].spec = change.spec;
  }
  for (const SpecChange* change : others) put_spec(config, change->array, change->spec);
  document.edit(std::move(config), text);
}

PartitionSpec swapped(PartitionSpec spec, int rank, int first, int second) {
  spec.dims.resize(std::max(spec.dims.size(), static_cast<size_t>(rank)));
  std::swap(spec.dims.at(static_cast<size_t>(first)), spec.dims.at(static_cast<size_t>(second)));
  return spec;
}

std::vector<ParameterPath> in_other_layers(const std::vector<ParameterInfo>& parameters, const ParameterPath& path) {
  const ParameterInfo* own = find(parameters, path);
  std::vector<ParameterPath> others;
  for (size_t part = 0; own && part < path.size() && others.empty(); ++part) {
    if (!stem_of(path[part])) continue;
    for (const ParameterInfo& info : parameters)
      if (info.type.shape == own->type.shape && differs_in_number_alone(path, info.path, part))
        others.push_back(info.path);
  }
  return others;
}

void set_in_all_layers(Document& document, const std::vector<ParameterInfo>& parameters, const ParameterPath& path,
                       const PartitionSpec& spec) {
  const std::vector<ParameterPath> others = in_other_layers(parameters, path);
  if (others.empty()) return set_specs(document, {{ParameterRef{path}, spec}}, Document::tr("spec of one layer"));
  const ParameterPath pattern = pattern_of(path, others.front());
  std::set<ParameterPath> all(others.begin(), others.end());
  all.insert(path);
  const QString text = Document::tr("%1 = %2").arg(qt(join_path(pattern)).section('/', 1), spec_text(spec));
  if (means_these_alone(pattern, parameters, all)) {
    if (auto sharding = with_pattern(document.config().sharding, pattern, all, spec)) {
      RunConfig config = document.config();
      config.sharding = std::move(*sharding);
      return document.edit(std::move(config), text);
    }
  }
  std::vector<SpecChange> changes;
  for (const ParameterPath& one : all) changes.push_back({ParameterRef{one}, spec});
  set_specs(document, changes, text);
}

}  // namespace shardscope
