#include <algorithm>
#include <limits>

#include "engine/config/read_specs.h"
#include "engine/config/run_file_keys.h"
#include "engine/config/run_keys.h"
#include "engine/config/run_types.h"

namespace shardscope {

namespace {

using Kind = JsonNode::Kind;
using DimensionAxes = std::pair<std::string, std::vector<std::string>>;

template <class Enum>
Choices<Enum> in_order_of(const std::vector<std::string>& names) {
  Choices<Enum> choices;
  for (const std::string& name : names) choices.emplace_back(name, static_cast<Enum>(choices.size()));
  return choices;
}

JsonType<LayoutMode> mode() {
  Choices<LayoutMode> modes = in_order_of<LayoutMode>(run_file::layout_modes());
  modes.emplace_back(run_file::former_name_of_fastest, LayoutMode::fastest);
  return choice(modes, "mode");
}

// One kind, or several, ascending.
JsonType<std::vector<SpecKind>> kinds() {
  const JsonType<SpecKind> kind = choice(in_order_of<SpecKind>(run_file::spec_kinds()), "kind");
  const JsonType<std::vector<SpecKind>> list = list_of(kind);
  return {[=](const JsonNode& node, const std::string& place, FaultList& faults) {
            std::vector<SpecKind> read;
            if (node.is(Kind::array) && node.items.empty())
              faults.fail(node.line, place, "out_of_range", "the rule is of nothing", R"(such as "parameters")");
            if (node.is(Kind::array)) read = *list.read(node, place, faults);
            if (!node.is(Kind::array)) read.push_back(kind.read(node, place, faults).value_or(SpecKind::parameter));
            std::ranges::sort(read);
            read.erase(std::unique(read.begin(), read.end()), read.end());
            return std::optional(read);
          },
          [=](const std::vector<SpecKind>& of) { return of.size() == 1 ? kind.write(of[0]) : list.write(of); },
          any_of({kind.schema, list_of(kind, 1).schema})};
}

// What splits the largest dimension.
JsonType<std::vector<std::string>> some_axes() {
  const JsonNode axis = text_of_some_length().schema;
  return {
      [](const JsonNode& node, const std::string& place, FaultList& faults) -> std::optional<std::vector<std::string>> {
        if (!node.is(Kind::null) && !(node.is(Kind::array) && node.items.empty()))
          return read_spec_entry(node, place, faults);
        faults.fail(node.line, place, "wrong_type", "expected an axis name or an array of axis names",
                    "a mesh axis, such as \"data\"");
        return {};
      },
      spec_entry().write, any_of({axis, list_of(text_of_some_length(), 1).schema})};
}

// Also an empty text for none.
JsonType<std::vector<std::string>> axes_or_none() {
  JsonType<std::vector<std::string>> type = spec_entry();
  type.read = [read = type.read](const JsonNode& node, const std::string& place,
                                 FaultList& faults) -> std::optional<std::vector<std::string>> {
    if (node.is(Kind::string) && node.text.empty()) return std::vector<std::string>();
    return read(node, place, faults);
  };
  type.schema = any_of({text().schema, list_of(text_of_some_length()).schema});
  return type;
}

JsonType<std::vector<std::string>> dimensions() {
  const std::string hint = R"(such as ["batch", "length", "embed"])";
  JsonType<std::vector<std::string>> type =
      list_of(text("the name of a dimension", hint), 0, "an array of names of dimensions", hint);
  type.read = [=, read = type.read](const JsonNode& node, const std::string& place, FaultList& faults) {
    if (node.is(Kind::array) && node.items.empty())
      faults.fail(node.line, place, "out_of_range", "the list of names is empty", hint);
    return read(node, place, faults);
  };
  type.schema.add("minItems", JsonNode::of(int64_t{1}));
  return type;
}

// A rule with the keys of all its forms.
struct RuleKeys {
  std::string names = "**";
  PartitionSpec spec;
  std::vector<DimensionAxes> axes;
  std::vector<std::string> largest;
  int64_t minimum_bytes = 0;
  std::vector<std::string> dimensions;
  std::vector<SpecKind> of = {SpecKind::parameter};
};

struct RuleForm {
  const char* key;  // which tells it
  JsonType<RuleKeys> type;
};

const std::vector<RuleForm>& forms() {
  static const std::vector<RuleForm> all = [] {
    using Keys = ObjectKeys<RuleKeys>;
    const auto pattern = [] { return names(R"("**" for all)"); };
    constexpr const char* help =
        "Of the arrays: `params/*/kernel`, where `*` stands for any text between slashes, `**` for any number of "
        "parts, `{query,key}` for either. A list is all of its patterns.";
    const auto of = [](Keys& keys) {
      return keys
          .optional("of", &RuleKeys::of, kinds(),
                    "What the rule is of: `parameters`, `optimizer`, `states`, `activations`, `inputs`, `outputs`, "
                    "`gradients`, or a list of these.")
          .type();
    };
    Keys by_name("Arrays by name or pattern have this spec. It is explicit: what does not divide is an error.");
    by_name.required("names", &RuleKeys::names, pattern(), help, R"("params/**/kernel")")
        .required("spec", &RuleKeys::spec, spec(), "", R"([null, "model"])");
    Keys by_axes("Dimensions by their logical names. What does not divide is replicated, with a warning.");
    by_axes.optional("names", &RuleKeys::names, pattern(), help)
        .required("axes", &RuleKeys::axes,
                  entries_of(&DimensionAxes::first, &DimensionAxes::second, spec_entry(), "an object",
                             R"(such as {"mlp": "model", "embed": null})"),
                  "`{\"mlp\": \"model\", \"embed\": null}`.", R"({"mlp": "model", "embed": null})")
        .optional("dimensions", &RuleKeys::dimensions, dimensions(),
                  "Only arrays whose dimensions have exactly these names: `[\"batch\", \"length\", \"embed\"]`.");
    Keys by_size("The largest dimension that these axes divide, of equals the first, is split over them.");
    by_size.optional("names", &RuleKeys::names, pattern(), help)
        .required("largest", &RuleKeys::largest, some_axes(), "", R"("data")")
        .optional("minimum_bytes", &RuleKeys::minimum_bytes, integer<int64_t>(0, std::numeric_limits<int64_t>::max()),
                  "Smaller arrays are left to the rules below.");
    return std::vector<RuleForm>{{"spec", of(by_name)}, {"axes", of(by_axes)}, {"largest", of(by_size)}};
  }();
  return all;
}

SpecRule rule_of(const RuleKeys& keys, size_t form) {
  SpecRule rule{keys.names, keys.spec, keys.of, keys.dimensions};
  if (form == 1) rule.placement = LogicalAxes{keys.axes};
  if (form == 2) rule.placement = LargestDimension{keys.largest, keys.minimum_bytes};
  return rule;
}

RuleKeys keys_of_rule(const SpecRule& rule) {
  RuleKeys keys;
  keys.names = rule.names;
  if (const auto* spec = std::get_if<PartitionSpec>(&rule.placement)) keys.spec = *spec;
  if (const auto* logical = std::get_if<LogicalAxes>(&rule.placement)) keys.axes = logical->axes;
  if (const auto* largest = std::get_if<LargestDimension>(&rule.placement)) {
    keys.largest = largest->axes;
    keys.minimum_bytes = largest->minimum_bytes;
  }
  keys.dimensions = rule.dimensions;
  keys.of = rule.of;
  return keys;
}

// Which form the rule has; a fault and nothing where it is none, or two.
std::optional<size_t> form_of(const JsonNode& node, const std::string& place, FaultList& faults) {
  std::vector<std::string> names;
  for (const RuleForm& each : forms())
    for (const std::string& key : keys_of(each.type.schema)) names.push_back(key);
  std::optional<size_t> form;
  for (size_t i = 0; i < forms().size(); ++i) {
    const JsonNode* found = find_meant(node, forms()[i].key, names);
    if (found && form) {
      faults.fail(found->line, member_place(place, forms()[i].key), "two_placements",
                  "the rule places its arrays twice", R"(one of "spec", "axes", "largest"; make it two rules)");
      return {};
    }
    if (found) form = i;
  }
  if (!form) {
    faults.fail(node.line, place, "missing_key", "the rule does not say how its arrays lie",
                R"(one of "spec": ["data", null], "axes": {"mlp": "model"}, "largest": "data")");
  }
  return form;
}

JsonType<SpecRule> rule() {
  std::vector<JsonNode> schemas;
  for (const RuleForm& form : forms()) schemas.push_back(form.type.schema);
  return {[](const JsonNode& node, const std::string& place, FaultList& faults) -> std::optional<SpecRule> {
            if (!faults.expect(node, place, Kind::object, "an object", R"(such as {"axes": {"mlp": "model"}})"))
              return {};
            const std::optional<size_t> form = form_of(node, place, faults);
            if (!form) return {};
            return rule_of(*forms()[*form].type.read(node, place, faults), *form);
          },
          [](const SpecRule& rule) { return forms()[rule.placement.index()].type.write(keys_of_rule(rule)); },
          any_of(std::move(schemas))};
}

}  // namespace

const JsonType<ZeroConfig>& zero_type() {
  static const JsonType<ZeroConfig> type =
      ObjectKeys<ZeroConfig>(
          "ZeRO, on top of what the specs say: what data parallelism keeps on every device is split over mesh axes "
          "instead; with `stage` 1 optimizer state, 2 and gradients, 3 and parameters; over `axis`, or the first that "
          "splits anything.",
          R"(such as {"stage": 1, "axis": "data"})")
          .required("stage", &ZeroConfig::stage, integer<int64_t>(0, 3),
                    "1: optimizer state; 2: and gradients; 3: and parameters, which are gathered before each use and "
                    "dropped after it.",
                    "1")
          .optional("axis", &ZeroConfig::axes, axes_or_none(),
                    "The mesh axis that it is split over, or a list of axes. Absent or empty: the first one.")
          .type();
  return type;
}

const JsonType<ShardingConfig>& sharding_type() {
  static const JsonType<ShardingConfig> type =
      ObjectKeys<ShardingConfig>("How arrays are split over the mesh. With `mesh_axes` it is a Parallax configuration.")
          .written(
              "mode", &ShardingConfig::mode, mode(),
              "`fastest`: what no spec pins is laid out for the least predicted time of a step under the memory "
              "limit; `as_written`: the specs alone decide, by propagation. The third is a former name of `fastest`.")
          .written("in", &ShardingConfig::in, spec(), "Spec of the model's inputs. Absent or `[]`: left to the rules.")
          .written("out", &ShardingConfig::out, spec(),
                   "Spec of the model's output. Absent or `[]`: left to the rules; without one it is replicated.")
          .written("parameters", &ShardingConfig::parameters, parameter_specs(),
                   "Specs by parameter, nested as the parameters are; keys may be patterns, `SelfAttentionBlock_*`. An "
                   "exact name decides before patterns, of these the first that matches.")
          .optional("constraints", &ShardingConfig::constraints,
                    entries_of(&Constraint::names, &Constraint::spec, spec(), "an object",
                               R"(such as {"**/gelu": ["data", null, "model"]})"),
                    "Specs of activations by name or pattern. An exact name decides before patterns, of these the "
                    "first that matches.")
          .optional("rules", &ShardingConfig::rules, list_of(rule(), 0, "an array of rules"),
                    "An ordered table for all that nothing above names. Each dimension is decided by the first rule "
                    "that speaks of it; what no rule speaks of is replicated, an activation left open.")
          .optional("zero", &ShardingConfig::zero, zero_type(), "")
          .optional("keep", &ShardingConfig::keep,
                    list_of(text("a mesh axis"), 0, "an array of mesh axes", R"(such as ["tensor"])"),
                    "With `as_written`: mesh axes over which parameters stay split where they are used, so that "
                    "activations move, as in Megatron; over other axes what is smaller moves.")
          .optional("memory_limit_mib", &ShardingConfig::memory_limit_mib,
                    optional_of(integer<int64_t>(1, std::numeric_limits<int64_t>::max() >> 20)),
                    "Memory of one device that a plan may use. Absent: the machine's.")
          .unkept("mesh_axes", list_of(text("an axis name"), 0, "an array of axis names"),
                  "The names of the mesh's axes; read for configurations taken over from Parallax.")
          .type();
  return type;
}

}  // namespace shardscope
