#include "engine/shard/spec_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "engine/base/enum_count.h"
#include "engine/base/name_pattern.h"
#include "engine/shard/spec_table.h"
#include "engine/shard/zero_split.h"

namespace shardscope {
namespace {

constexpr size_t kind_count = enum_count<SpecKind>;
// As many are looked at for the hint of a pattern; layers repeat.
constexpr size_t pattern_hint_names = 1000;
constexpr std::array<const char*, kind_count> kind_codes = {"parameter", "optimizer_state", "state",   "activation",
                                                            "input",     "output",          "gradient"};
constexpr std::array<const char*, kind_count> kind_words = {"parameter", "optimizer state", "state",   "activation",
                                                            "input",     "output",          "gradient"};

// Faults of one kind in many arrays: reported once, with the name of the first.
struct Fault {
  Shape key;
  std::vector<Error> errors;  // none: seen, and legal
  std::string first;
  bool is_error = true;
  int more = 0;
};

constexpr size_t no_array = std::numeric_limits<size_t>::max();
constexpr int sample_size = 12;

// A line of the table, with what became of it.
struct Line {
  TableRule rule;
  SpecLineUse use;
  size_t last_matched = no_array, last_decided = no_array;
  std::vector<bool> entry_matched;
  std::vector<Fault> faults;

  bool matched() const { return use.matched > 0; }
  void match(size_t array, const std::string& name) {
    if (last_matched == array) return;
    last_matched = array;
    if (++use.matched <= sample_size) use.sample += (use.matched > 1 ? "\n" : "") + name;
  }
  void decide(size_t array) {
    if (last_decided != array) ++use.decided;
    last_decided = array;
  }

  Fault& fault(Shape key, bool& is_new) {
    auto at = std::find_if(faults.begin(), faults.end(), [&](const Fault& fault) { return fault.key == key; });
    is_new = at == faults.end();
    if (!is_new) return *at;
    faults.push_back({std::move(key), {}, {}, true, 0});
    return faults.back();
  }
};

class Resolution {
 public:
  Resolution(const ShardingConfig& sharding, const Mesh& mesh, std::span<const SpecTarget> targets)
      : mesh_(mesh), targets_(targets), zero_(sharding.zero) {
    std::vector<TableRule> table = spec_table(sharding, mesh);
    const std::vector<int> order = asking_order(table);
    for (TableRule& rule : table) {
      const size_t entries = rule.entries.size();
      SpecLineUse use{rule.place, 0, 0, {}};
      lines_.push_back({std::move(rule), std::move(use), no_array, no_array, std::vector<bool>(entries), {}});
    }
    for (const int line : order) {
      const TableRule& rule = lines_[line].rule;
      for (std::string& names : alternatives(rule.names)) {
        for (SpecKind kind : rule.of) patterns_[static_cast<size_t>(kind)].add(names, static_cast<int>(asked_.size()));
        asked_.push_back({line, std::move(names), false});
      }
    }
  }

  ResolvedSpecs run() {
    result_.specs.resize(targets_.size());
    for (array_ = 0; array_ < targets_.size(); ++array_) resolve(targets_[array_], result_.specs[array_]);
    for (size_t t = 0; t < targets_.size(); ++t) {
      if (result_.specs[t].place.empty()) set_default(targets_[t], result_.specs[t]);
    }
    split_by_zero(zero_, mesh_, targets_, result_);
    for (const Line& line : lines_) report(line);
    for (const Asked& asked : asked_) {
      if (!asked.matched && lines_[asked.line].matched()) report_unmatched(asked);
    }
    for (Line& line : lines_) result_.lines.push_back(std::move(line.use));
    return std::move(result_);
  }

 private:
  // One of the alternatives of a line's pattern.
  struct Asked {
    int line = 0;
    std::string names;
    bool matched = false;
  };

  // What is known of the array at hand.
  struct Dimension {
    bool open = true;
    const RuleAxes* entry = nullptr;
    AxisList axes;
  };

