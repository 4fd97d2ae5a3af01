#include "engine/export/jax_block.h"

#include <algorithm>
#include <map>
#include <set>

#include "engine/base/name_pattern.h"
#include "engine/base/path.h"
#include "engine/compile/recomputed_ops.h"
#include "engine/graph/op_definition.h"

namespace shardscope {

namespace {

using Path = std::vector<std::string>;

constexpr size_t worth_a_function = 4;  // ops of a module in a layer
constexpr size_t worth_a_layer = 3;     // parameters

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// What a person calls one of "blocks/0", "blocks_0", "SelfAttentionBlock_0", "h/0".
std::string name_of_block(const Path& path) {
  const bool counts = !path.empty() && std::ranges::all_of(path.back(), is_digit);
  if (path.empty() || (counts && path.size() == 1)) return "layer";
  std::string name = snake_case(counts ? path[path.size() - 2] : path.back());
  const bool numbered = name.find_last_not_of("0123456789") != name.size() - 1;
  while (!name.empty() && is_digit(name.back())) name.pop_back();
  while (name.ends_with('_')) name.pop_back();
  if ((counts || numbered) && name.ends_with('s') && !name.ends_with("ss")) name.pop_back();
  return name.size() < 2 ? "layer" : name;
}

Path common(const Path& a, const Path& b) {
  return Path(a.begin(), std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first);
}

class Blocks {
 public:
  Blocks(const Graph& graph, const ScheduleConfig& schedule) : graph_(graph) {
    for (const std::string& entry : rematerialise_entries(schedule)) {
      if (entry == "full") all_again_ = true;
      else if (entry == "attention") parts_.insert(LayerPart::attention);
      else if (entry == "mlp") parts_.insert(LayerPart::mlp);
      else if (entry != "none") patterns_.add(entry, 0);
    }
  }

  int root(const std::string& name, const std::vector<OpId>& ops) {
    JaxBlock block{name, {}, {}, false};
    for_runs(
        ops, [&](OpId op) { return graph_.ops[op].place.layer; },
        [&](int layer, const std::vector<OpId>& run) {
          const bool is_layer = layer >= 0 && (all_again_ || parameters_of(run).size() >= worth_a_layer);
          if (is_layer) {
            const Path path = path_of(run);
            block.items.push_back({no_id, inside(name_of_block(path), path, run, all_again_)});
          } else {
            for (OpId op : run) block.items.push_back({op, -1});
          }
        });
    if (!all_again_) set_apart(block);
    return add(std::move(block));
  }

  std::vector<JaxBlock> take() { return std::move(blocks_); }

 private:
  // Neighbours with the same key.
  template <class Key, class Run>
  static void for_runs(const std::vector<OpId>& ops, Key key, Run run) {
    for (size_t begin = 0; begin < ops.size();) {
      size_t end = begin + 1;
      while (end < ops.size() && key(ops[end]) == key(ops[begin])) ++end;
      run(key(ops[begin]), std::vector<OpId>(ops.begin() + static_cast<std::ptrdiff_t>(begin),
                                             ops.begin() + static_cast<std::ptrdiff_t>(end)));
      begin = end;
    }
  }

  Path path_of(const std::vector<OpId>& ops) const {
    Path path = module_path(graph_.ops[ops[0]].name);
    for (OpId op : ops) path = common(path, module_path(graph_.ops[op].name));
    return path;
  }

  int add(JaxBlock block) {
    blocks_.push_back(std::move(block));
    return static_cast<int>(blocks_.size()) - 1;
  }

  // Modules inside with several ops are blocks of their own.
  int inside(const std::string& name, const Path& path, const std::vector<OpId>& ops, bool again) {
    const auto module_inside = [&](OpId op) {
      const Path of_op = module_path(graph_.ops[op].name);
      return of_op.size() > path.size() ? of_op[path.size()] : std::string();
    };
    std::map<std::string, int> runs;
    for_runs(ops, module_inside, [&](const std::string& module, const auto&) { ++runs[module]; });
    JaxBlock block{name, path, {}, again};
    for_runs(ops, module_inside, [&](const std::string& module, const std::vector<OpId>& run) {
      if (module.empty() || runs[module] > 1 || !is_worth_a_function(run) || run.size() == ops.size()) {
        for (OpId op : run) block.items.push_back({op, -1});
        return;
      }
      const bool part = !again && !all_again_ && std::ranges::all_of(run, [&](OpId op) { return is_again(op); });
      Path deeper = path;
      deeper.push_back(module);
      block.items.push_back({no_id, inside(name_of_block(deeper), deeper, run, part)});
    });
    if (!again && !all_again_) set_apart(block);
    return add(std::move(block));
  }

