#include "engine/export/jax_function.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "engine/base/path.h"
#include "engine/export/jax_layers.h"
#include "engine/export/jax_source.h"
#include "engine/export/jax_variables.h"

namespace shardscope {

namespace {

std::string call_text(const std::string& function, const std::vector<std::string>& arguments) {
  return fmt::format("{}({})", function, fmt::join(arguments, ", "));
}

class FunctionWriter {
 public:
  FunctionWriter(JaxFunctions& all, const JaxBlocks& blocks, int block)
      : all_(all), graph_(all.graph), blocks_(blocks), block_(blocks.blocks[static_cast<size_t>(block)]) {
    is_model_ = block == blocks.model;
    is_losses_ = block == blocks.losses;
    collect(block_);
    find_results();
  }

  JaxFunction write() {
    for (const JaxBlock::Item& item : block_.items) {
      if (item.op != no_id && joins(item.op)) joined_.insert(item.op);
    }
    do make_text();
    while (take_out_of_long_lines());
    return function_;
  }

  std::string text() const { return text_; }  // behind "def name"

 private:
  // Ops and blocks inside.
  void collect(const JaxBlock& block) {
    for (const JaxBlock::Item& item : block.items) {
      if (item.op != no_id) inside_.insert(item.op);
      else collect(blocks_.blocks[static_cast<size_t>(item.block)]);
    }
  }

  bool is_made_inside(ValueId value) const { return inside_.contains(graph_.values[value].producer); }

  void find_results() {
    std::vector<ValueId>& results = function_.results;
    const auto add = [&](ValueId value) {
      if (std::ranges::find(results, value) == results.end()) results.push_back(value);
    };
    if (gives_losses()) {
      add(graph_.outputs.at("loss"));
      for (const auto& [name, value] : graph_.outputs) {
        if (graph_.type(value).shape.empty()) add(value);
      }
      return;
    }
    for (OpId op : inside_) {
      for (ValueId value : graph_.ops[op].outputs) {
        const auto& readers = all_.readers[value];
        if (std::ranges::any_of(readers, [&](OpId reader) { return !inside_.contains(reader); })) add(value);
      }
    }
  }

  bool gives_losses() const { return is_losses_ || (is_model_ && blocks_.losses < 0); }

  bool is_pinned(ValueId value) const { return all_.pinned.contains(value); }

  // Whether an op stands in the expression of the one op that reads it.
  bool joins(OpId id) const {
    const Op& op = graph_.ops[id];
    const ValueId value = op.outputs[0];
    if (!find_jax_op(op.definition->name())->may_join || op.outputs.size() > 1 || is_pinned(value)) return false;
    const auto& readers = all_.readers[value];
    const auto is_here = [&](OpId reader) {
      return std::ranges::any_of(block_.items, [&](const JaxBlock::Item& item) { return item.op == reader; });
    };
    if (readers.size() != 1 || !is_here(readers[0]) || std::ranges::count(function_.results, value) > 0) return false;
    const std::string_view name = op.definition->name(), reader = graph_.ops[readers[0]].definition->name();
    const bool product = name == "einsum" || name == "conv" || name == "embedding" || name == "weighted_sum";
    if (product) return reader == "add" || reader == "cast" || reader == "scale" || reader == "rearrange";
    if (name == "add") return module_path(op.name) == module_path(graph_.ops[readers[0]].name) && reader != "add";
    if (name == "multiply" || name == "soft_cap" || name == "squared_error") return reader == "scale";
    const bool slight = name == "cast" || name == "constant" || name == "scale" || name == "rearrange";
    return slight || reader == "multiply" || reader == "scale";
  }

  std::string parameter(const std::vector<std::string>& path) const {
    return "params" + subscripts(path, block_.path.size() + 1);
  }

  bool is_own_parameter(ValueId value) const {
    if (graph_.values[value].kind != ValueKind::state) return false;
    const auto& path = graph_.states[graph_.values[value].state].path;
    return path.size() > block_.path.size() + 1 && std::equal(block_.path.begin(), block_.path.end(), path.begin() + 1);
  }