  void resolve(const SpecTarget& target, ResolvedSpec& resolved) {
    ids_.clear();
    result_.compared += patterns_[static_cast<size_t>(target.kind)].match(target.name, ids_);
    if (ids_.empty()) return;
    dimensions_.assign(target.type.shape.size(), {});
    bool by_spec = false;
    int last = -1;
    for (int id : ids_) {
      Asked& asked = asked_[id];
      asked.matched = true;
      if (std::exchange(last, asked.line) == asked.line) continue;
      Line& line = lines_[asked.line];
      if (!line.rule.dimensions.empty() && line.rule.dimensions != target.logical) continue;
      if (line.rule.spec) {
        line.match(array_, target.name);
        if (!resolved.place.empty()) continue;
        by_spec = true;
        decided(line, line.rule.place, "", resolved);
        if (is_legal(line, target)) resolved.spec = *line.rule.spec;
      } else if (line.rule.by_size) {
        place_by_size(line, target, by_spec, resolved);
      } else {
        place_by_names(line, target, by_spec, resolved);
      }
    }
    if (by_spec || resolved.place.empty()) return;
    for (const Dimension& dimension : dimensions_) {
      std::vector<std::string>& axes = resolved.spec.dims.emplace_back();
      for (AxisIndex axis : dimension.axes) axes.push_back(mesh_.axes()[axis].name);
    }
  }

  void decided(Line& line, const std::string& place, const std::string& text, ResolvedSpec& resolved) {
    const TableRule& rule = line.rule;
    line.decide(array_);
    if (resolved.place.empty()) {
      resolved.pinned = true;
      resolved.rule = rule.rule;
      resolved.place = place;
    }
    resolved.origin += (resolved.origin.empty() ? "" : "; ") + rule.place + (text.empty() ? "" : ": ") + text;
  }

  bool is_legal(Line& line, const SpecTarget& target) {
    if (!line.rule.errors.empty()) return false;
    bool is_new = false;
    Fault& fault = line.fault(target.type.shape, is_new);
    if (is_new) {
      fault.errors = check(*line.rule.spec, mesh_, target.type.shape, line.rule.spec_place);
      fault.first = target.name;
    } else {
      ++fault.more;
    }
    return fault.errors.empty();
  }

  void place_by_names(Line& line, const SpecTarget& target, bool by_spec, ResolvedSpec& resolved) {
    const size_t rank = std::min(dimensions_.size(), target.logical.size());
    for (size_t dim = 0; dim < rank; ++dim) {
      const std::string& logical = target.logical[dim];
      const auto& entries = line.rule.entries;
      const auto entry =
          std::find_if(entries.begin(), entries.end(), [&](const RuleAxes& one) { return one.logical == logical; });
      if (entry == entries.end()) continue;
      line.match(array_, target.name);
      line.entry_matched[static_cast<size_t>(entry - entries.begin())] = true;
      if (by_spec || !dimensions_[dim].open) continue;
      dimensions_[dim].open = false;
      decided(line, entry->place, entry->text, resolved);
      if (target.type.shape[dim] % entry->count != 0) {
        replicated(line, *entry, target, {entry - entries.begin(), target.type.shape[dim]},
                   fmt::format("'{}' of size {}", logical, target.type.shape[dim]));
      } else if (!conflicts(line, *entry, dim, target)) {
        dimensions_[dim].entry = &*entry;
        dimensions_[dim].axes = entry->axes;
      }
    }
  }

  // Whether another dimension has one of the entry's axes already; an error where so.
  bool conflicts(Line& line, const RuleAxes& entry, size_t dim, const SpecTarget& target) {
    for (size_t other = 0; other < dimensions_.size(); ++other) {
      for (AxisIndex axis : entry.axes) {
        const Dimension& taken = dimensions_[other];
        if (!taken.axes.contains(axis)) continue;
        bool is_new = false;
        Fault& fault = line.fault({-1, entry.number, taken.entry->number}, is_new);
        if (!is_new) {
          ++fault.more;
          return true;
        }
        fault.first = target.name;
        fault.errors.push_back({"axis_conflict",
                                fmt::format("mesh axis '{}' would split two dimensions, {} by {} and {} by {},",
                                            mesh_.axes()[axis].name, other, taken.entry->place, dim, entry.place),
                                entry.place,
                                "give the array a spec by name in a rule before these, or make one of the two null"});
        return true;
      }
    }
    return false;
  }

