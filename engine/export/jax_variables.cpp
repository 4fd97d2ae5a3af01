#include "engine/export/jax_variables.h"

#include <fmt/format.h>

#include <algorithm>

namespace shardscope {

namespace {

constexpr std::string_view plain_names[] = {"x", "y", "z"};

bool is_plain(const std::string& name) { return std::ranges::find(plain_names, name) != std::end(plain_names); }

class Namer {
 public:
  Namer(const JaxFunctions& all, const JaxBlock& block, const std::vector<JaxStatement>& statements,
        const std::vector<ValueId>& arguments, const std::vector<ValueId>& results)
      : all_(all), graph_(all.graph), block_(block), statements_(statements) {
    for (size_t i = 0; i < statements.size(); ++i) {
      for (ValueId value : statements[i].reads) last_read_[value] = i;
    }
    for (ValueId value : results) last_read_[value] = statements.size();
    for (ValueId value : arguments) name_argument(value);
  }

  std::map<ValueId, std::string> take() {
    for (size_t i = 0; i < statements_.size(); ++i) {
      const JaxStatement& statement = statements_[i];
      if (statement.op != no_id) name_results(statement, i);
      else name_results_of_calls(statement, i);
    }
    return std::move(names_);
  }

 private:
  void give(ValueId value, const std::string& name) {
    names_[value] = name;
    holders_[name] = value;
  }

  size_t last_read(ValueId value) const {
    const auto found = last_read_.find(value);
    return found == last_read_.end() ? 0 : found->second;
  }
  // Whether a statement may give the name to what it makes.
  bool is_free(const std::string& name, size_t statement) const {
    const auto holder = holders_.find(name);
    return holder == holders_.end() || last_read(holder->second) <= statement;
  }

  void name_argument(ValueId value) {
    const Value& of = graph_.values[value];
    const bool root = block_.name == "model" || block_.name == "losses";
    if (of.kind == ValueKind::input && (root || of.type.dtype == DType::i32)) return give(value, unused(of.name, 0));
    for (const auto& [name, output] : graph_.outputs) {
      if (output == value) return give(value, unused(name, 0));
    }
    if (of.kind == ValueKind::state) return give(value, unused(snake_case(graph_.states[of.state].path.back()), 0));
    if (const std::string called = called_by_reader(value); !called.empty()) return give(value, unused(called, 0));
    const bool one_of_several = of.kind == ValueKind::result && results_of(value).size() > 1;
    const bool first = holders_.find("x") == holders_.end() && !one_of_several;
    give(value, first ? "x" : unused(of.kind == ValueKind::input ? of.name : own_name(value), 0));
  }

  std::string unused(std::string name, size_t statement) const {
    if (name.empty() || (name[0] >= '0' && name[0] <= '9')) name = "value_" + name;
    const std::string wanted = name;
    for (int i = 2; all_.taken.contains(name) || !is_free(name, statement); ++i) name = fmt::format("{}_{}", wanted, i);
    return name;
  }

  // What the results of its op are called.
  const std::vector<std::string_view>& results_of(ValueId value) const {
    return find_jax_op(graph_.ops[graph_.values[value].producer].definition->name())->results;
  }

  // As the one op that reads it calls it; empty where none does.
  std::string called_by_reader(ValueId value) const {
    const std::vector<OpId>& readers = all_.readers[static_cast<size_t>(value)];
    if (readers.size() != 1) return "";
    const Op& reader = graph_.ops[readers[0]];
    const auto& called = find_jax_op(reader.definition->name())->operands;
    const auto at = static_cast<size_t>(std::ranges::find(reader.inputs, value) - reader.inputs.begin());
    return at < called.size() ? std::string(called[at]) : "";
  }

  // By its module, or by its op where that says more.
  std::string own_name(ValueId value) const {
    const Op& op = graph_.ops[graph_.values[value].producer];
    if (const auto& results = results_of(value); !results.empty()) {
      return std::string(results[static_cast<size_t>(graph_.values[value].result_index)]);
    }
    if (const std::string called = called_by_reader(value); !called.empty()) return called;
    std::vector<std::string> path = module_path(op.name);
    std::string leaf = op.name.substr(op.name.rfind('/') + 1);
    const bool inside = path.size() > block_.path.size();
    const bool says_little = leaf.starts_with(op.definition->name()) || leaf == "add" || leaf == "cast";
    if (leaf == "cast" && inside && (path.back() == "einsum" || path.back() == "add")) path.pop_back();
    if (inside && says_little) leaf = path.back();
    if (leaf.find_first_not_of("0123456789") == std::string::npos) leaf = op.definition->name();
    const Value& first = graph_.values[op.inputs.empty() ? value : op.inputs[0]];
    if (op.outputs.size() > 1 && first.kind == ValueKind::state) leaf = graph_.states[first.state].path.back();
    return snake_case(leaf) + (op.outputs.size() > 1 ? fmt::format("_{}", graph_.values[value].result_index) : "");
  }