  // Says variables by `name`.
  std::string expression(ValueId value, Binding least, const std::function<std::string(ValueId)>& name) {
    if (is_own_parameter(value)) {
      function_.takes_params = true;
      return parameter(graph_.states[graph_.values[value].state].path);
    }
    if (joined_.contains(graph_.values[value].producer)) {
      const JaxText text = text_of(graph_.values[value].producer, name);
      return text.binding < least ? "(" + text.text + ")" : text.text;
    }
    return name(value);
  }

  JaxText text_of(OpId op, const std::function<std::string(ValueId)>& name) {
    return jax_text(
        all_, op, [&](ValueId value, Binding least) { return expression(value, least, name); },
        [&](const StepKey& key) {
          function_.takes_keys = true;
          const std::string& name = graph_.ops[op].name;
          all_.dropped.emplace(name, key);
          return "keys" + subscripts(split_path(name), block_.path.size());
        });
  }

  // What a statement's text reads of variables.
  std::vector<ValueId> read_by(const std::function<void(const std::function<std::string(ValueId)>&)>& say) {
    std::vector<ValueId> values;
    say([&](ValueId value) {
      if (std::ranges::find(values, value) == values.end()) values.push_back(value);
      return std::string("_");
    });
    return values;
  }

  void make_text() {
    function_.takes_params = function_.takes_keys = false;
    statements_.clear();
    for (size_t i = 0; i < block_.items.size();) {
      JaxStatement statement;
      if (const OpId op = block_.items[i].op; op != no_id) {
        ++i;
        if (joined_.contains(op) || !find_jax_op(graph_.ops[op].definition->name())->text) continue;
        statement.op = op;
        const auto& outputs = graph_.ops[op].outputs;
        statement.makes.assign(outputs.begin(),
                               outputs.begin() + static_cast<std::ptrdiff_t>(jax_result_count(all_, op)));
        statement.reads = read_by([&](const auto& name) { text_of(op, name); });
      } else {
        statement.calls = calls_from(i);
        i += statement.calls.blocks.size();
        statement.makes = statement.calls.results;
        statement.reads = read_by([&](const auto& name) {
          for (size_t call = 0; call < statement.calls.blocks.size(); ++call) {
            const std::vector<ValueId>& arguments = function_of(statement.calls.blocks[call]).arguments;
            for (size_t slot = 0; slot < arguments.size(); ++slot) {
              const bool carried = call > 0 && statement.calls.carried[slot] >= 0;
              if (!carried) expression(arguments[slot], Binding::none, name);
            }
          }
        });
      }
      statements_.push_back(std::move(statement));
    }
    find_arguments();
    variables_ = name_variables(all_, block_, statements_, function_.arguments, function_.results);
    write_lines();
  }

  const JaxFunction& function_of(int block) const { return all_.functions[static_cast<size_t>(block)]; }

  // Calls of blocks from an item on: of one, or of layers in a loop.
  JaxCalls calls_from(size_t item) const {
    std::vector<int> run;
    for (size_t i = item; i < block_.items.size() && block_.items[i].block >= 0; ++i) {
      run.push_back(block_.items[i].block);
    }
    return jax_calls(all_, blocks_, run);
  }

  void find_arguments() {
    function_.arguments.clear();
    for (const JaxStatement& statement : statements_) {
      for (ValueId value : statement.reads) {
        const bool known = std::ranges::find(function_.arguments, value) != function_.arguments.end();
        if (!known && !is_made_inside(value)) function_.arguments.push_back(value);
      }
    }
    std::ranges::sort(function_.arguments);
    std::ranges::stable_partition(function_.arguments, [&](ValueId value) {
      return graph_.type(value).dtype != DType::i32 || graph_.values[value].kind != ValueKind::input;
    });
  }

  std::string variable(ValueId value) const {
    const auto found = variables_.find(value);
    return found == variables_.end() ? "_" : found->second;
  }

  void add_line(const std::string& line, int depth = 1) {
    lines_.push_back(line.empty() ? line : std::string(static_cast<size_t>(4 * depth), ' ') + line);
  }

  void constrain(ValueId value, int depth = 1) {
    const auto pin = all_.pinned.find(value);
    if (pin == all_.pinned.end() || !inside_.contains(graph_.values[value].producer)) return;
    add_line(fmt::format("{0} = constrain({0}, {1})", variable(value), pin->second), depth);
    all_.constrained.insert(value);
  }