  void place_by_size(Line& line, const SpecTarget& target, bool by_spec, ResolvedSpec& resolved) {
    if (target.type.shape.empty() || target.type.bytes() < line.rule.minimum_bytes) return;
    line.match(array_, target.name);
    const RuleAxes& entry = line.rule.entries.front();
    const Shape& shape = target.type.shape;
    int largest = -1;
    bool any_open = false;
    for (size_t dim = 0; dim < shape.size(); ++dim) {
      const Dimension& dimension = dimensions_[dim];
      for (AxisIndex axis : entry.axes) {
        if (dimension.axes.contains(axis)) return;
      }
      any_open |= dimension.open;
      const bool fits = dimension.open && shape[dim] % entry.count == 0;
      if (fits && (largest < 0 || shape[dim] > shape[largest])) largest = static_cast<int>(dim);
    }
    if (by_spec || !any_open) return;
    if (largest >= 0) {
      dimensions_[largest] = {false, &entry, entry.axes};
      decided(line, line.rule.place, fmt::format("{} ({})", entry.text, largest), resolved);
      return;
    }
    for (Dimension& dimension : dimensions_) dimension.open = false;
    decided(line, line.rule.place, entry.text, resolved);
    replicated(line, entry, target, shape, fmt::format("no open dimension of {}", to_string(shape)));
  }

  void replicated(Line& line, const RuleAxes& entry, const SpecTarget& target, Shape key, const std::string& what) {
    bool is_new = false;
    Fault& fault = line.fault(std::move(key), is_new);
    if (!is_new) {
      ++fault.more;
      return;
    }
    fault.first = target.name;
    fault.is_error = false;
    const bool by_size = line.rule.by_size;
    fault.errors.push_back({"replicated",
                            fmt::format("{} {} by {} ({}): replicated", what, by_size ? "divides" : "does not divide",
                                        entry.text.substr(entry.text.find("->") + 3), entry.count),
                            entry.place, fmt::format("sizes that {} divides are split", entry.count)});
  }

  void set_default(const SpecTarget& target, ResolvedSpec& resolved) {
    if (target.kind == SpecKind::activation || target.kind == SpecKind::gradient) return;
    resolved.pinned = true;
    resolved.origin = "no spec names it: replicated";
    if (target.follows < 0) return;
    const SpecTarget& followed = targets_[static_cast<size_t>(target.follows)];
    if (followed.type.shape != target.type.shape) return;
    const ResolvedSpec& its = result_.specs[static_cast<size_t>(target.follows)];
    resolved.spec = its.spec;
    resolved.rule = its.rule;
    resolved.origin = "as " + followed.name;
  }

  void report(const Line& line) {
    const TableRule& rule = line.rule;
    const bool one_section = rule.rule < 0 && (rule.is_of(SpecKind::input) || rule.is_of(SpecKind::output));
    append(result_.errors, rule.errors);
    for (const Fault& fault : line.faults) {
      for (Error error : fault.errors) {
        if ((is_pattern(rule.names) && !one_section) || !rule.spec) {
          error.message += fmt::format(" in '{}'", fault.first);
          if (fault.more > 0) error.message += fmt::format(" and {} more", fault.more);
        }
        (fault.is_error ? result_.errors : result_.warnings).push_back(std::move(error));
      }
      if (one_section && !fault.errors.empty()) break;
    }
    if (!line.matched() && !one_section && !rule.of.empty()) report_unmatched(rule);  // of none: refused where read
    if (!line.matched() || rule.spec) return;
    for (size_t i = 0; i < rule.entries.size(); ++i) {
      const RuleAxes& entry = rule.entries[i];
      if (line.entry_matched[i] || rule.by_size) continue;
      result_.warnings.push_back({"matches_nothing", fmt::format("no dimension is named '{}'", entry.logical),
                                  entry.place, name_hint(entry.logical, logical_names(rule))});
    }
  }