  bool is_worth_a_function(const std::vector<OpId>& ops) const {
    const Path path = path_of(ops);
    const auto is_own = [&](StateId state) {
      const Path& of = graph_.states[state].path;
      return of.size() > path.size() && std::equal(path.begin(), path.end(), of.begin() + 1);
    };
    const auto counts = [&](OpId op) {
      const std::string_view name = graph_.ops[op].definition->name();
      return name != "cast" && name != "rearrange" && name != "constant";
    };
    return std::ranges::any_of(parameters_of(ops), is_own) &&
           std::ranges::count_if(ops, counts) >= static_cast<std::ptrdiff_t>(worth_a_function);
  }

  std::set<StateId> parameters_of(const std::vector<OpId>& ops) const {
    std::set<StateId> states;
    for (OpId op : ops) {
      for (ValueId value : graph_.ops[op].inputs) {
        if (graph_.values[value].kind == ValueKind::state) states.insert(graph_.values[value].state);
      }
    }
    return states;
  }

  bool is_again(OpId id) const {
    const Op& op = graph_.ops[id];
    std::vector<int> found;
    patterns_.match(op.name, found);
    return (op.place.layer >= 0 && parts_.contains(op.place.part)) || !found.empty();
  }

  // Ops of a block that backward does again become one of their own.
  void set_apart(JaxBlock& block) {
    std::vector<JaxBlock::Item> items;
    for (size_t i = 0; i < block.items.size();) {
      std::vector<OpId> run;
      for (; i < block.items.size() && block.items[i].op != no_id && is_again(block.items[i].op); ++i) {
        run.push_back(block.items[i].op);
      }
      if (run.empty()) {
        items.push_back(block.items[i++]);
        continue;
      }
      const LayerPart part = graph_.ops[run[0]].place.part;
      const Path path = path_of(run);
      JaxBlock apart{path.size() > block.path.size() && part != LayerPart::attention ? snake_case(path.back())
                     : part == LayerPart::attention                                  ? "attend"
                     : part == LayerPart::mlp                                        ? "mlp"
                                                                                     : "part",
                     block.path,
                     {},
                     true};
      for (OpId op : run) apart.items.push_back({op, -1});
      items.push_back({no_id, add(std::move(apart))});
    }
    block.items = std::move(items);
  }

  const Graph& graph_;
  bool all_again_ = false;
  std::set<LayerPart> parts_;
  NamePatterns patterns_;
  std::vector<JaxBlock> blocks_;
};

// What the network itself gives, besides metrics; no_id where it is not one array.
ValueId network_output(const Graph& graph) {
  ValueId found = no_id;
  for (const auto& [name, value] : graph.outputs) {
    if (graph.type(value).shape.empty()) continue;
    if (found != no_id) return no_id;
    found = value;
  }
  return found;
}

}  // namespace

std::string snake_case(const std::string& name) {
  std::string text;
  for (size_t i = 0; i < name.size(); ++i) {
    const auto c = static_cast<unsigned char>(name[i]);
    const bool begins = std::isupper(c) && i > 0 && (std::islower(static_cast<unsigned char>(name[i - 1])) != 0);
    if (begins) text += '_';
    text += std::isalnum(c) ? static_cast<char>(std::tolower(c)) : '_';
  }
  return text;
}

std::vector<std::string> module_path(const std::string& name) {
  Path path = split_path(name);
  path.pop_back();
  return path;
}

JaxBlocks jax_blocks(const Graph& graph, const std::vector<OpId>& ops, const std::vector<std::vector<ValueId>>& values,
                     const ScheduleConfig& schedule) {
  const auto is_loss = [&](OpId op) { return graph.ops[op].name.starts_with("loss/"); };
  const auto first_loss = std::ranges::find_if(ops, is_loss);
  const std::set<OpId> before(ops.begin(), first_loss);
  bool apart = true;
  for (auto op = first_loss; op != ops.end(); ++op) {
    for (ValueId value : values[static_cast<size_t>(*op)]) {
      const OpId producer = graph.values[value].producer;
      if (producer == no_id) apart &= graph.values[value].kind == ValueKind::input;
      else apart &= !before.contains(producer) || value == network_output(graph);
    }
  }
  Blocks blocks(graph, schedule);
  JaxBlocks result;
  result.model = blocks.root("model", apart ? std::vector<OpId>(ops.begin(), first_loss) : ops);
  if (apart) result.losses = blocks.root("losses", std::vector<OpId>(first_loss, ops.end()));
  result.blocks = blocks.take();
  result.layers_again = schedule.rematerialised_layers;
  return result;
}

}  // namespace shardscope