  void write_lines() {
    lines_.clear();
    line_of_op_.clear();
    const auto name = [&](ValueId value) { return variable(value); };
    for (size_t i = 0; i < statements_.size(); ++i) {
      const JaxStatement& statement = statements_[i];
      if (statement.op == no_id) {
        if (write_calls(statement.calls, i + 1 == statements_.size() && statement.makes == function_.results)) {
          return finish(true);
        }
        continue;
      }
      const std::string text = text_of(statement.op, name).text;
      line_of_op_[statement.op] = lines_.size();
      const bool last = i + 1 == statements_.size();
      if (last && !gives_losses() && statement.makes == function_.results && !is_pinned(statement.makes[0])) {
        add_line("return " + text);
        finish(true);
        return;
      }
      std::vector<std::string> names;
      for (ValueId value : statement.makes) names.push_back(variable(value));
      add_line(fmt::format("{} = {}", fmt::join(names, ", "), text));
      for (ValueId value : statement.makes) constrain(value);
    }
    finish(false);
  }

  // Whether what is called was returned.
  bool write_calls(const JaxCalls& calls, bool is_last) {
    const auto name = [&](ValueId value) { return variable(value); };
    const JaxFunction& first = function_of(calls.blocks.front());
    const JaxFunction& last = function_of(calls.blocks.back());
    const JaxBlock& block = blocks_.blocks[static_cast<size_t>(calls.blocks.front())];
    const bool loop = calls.blocks.size() > 1;
    std::vector<std::string> arguments, results;
    if (first.takes_params) {
      function_.takes_params = true;
      arguments.push_back("params" + subscripts(block.path, block_.path.size(), calls.counted));
    }
    if (first.takes_keys) {
      function_.takes_keys = true;
      arguments.push_back("keys" + subscripts(block.path, block_.path.size(), calls.counted));
    }
    for (size_t slot = 0; slot < first.arguments.size(); ++slot) {
      const std::string given = expression(first.arguments[slot], Binding::none, name);
      const int from = loop ? calls.carried[slot] : -1;
      if (from < 0) {
        arguments.push_back(given);
        continue;
      }
      const std::string carried = variable(last.results[static_cast<size_t>(from)]);
      if (carried != given) add_line(fmt::format("{} = {}", carried, given));
      arguments.push_back(carried);
    }
    for (size_t i = 0; i < last.results.size(); ++i) {
      if (loop && calls.collected[i]) {
        const std::string list = variable(first.results[i]);
        results.push_back(list.substr(0, list.find('[')) + "_of_layer");
        add_line(fmt::format("{} = []", list.substr(0, list.find('['))));
      } else {
        results.push_back(variable(last.results[i]));
      }
    }
    const bool together = loop && block.again && blocks_.layers_again > 1;
    std::string function = calls.functions.size() > 1 ? "function" : first.name;
    if (block.again && !together) function = "jax.checkpoint(" + function + ")";
    const std::string call = call_text(function, arguments);
    const std::string given = fmt::format("{}", fmt::join(results, ", "));
    if (!loop) {
      const bool returns = is_last && !gives_losses();
      add_line(returns ? "return " + call : given + " = " + call);
      return returns;
    }
    if (together) return write_groups(calls, given, call);
    add_line(loop_header(calls, all_.layers));
    add_line(given + " = " + call, 2);
    for (size_t i = 0; i < last.results.size(); ++i) {
      if (calls.collected[i]) {
        const std::string list = variable(first.results[i]);
        add_line(fmt::format("{}.append({})", list.substr(0, list.find('[')), results[i]), 2);
      }
    }
    return false;
  }

  // Several layers in one checkpoint.
  bool write_groups(const JaxCalls& calls, const std::string& carried, const std::string& call) {
    if (calls.functions.size() > 1 || std::ranges::count(calls.collected, true) > 0 || calls.results.size() != 1) {
      throw Failure(not_exportable("layers that differ are not rematerialised together in JAX",
                                   "schedule.rematerialised_layers", "1"));
    }
    const int64_t end = calls.first + std::ssize(calls.blocks);
    add_line(fmt::format("for first in range({}, {}, {}):", calls.first, end, blocks_.layers_again));
    add_line("");
    add_line(fmt::format("def layers({}, first=first):", carried), 2);
    add_line(fmt::format("for i in range(first, min(first + {}, {})):", blocks_.layers_again, end), 3);
    add_line(fmt::format("{} = {}", carried, call), 4);
    add_line("return " + carried, 3);
    add_line("");
    add_line(fmt::format("{0} = jax.checkpoint(layers)({0})", carried), 2);
    return false;
  }