  void report_unmatched(const TableRule& rule) {
    const auto kind = static_cast<size_t>(rule.of.front());
    const bool exact = rule.spec && !is_pattern(rule.names);
    const std::vector<std::string> names = names_of(rule, exact ? targets_.size() : pattern_hint_names);
    if (exact) {
      if (names.empty()) return;
      const std::vector<std::string> near = near_names(rule.names, names);
      result_.errors.push_back({fmt::format("unknown_{}", kind_codes[kind]),
                                fmt::format("the model has no {} '{}'", kind_words[kind], rule.names), rule.place,
                                near.empty() ? fmt::format("its {}s are listed by 'shardrun show'", kind_words[kind])
                                             : name_hint(rule.names, near)});
      return;
    }
    const bool matches = rule.names == "**" && !names.empty();
    if (matches && rule.by_size) return;  // all are scalars or smaller than its minimum
    if (matches) {
      result_.warnings.push_back({"matches_nothing", "no dimension has any of the rule's names", rule.place,
                                  name_hint("", logical_names(rule))});
    } else {
      result_.warnings.push_back({"matches_nothing", fmt::format("no {} matches '{}'", kind_words[kind], rule.names),
                                  rule.place, pattern_hint(rule.names, names)});
    }
  }

  void report_unmatched(const Asked& asked) {
    const TableRule& rule = lines_[asked.line].rule;
    const auto kind = static_cast<size_t>(rule.of.front());
    result_.warnings.push_back({"matches_nothing",
                                fmt::format("no {} matches '{}' of '{}'", kind_words[kind], asked.names, rule.names),
                                rule.place, pattern_hint(asked.names, names_of(rule, pattern_hint_names))});
  }

  std::vector<std::string> names_of(const TableRule& rule, size_t most) const {
    std::vector<std::string> names;
    for (const SpecTarget& target : targets_) {
      if (names.size() == most) break;
      if (rule.is_of(target.kind)) names.push_back(target.name);
    }
    return names;
  }

  // Those of the arrays that a rule is of, each once.
  std::vector<std::string> logical_names(const TableRule& rule) const {
    std::vector<std::string> names;
    for (const SpecTarget& target : targets_) {
      if (!rule.is_of(target.kind)) continue;
      for (const std::string& name : target.logical) {
        if (!name.empty() && std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
      }
    }
    return names;
  }

  static void append(std::vector<Error>& errors, const std::vector<Error>& more) {
    errors.insert(errors.end(), more.begin(), more.end());
  }

  const Mesh& mesh_;
  std::span<const SpecTarget> targets_;
  ZeroConfig zero_;
  std::vector<Line> lines_;
  std::vector<Asked> asked_;                       // in the order of asking, by the ids of the patterns
  std::array<NamePatterns, kind_count> patterns_;  // by kind
  size_t array_ = 0;                               // which is at hand
  std::vector<int> ids_;                           // of the array at hand, as the next
  std::vector<Dimension> dimensions_;
  ResolvedSpecs result_;
};

}  // namespace

ResolvedSpecs resolve_specs(const ShardingConfig& sharding, const Mesh& mesh, std::span<const SpecTarget> targets) {
  return Resolution(sharding, mesh, targets).run();
}

std::vector<Error> check_axis_names(const ShardingConfig& sharding, const Mesh& mesh) {
  std::vector<Error> errors;
  for (TableRule& rule : spec_table(sharding, mesh)) {
    errors.insert(errors.end(), rule.errors.begin(), rule.errors.end());
  }
  return errors;
}

}  // namespace shardscope