  // Whether others are made meanwhile, which do not stem from it.
  bool waits(ValueId value, size_t made) const {
    std::set<ValueId> stems{value};
    for (size_t i = made + 1; i < last_read(value) && i < statements_.size(); ++i) {
      const auto is_of = [&](ValueId read) { return stems.contains(read); };
      if (!std::ranges::any_of(statements_[i].reads, is_of)) return true;
      stems.insert(statements_[i].makes.begin(), statements_[i].makes.end());
    }
    return false;
  }

  bool is_beside_named(ValueId value) const {
    for (const JaxStatement& statement : statements_) {
      if (std::ranges::find(statement.reads, value) == statement.reads.end()) continue;
      for (ValueId other : statement.reads) {
        const auto name = names_.find(other);
        const bool made_here = graph_.values[other].kind == ValueKind::result;
        if (other != value && made_here && name != names_.end() && !is_plain(name->second)) return true;
      }
    }
    return false;
  }

  std::string name_of_one(ValueId value, size_t statement, const std::vector<ValueId>& reads) const {
    if (results_of(value).size() != 1 && !waits(value, statement) && !is_beside_named(value)) {
      for (std::string_view name : plain_names) {
        if (is_free(std::string(name), statement)) return std::string(name);
      }
    }
    if (reads.size() == 1 && called_by_reader(value).empty()) {
      const std::string& before = names_.at(reads[0]);
      if (!is_plain(before) && is_free(before, statement) && graph_.values[reads[0]].kind == ValueKind::result)
        return before;
    }
    return unused(own_name(value), statement);
  }

  void name_results(const JaxStatement& statement, size_t at) {
    if (statement.makes.size() == 1)
      return give(statement.makes[0], name_of_one(statement.makes[0], at, statement.reads));
    for (ValueId value : statement.makes) {
      if (!last_read_.contains(value)) names_[value] = "_";
      else give(value, unused(own_name(value), at));
    }
  }

  void name_results_of_calls(const JaxStatement& statement, size_t at) {
    const JaxCalls& calls = statement.calls;
    const JaxFunction& first = all_.functions[static_cast<size_t>(calls.blocks.front())];
    const JaxFunction& last = all_.functions[static_cast<size_t>(calls.blocks.back())];
    for (size_t i = 0; i < last.results.size(); ++i) {
      const ValueId value = last.results[i];
      if (calls.collected[i]) {
        const std::string list = unused(own_name(value) + "s", at);
        for (size_t call = 0; call < calls.blocks.size(); ++call) {
          const JaxFunction& of = all_.functions[static_cast<size_t>(calls.blocks[call])];
          names_[of.results[i]] = fmt::format("{}[{}]", list, call);
        }
        holders_[list] = value;
        continue;
      }
      const auto slot = std::ranges::find(calls.carried, static_cast<int>(i)) - calls.carried.begin();
      const bool carried = calls.blocks.size() > 1 && slot < std::ssize(calls.carried);
      const auto before = carried ? names_.find(first.arguments[static_cast<size_t>(slot)]) : names_.end();
      const bool goes_on = before != names_.end() && is_free(before->second, at);
      if (goes_on) give(value, before->second);
      else if (last.results.size() == 1) give(value, name_of_one(value, at, statement.reads));
      else if (i == 0 && is_free("x", at)) give(value, "x");
      else give(value, unused(own_name(value), at));
    }
  }

  const JaxFunctions& all_;
  const Graph& graph_;
  const JaxBlock& block_;
  const std::vector<JaxStatement>& statements_;
  std::map<ValueId, size_t> last_read_;
  std::map<ValueId, std::string> names_;
  std::map<std::string, ValueId> holders_;  // the value that a name is of
};

}  // namespace

std::map<ValueId, std::string> name_variables(const JaxFunctions& all, const JaxBlock& block,
                                              const std::vector<JaxStatement>& statements,
                                              const std::vector<ValueId>& arguments,
                                              const std::vector<ValueId>& results) {
  return Namer(all, block, statements, arguments, results).take();
}

}  // namespace shardscope