  std::string returned() const {
    if (!gives_losses()) {
      std::vector<std::string> names;
      for (ValueId value : function_.results) names.push_back(variable(value));
      return fmt::format("{}", fmt::join(names, ", "));
    }
    std::vector<std::string> metrics;
    for (const auto& [name, value] : graph_.outputs) {
      if (name == "loss" || !graph_.type(value).shape.empty()) continue;
      metrics.push_back(fmt::format("\"{}\": {}", name, variable(value)));
    }
    return fmt::format("{}, {{{}}}", variable(graph_.outputs.at("loss")), fmt::join(metrics, ", "));
  }

  void finish(bool returns) {
    if (!returns) add_line("return " + returned());
    std::vector<std::string> names;
    if (function_.takes_params) names.emplace_back("params");
    if (function_.takes_keys) names.emplace_back("keys");
    for (ValueId value : function_.arguments) names.push_back(variable(value));
    text_ = python_lines(fmt::format("({}):", fmt::join(names, ", ")));
    for (const std::string& line : lines_) text_ += python_lines(line);
  }

  // Ops whose text makes a line too long get lines of their own; whether there are any.
  bool take_out_of_long_lines() {
    bool any = false;
    for (const auto& [op, line] : line_of_op_) {
      if (lines_[line].size() <= longest_python_line) continue;
      std::pair<size_t, OpId> longest{0, no_id};
      for (ValueId value : all_.read[static_cast<size_t>(op)]) {
        const OpId producer = graph_.values[value].producer;
        if (!joined_.contains(producer)) continue;
        const size_t length = text_of(producer, [&](ValueId of) { return variable(of); }).text.size();
        longest = std::max(longest, {length, producer});
      }
      any |= joined_.erase(longest.second) > 0;
    }
    return any;
  }

  JaxFunctions& all_;
  const Graph& graph_;
  const JaxBlocks& blocks_;
  const JaxBlock& block_;
  bool is_model_ = false, is_losses_ = false;
  std::set<OpId> inside_, joined_;
  JaxFunction function_;
  std::vector<JaxStatement> statements_;
  std::map<ValueId, std::string> variables_;
  std::vector<std::string> lines_;
  std::map<OpId, size_t> line_of_op_;
  std::string text_;
};

}  // namespace

JaxText jax_text(const JaxFunctions& all, OpId id, std::function<std::string(ValueId, Binding)> value,
                 std::function<std::string(const StepKey&)> key) {
  const Op& op = all.graph.ops[id];
  const JaxOp* of_jax = find_jax_op(op.definition->name());
  if (!of_jax) {
    throw Failure(not_exportable(fmt::format("JAX has no op '{}': '{}'", op.definition->name(), op.name), "model"));
  }
  if (!of_jax->text) return {};
  return of_jax->text({all.graph, op, std::move(value), std::move(key), jax_result_count(all, id) > 1});
}

size_t jax_result_count(const JaxFunctions& all, OpId id) {
  const Op& op = all.graph.ops[id];
  if (!find_jax_op(op.definition->name())->leaves_unread) return op.outputs.size();
  const bool one = std::all_of(op.outputs.begin() + 1, op.outputs.end(),
                               [&](ValueId value) { return all.readers[static_cast<size_t>(value)].empty(); });
  return one ? 1 : op.outputs.size();
}

void write_jax_function(JaxFunctions& all, const JaxBlocks& blocks) {
  const int block = static_cast<int>(all.functions.size());
  FunctionWriter writer(all, blocks, block);
  JaxFunction function = writer.write();
  const std::string& wanted = blocks.blocks[static_cast<size_t>(block)].name;
  std::string& name = all.names[wanted + writer.text()];
  if (name.empty()) {
    name = wanted;
    for (int i = 2; all.taken.contains(name); ++i) name = fmt::format("{}_{}", wanted, i);
    all.taken.insert(name);
    all.texts.push_back("def " + name + writer.text());
  }
  function.name = name;
  all.functions.push_back(std::move(function));
}

}  // namespace shardscope
