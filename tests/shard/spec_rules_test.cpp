#include "engine/shard/spec_rules.h"

#include <QTest>
#include <algorithm>
#include <random>

#include "engine/base/name_pattern.h"
#include "engine/config/parse.h"
#include "engine/config/rename_axis.h"
#include "tests/shard/spec_targets.h"
#include "tests/test_program.h"

namespace spec_rules_test {

using namespace shardscope;
using test::decoder_targets;

namespace {

const Mesh mesh({{"data", 4}, {"model", 2}});

// A config with this "sharding" section.
ShardingConfig sharding(const std::string& json) {
  return parse_run_config(R"({"model": {"name": "m"}, "mesh": {"axes": []}, "data": {"kind": "d"}, "seed": 0,
                             "steps": 1, "sharding": )" +
                              json + "}",
                          "")
      .sharding;
}

PartitionSpec spec(const std::string& json) { return sharding("{\"in\": " + json + "}").in; }

SpecTarget parameter(std::string name, Shape shape, std::vector<std::string> logical = {}) {
  return {std::move(name), SpecKind::parameter, {std::move(shape)}, std::move(logical)};
}

SpecTarget state(std::string name, Shape shape, int follows) {
  return {std::move(name), SpecKind::optimizer_state, {std::move(shape)}, {}, follows};
}

std::string text(const std::vector<Error>& errors) {
  std::string result;
  for (const Error& error : errors) result += error.code + " " + to_string(error) + "\n";
  return result;
}

const ResolvedSpec& of(const ResolvedSpecs& resolved, const std::vector<SpecTarget>& targets, const std::string& name) {
  const auto at = std::find_if(targets.begin(), targets.end(), [&](const SpecTarget& t) { return t.name == name; });
  return resolved.specs.at(static_cast<size_t>(at - targets.begin()));
}

bool matches(const std::string& pattern, const std::string& name) {
  NamePatterns patterns;
  patterns.add(pattern, 0);
  std::vector<int> ids;
  patterns.match(name, ids);
  return !ids.empty();
}

// The rules one after the other, by definition, for one parameter: which rule decides each dimension, and how.
struct ByDefinition {
  std::vector<std::vector<std::string>> dims;
  int first = -1;
};

ByDefinition by_definition(const std::vector<SpecRule>& rules, const SpecTarget& target) {
  ByDefinition result;
  const Shape& shape = target.type.shape;
  result.dims.resize(shape.size());
  std::vector<bool> open(shape.size(), true);
  auto shards = [](const std::vector<std::string>& axes) {
    int64_t count = 1;
    for (const std::string& axis : axes) count *= mesh.axis_size(*mesh.find_axis(axis));
    return count;
  };
  for (int r = 0; r < static_cast<int>(rules.size()); ++r) {
    if (!matches(rules[r].names, target.name)) continue;
    auto speak = [&] { result.first = result.first < 0 ? r : result.first; };
    if (const auto* whole = std::get_if<PartitionSpec>(&rules[r].placement)) {
      if (result.first >= 0) continue;
      speak();
      result.dims = whole->dims;
      return result;
    }
    if (const auto* logical = std::get_if<LogicalAxes>(&rules[r].placement)) {
      for (size_t d = 0; d < shape.size(); ++d) {
        for (const auto& [name, axes] : logical->axes) {
          if (name != target.logical[d] || !open[d]) continue;
          speak();
          open[d] = false;
          if (shape[d] % shards(axes) == 0) result.dims[d] = axes;
        }
      }
      continue;
    }
    const auto& largest = std::get<LargestDimension>(rules[r].placement);
    bool used = std::none_of(open.begin(), open.end(), [](bool one) { return one; });
    for (const auto& axes : result.dims)
      for (const std::string& axis : axes)
        used |= std::find(largest.axes.begin(), largest.axes.end(), axis) != largest.axes.end();
    if (used || target.type.bytes() < largest.minimum_bytes) continue;
    speak();
    int best = -1;
    for (int d = 0; d < static_cast<int>(shape.size()); ++d) {
      if (open[d] && shape[d] % shards(largest.axes) == 0 && (best < 0 || shape[d] > shape[best])) best = d;
    }
    if (best < 0) open.assign(shape.size(), false);
    if (best >= 0) open[best] = false, result.dims[best] = largest.axes;
  }
  return result;
}

SpecRule random_rule(std::mt19937& random) {
  auto pick = [&](std::vector<std::string> from) { return from[random() % from.size()]; };
  SpecRule rule;
  rule.names = pick({"**", "**/kernel", "params/A_*/**", "params/*/bias", "params/A_1/kernel"});
  switch (random() % 3) {
    case 0: rule.placement = spec(random() % 2 ? R"(["model"])" : R"([null, "data"])"); break;
    case 1: {
      LogicalAxes logical;
      if (random() % 2) logical.axes.push_back({"mlp", {"model"}});
      if (random() % 2) logical.axes.push_back({"embed", {}});
      if (random() % 2) logical.axes.push_back({"heads", {"data"}});
      rule.placement = logical;
      break;
    }
    default: rule.placement = LargestDimension{{pick({"data", "model"})}, random() % 2 ? 0 : 200};
  }
  return rule;
}

}  // namespace

class SpecRulesTest : public QObject {
  Q_OBJECT

 private slots:
  void every_dimension_is_decided_by_the_first_rule_that_speaks_of_it() {
    std::vector<SpecTarget> targets;
    for (const char* module : {"A_0", "A_1", "B_0"}) {
      const std::string path = std::string("params/") + module + "/";
      targets.push_back(parameter(path + "kernel", {16, 8}, {"embed", "mlp"}));
      targets.push_back(parameter(path + "deep/kernel", {6, 12, 4}, {"mlp", "heads", ""}));
      targets.push_back(parameter(path + "bias", {4, 4}, {"heads", "embed"}));
      targets.push_back(parameter(path + "odd", {3, 5}, {"mlp", "heads"}));
    }
    std::mt19937 random(1);
    int decided = 0;
    for (int round = 0; round < 3000; ++round) {
      ShardingConfig table;
      for (size_t i = random() % 5; i > 0; --i) table.rules.push_back(random_rule(random));
      const ResolvedSpecs resolved = resolve_specs(table, mesh, targets);
      for (size_t t = 0; t < targets.size(); ++t) {
        const ByDefinition expected = by_definition(table.rules, targets[t]);
        QCOMPARE(resolved.specs[t].rule, expected.first);
        QVERIFY(resolved.specs[t].pinned);
        if (!check({expected.dims}, mesh, targets[t].type.shape, "").empty()) continue;
        PartitionSpec whole = resolved.specs[t].spec;
        if (whole.dims.size() < expected.dims.size()) whole.dims.resize(expected.dims.size());
        QVERIFY2(whole.dims == expected.dims, resolved.specs[t].origin.c_str());
        decided += expected.first >= 0;
      }
    }
    QVERIFY(decided > 10000);
  }

  void in_and_out_speak_first_and_empty_ones_of_nothing() {
    const std::vector<SpecTarget> targets = decoder_targets(1);
    const std::string rules = R"("rules": [{"names": "**", "spec": ["model"], "of": ["inputs", "outputs"]}])";
    ResolvedSpecs resolved =
        resolve_specs(sharding(R"({"in": ["data", null], "out": ["data"], )" + rules + "}"), mesh, targets);
    QVERIFY(of(resolved, targets, "tokens").spec == spec(R"(["data", null])"));
    QCOMPARE(of(resolved, targets, "labels").place, std::string("sharding.in"));
    QCOMPARE(of(resolved, targets, "logits").origin, std::string("sharding.out"));
    resolved = resolve_specs(sharding("{" + rules + "}"), mesh, targets);
    for (const char* name : {"tokens", "labels", "logits"})
      QCOMPARE(of(resolved, targets, name).place, std::string("sharding.rules[0]"));
    resolved = resolve_specs({}, mesh, targets);
    QVERIFY(of(resolved, targets, "tokens").pinned && of(resolved, targets, "tokens").spec.dims.empty());
    QVERIFY(resolved.errors.empty() && resolved.warnings.empty());
  }

  void exact_names_decide_before_patterns_and_these_before_the_rules() {
    const std::vector<SpecTarget> targets = decoder_targets(2);
    const ResolvedSpecs resolved = resolve_specs(sharding(R"({
      "parameters": {"params": {"**": {"bias": [null]}, "SelfAttentionBlock_*": {"MLP_0": {"Dense_0": {"bias": ["model"]}}},
                                "SelfAttentionBlock_0": {"MLP_0": {"Dense_0": {"bias": ["data"]}}}}},
      "constraints": {"**/gelu": ["data"], "SelfAttentionBlock_1/MLP_0/gelu": ["model"]},
      "rules": [{"names": "**", "spec": [["data", "model"]], "of": ["parameters", "activations"]}]})"),
                                                 mesh, targets);
    QVERIFY2(resolved.errors.empty(), text(resolved.errors).c_str());
    auto place = [&](const std::string& name) { return of(resolved, targets, name).place; };
    QCOMPARE(place("params/SelfAttentionBlock_0/MLP_0/Dense_0/bias"),
             std::string("sharding.parameters.params.SelfAttentionBlock_0.MLP_0.Dense_0.bias"));
    QCOMPARE(place("params/SelfAttentionBlock_1/MLP_0/Dense_0/bias"),
             std::string("sharding.parameters.params.**.bias"));
    QCOMPARE(place("params/Embed_0/embedding"), std::string("sharding.rules[0]"));
    QCOMPARE(place("SelfAttentionBlock_0/MLP_0/gelu"), std::string("sharding.constraints.**/gelu"));
    QCOMPARE(place("SelfAttentionBlock_1/MLP_0/gelu"),
             std::string("sharding.constraints.SelfAttentionBlock_1/MLP_0/gelu"));
    QCOMPARE(place("SelfAttentionBlock_1/add"), std::string("sharding.rules[0]"));
  }

  void activations_that_nothing_names_stay_unpinned_and_all_else_is_replicated() {
    const std::vector<SpecTarget> targets = decoder_targets(1);
    const ResolvedSpecs resolved = resolve_specs(
        sharding(R"({"constraints": {"**/gelu": []}, "rules": [{"axes": {"mlp": "model"}}]})"), mesh, targets);
    for (size_t t = 0; t < targets.size(); ++t) {
      const bool constrained = targets[t].name.ends_with("gelu");
      QCOMPARE(resolved.specs[t].pinned, targets[t].kind != SpecKind::activation || constrained);
      if (targets[t].kind == SpecKind::activation) QVERIFY(resolved.specs[t].spec.dims.empty());
    }
    QCOMPARE(of(resolved, targets, "params/Embed_0/embedding").origin, std::string("no spec names it: replicated"));
    QCOMPARE(of(resolved, targets, "params/SelfAttentionBlock_0/MLP_0/Dense_0/bias").origin,
             std::string("sharding.rules[0]: mlp -> model"));
  }

  void a_rule_by_logical_name_may_be_of_activations() {
    const std::vector<SpecTarget> targets = decoder_targets(1);
    const ResolvedSpecs resolved = resolve_specs(
        sharding(R"({"rules": [{"axes": {"batch": "data"}, "of": ["activations", "inputs"]}]})"), mesh, targets);
    QVERIFY(of(resolved, targets, "SelfAttentionBlock_0/add").spec == spec(R"(["data", null, null])"));
    QVERIFY(of(resolved, targets, "SelfAttentionBlock_0/add").pinned);
    QVERIFY(of(resolved, targets, "tokens").spec == spec(R"(["data", null])"));
    QVERIFY(of(resolved, targets, "logits").spec.dims.empty());
  }

  void a_state_is_sharded_as_its_parameter_unless_something_names_it() {
    const std::vector<SpecTarget> targets = {
        parameter("params/a/kernel", {8, 16}), state("optimizer/mu/params/a/kernel", {8, 16}, 0),
        state("optimizer/nu/params/a/kernel", {8, 16}, 0), state("optimizer/row/params/a/kernel", {8}, 0),
        state("optimizer/count", {}, -1)};
    const ResolvedSpecs resolved =
        resolve_specs(sharding(R"({"parameters": {"params": {"a": {"kernel": [null, "model"]}}},
      "rules": [{"names": "optimizer/nu*/params/a/kernel", "largest": "data", "of": "optimizer"}]})"),
                      mesh, targets);
    QVERIFY(resolved.errors.empty() && resolved.warnings.empty());
    QVERIFY(resolved.specs[1].spec == resolved.specs[0].spec);
    QCOMPARE(resolved.specs[1].origin, std::string("as params/a/kernel"));
    QVERIFY(resolved.specs[2].spec == spec(R"([null, "data"])"));
    QCOMPARE(resolved.specs[2].origin, std::string("sharding.rules[0]: largest dimension -> data (1)"));
    for (size_t t : {3u, 4u}) QVERIFY(resolved.specs[t].pinned && resolved.specs[t].spec.dims.empty());
  }

  void the_largest_dimension_that_divides_is_split_of_equals_the_first() {
    auto split = [](Shape shape, const std::string& rule) {
      const std::vector<SpecTarget> targets = {parameter("p", std::move(shape))};
      return resolve_specs(sharding("{\"rules\": [" + rule + "]}"), mesh, targets).specs[0].spec;
    };
    const std::string over_data = R"({"largest": "data"})";
    QVERIFY(split({8, 16}, over_data) == spec(R"([null, "data"])"));
    QVERIFY(split({16, 16}, over_data) == spec(R"(["data", null])"));
    QVERIFY(split({8, 18}, over_data) == spec(R"(["data", null])"));
    QVERIFY(split({8, 16}, R"({"largest": ["model", "data"]})") == spec(R"([null, ["model", "data"]])"));
    QVERIFY(split({8, 16}, R"({"largest": "data"}, {"largest": "model"})") == spec(R"(["model", "data"])"));
    QVERIFY(split({8, 16}, R"({"largest": "data", "minimum_bytes": 513})").dims.empty());
    QVERIFY(!split({8, 16}, R"({"largest": "data", "minimum_bytes": 512})").dims.empty());
  }

  void explicit_specs_are_errors_where_they_cannot_be() {
    const std::vector<SpecTarget> targets = decoder_targets(3);
    const std::string kernels = "sharding.parameters.params.SelfAttentionBlock_*.SelfAttention_0.out.kernel";
    struct Case {
      std::string sharding, code, where, words;
    };
    const std::vector<Case> cases = {
        {R"({"parameters": {"params": {"Dense_0": {"bias": ["rows"]}}}})", "unknown_axis",
         "sharding.parameters.params.Dense_0.bias[0]", "no axis 'rows'"},
        {R"({"parameters": {"params": {"Dense_0": {"bias": [null, "model"]}}}})", "rank",
         "sharding.parameters.params.Dense_0.bias", ""},
        {R"({"parameters": {"params": {"Dense_0": {"bais": []}}}})", "unknown_parameter",
         "sharding.parameters.params.Dense_0.bais", "did you mean 'params/Dense_0/bias'"},
        {R"({"parameters": {"params": {"SelfAttentionBlock_7": {"LayerNorm_0": {"bias": []}}}}})", "unknown_parameter",
         "sharding.parameters.params.SelfAttentionBlock_7.LayerNorm_0.bias", ""},
        {R"({"parameters": {"params": {"SelfAttentionBlock_*": {"SelfAttention_0": {"out": {"kernel": [null, null, ["data", "data"]]}}}}}})",
         "duplicate_axis", kernels + "[2]", ""},
        {R"({"parameters": {"params": {"SelfAttentionBlock_*": {"SelfAttention_0": {"out": {"kernel": [["data", "model", "pod"]]}}}}}})",
         "unknown_axis", kernels + "[0]", "'pod'"},
        {R"({"constraints": {"SelfAttentionBlock_0/MLP_0/gelo": []}})", "unknown_activation",
         "sharding.constraints.SelfAttentionBlock_0/MLP_0/gelo", "did you mean 'SelfAttentionBlock_0/MLP_0/gelu'"},
        {R"({"constraints": {"**/gelu": [null, null, null, "data"]}})", "rank", "sharding.constraints.**/gelu",
         "in 'SelfAttentionBlock_0/MLP_0/gelu' and 2 more"},
        {R"({"rules": [{"names": "params/Dense_0/biass", "spec": []}]})", "unknown_parameter", "sharding.rules[0]",
         "'params/Dense_0/bias'"},
        {R"({"rules": [{"axes": {"mlp": ["model", "rows"]}}]})", "unknown_axis", "sharding.rules[0].axes.mlp",
         "'rows'"},
        {R"({"constraints": {"**/gelu": [null, "mlp"]}, "rules": [{"axes": {"mlp": "model"}}]})", "unknown_axis",
         "sharding.constraints.**/gelu[1]",
         "'mlp' is a name of dimensions, which sharding.rules[0].axes.mlp places on"},
        {R"({"in": ["batch"]})", "unknown_axis", "sharding.in[0]",
         "'batch' is another name for what is split over 'data'"},
        {R"({"rules": [{"largest": "date"}]})", "unknown_axis", "sharding.rules[0].largest", "'data'"},
        {R"({"in": [null, null, "data"]})", "rank", "sharding.in", "(64, 128)"},
        {R"({"out": ["rows"]})", "unknown_axis", "sharding.out[0]", "'rows'"}};
    for (const Case& bad : cases) {
      const ResolvedSpecs resolved = resolve_specs(sharding(bad.sharding), mesh, targets);
      QVERIFY2(resolved.errors.size() == 1, (bad.sharding + text(resolved.errors)).c_str());
      QCOMPARE(resolved.errors[0].code, bad.code);
      QCOMPARE(to_string(resolved.errors[0].place), bad.where);
      QVERIFY2(text(resolved.errors).find(bad.words) != std::string::npos, text(resolved.errors).c_str());
    }
  }

  void a_pattern_that_does_not_divide_is_reported_once_for_each_shape() {
    const ResolvedSpecs resolved =
        resolve_specs(sharding(R"({"rules": [{"names": "params/**/kernel", "spec": ["data"]}]})"), Mesh({{"data", 3}}),
                      decoder_targets(5));
    QCOMPARE(resolved.errors.size(), size_t{5});
    QVERIFY(text(resolved.errors)
                .find("dimension 0 of (512, 8, 64) is split 3 ways by 'data' in "
                      "'params/SelfAttentionBlock_0/SelfAttention_0/key/kernel' and 14 more") != std::string::npos);
    for (const Error& error : resolved.errors) {
      QCOMPARE(error.code, std::string("indivisible"));
      QCOMPARE(to_string(error.place), std::string("sharding.rules[0].spec[0]"));
    }
  }

  void a_rule_by_logical_name_or_size_that_does_not_divide_replicates_and_warns() {
    const std::vector<SpecTarget> targets = {parameter("params/a", {8, 6}, {"embed", "heads"}),
                                             parameter("params/b", {6, 8}, {"heads", "embed"}),
                                             parameter("params/c", {5, 7})};
    const ResolvedSpecs resolved = resolve_specs(
        sharding(
            R"({"rules": [{"axes": {"heads": "data", "embed": "model"}}, {"names": "params/c", "largest": "model"}]})"),
        mesh, targets);
    QVERIFY(resolved.errors.empty());
    QVERIFY(resolved.specs[0].spec == spec(R"(["model", null])"));
    QVERIFY(resolved.specs[1].spec == spec(R"([null, "model"])"));
    QVERIFY(resolved.specs[2].spec == spec("[null, null]") && resolved.specs[2].rule == 1);
    QCOMPARE(resolved.warnings.size(), size_t{2});
    QCOMPARE(to_string(resolved.warnings[0]),
             std::string("sharding.rules[0].axes.heads: 'heads' of size 6 does not divide by data (4): replicated in "
                         "'params/a' and 1 more (sizes that 4 divides are split)"));
    QCOMPARE(to_string(resolved.warnings[1]),
             std::string("sharding.rules[1].largest: no open dimension of (5, 7) divides by model (2): replicated in "
                         "'params/c' (sizes that 2 divides are split)"));
    for (const Error& warning : resolved.warnings) QCOMPARE(warning.code, std::string("replicated"));
  }

  void whatever_matches_nothing_is_a_warning_that_names_it() {
    const std::vector<SpecTarget> targets = decoder_targets(1);
    const ResolvedSpecs resolved = resolve_specs(sharding(R"({
      "parameters": {"params": {"SelfAttentionBlock_1": {"MLP_*": {"Dense_1": {"bias": ["data"]}}}}},
      "constraints": {"**/relu": []},
      "rules": [{"axes": {"mlp": "model", "embd": "data"}}, {"axes": {"expert": "data"}},
                {"names": "state*", "largest": "data"}, {"largest": "data", "of": "optimizer"}]})"),
                                                 mesh, targets);
    QVERIFY2(resolved.errors.empty(), text(resolved.errors).c_str());
    const std::vector<std::pair<std::string, std::string>> expected = {
        {"sharding.parameters.params.SelfAttentionBlock_1.MLP_*.Dense_1.bias",
         "no parameter matches 'params/SelfAttentionBlock_1/MLP_*/Dense_1/bias' (below 'params' there are"},
        {"sharding.constraints.**/relu", "no activation matches '**/relu'"},
        {"sharding.rules[0].axes.embd", "no dimension is named 'embd' (did you mean 'embed'?)"},
        {"sharding.rules[1]", "no dimension has any of the rule's names"},
        {"sharding.rules[2]", "no parameter matches 'state*' (names begin with 'params')"},
        {"sharding.rules[3]", "no optimizer state matches '**'"}};
    QVERIFY2(resolved.warnings.size() == expected.size(), text(resolved.warnings).c_str());
    for (size_t i = 0; i < expected.size(); ++i) {
      QCOMPARE(resolved.warnings[i].code, std::string("matches_nothing"));
      QVERIFY2(to_string(resolved.warnings[i]).starts_with(expected[i].first + ": " + expected[i].second),
               text(resolved.warnings).c_str());
    }
  }

  void an_alternative_that_matches_nothing_is_a_warning_that_names_it() {
    const std::vector<SpecTarget> targets{parameter("params/a/kernel", {8, 8}), parameter("params/b/kernel", {8, 8}),
                                          parameter("params/a/bias", {8})};
    for (const char* names : {"\"params/{a,b,c}/kernel\"", R"(["params/{a,b}/kernel", "params/c/kernel"])"}) {
      const ResolvedSpecs resolved = resolve_specs(
          sharding(std::string(R"({"rules": [{"names": )") + names + R"(, "spec": ["data"]}]})"), mesh, targets);
      QVERIFY2(resolved.errors.empty(), text(resolved.errors).c_str());
      QCOMPARE(resolved.warnings.size(), size_t{1});
      QCOMPARE(resolved.warnings[0].code, std::string("matches_nothing"));
      QVERIFY2(resolved.warnings[0].message.starts_with("no parameter matches 'params/c/kernel' of '"),
               text(resolved.warnings).c_str());
      QCOMPARE(resolved.lines[0].matched, 2);
      QVERIFY(of(resolved, targets, "params/b/kernel").spec == spec("[\"data\"]"));
      QVERIFY(!of(resolved, targets, "params/a/bias").pinned || of(resolved, targets, "params/a/bias").rule < 0);
    }
    // An array that two alternatives match is one array.
    const ResolvedSpecs twice =
        resolve_specs(sharding(R"({"rules": [{"names": "params/{a,*}/kernel", "largest": "data"}]})"), mesh, targets);
    QCOMPARE(twice.lines[0].matched, 2);
    QCOMPARE(twice.lines[0].decided, 2);
    QVERIFY(of(twice, targets, "params/a/kernel").spec == spec("[\"data\", null]"));
  }

  void each_line_tells_how_many_arrays_it_matched_and_decided() {
    const std::vector<SpecTarget> targets = decoder_targets(2);
    const ResolvedSpecs resolved = resolve_specs(sharding(R"({
      "in": ["data"],
      "parameters": {"params": {"SelfAttentionBlock_0": {"MLP_0": {"Dense_0": {"kernel": [null, "model"]}}}}},
      "constraints": {"**/gelu": []},
      "rules": [{"names": "**/kernel", "axes": {"mlp": "model"}}, {"largest": "data"}]})"),
                                                 mesh, targets);
    const auto parameters = std::ranges::count(targets, SpecKind::parameter, &SpecTarget::kind);
    const auto inputs = std::ranges::count(targets, SpecKind::input, &SpecTarget::kind);
    struct Line {
      const char* place;
      int64_t matched, decided;
    };
    // Of four kernels with a dimension mlp one is named; by size all others are decided, or what mlp left of them.
    const std::vector<Line> expected = {{"sharding.in", inputs, inputs},
                                        {"sharding.parameters.params.SelfAttentionBlock_0.MLP_0.Dense_0.kernel", 1, 1},
                                        {"sharding.constraints.**/gelu", 2, 2},
                                        {"sharding.rules[0]", 4, 3},
                                        {"sharding.rules[1]", parameters, parameters - 1}};
    QCOMPARE(resolved.lines.size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i) {
      QCOMPARE(resolved.lines[i].place, std::string(expected[i].place));
      QCOMPARE(int64_t{resolved.lines[i].matched}, expected[i].matched);
      QCOMPARE(int64_t{resolved.lines[i].decided}, expected[i].decided);
    }
    QVERIFY(resolved.lines[2].sample.starts_with("SelfAttentionBlock_0/MLP_0/gelu\n"));
  }

  void one_axis_on_two_dimensions_by_two_rules_is_an_error_that_names_both() {
    const std::vector<SpecTarget> targets = decoder_targets(3);
    const ResolvedSpecs resolved = resolve_specs(
        sharding(R"({"rules": [{"axes": {"mlp": "model"}}, {"axes": {"embed": ["data", "model"]}}]})"), mesh, targets);
    QVERIFY2(resolved.errors.size() == 1, text(resolved.errors).c_str());
    QCOMPARE(resolved.errors[0].code, std::string("axis_conflict"));
    QCOMPARE(
        to_string(resolved.errors[0]),
        std::string("sharding.rules[1].axes.embed: mesh axis 'model' would split two dimensions, 1 by "
                    "sharding.rules[0].axes.mlp and 0 by sharding.rules[1].axes.embed, in "
                    "'params/SelfAttentionBlock_0/MLP_0/Dense_0/kernel' and 5 more (give the array a spec by name in a "
                    "rule before these, or make one of the two null)"));
  }

  void kinds_that_are_not_given_are_not_judged() {
    std::vector<SpecTarget> targets = decoder_targets(1);
    std::erase_if(targets, [](const SpecTarget& target) { return target.kind != SpecKind::parameter; });
    const ResolvedSpecs resolved =
        resolve_specs(sharding(R"({"in": [null, null, "data"], "constraints": {"none": []}})"), mesh, targets);
    QVERIFY2(resolved.errors.empty(), text(resolved.errors).c_str());
    QCOMPARE(
        check_axis_names(
            sharding(R"({"in": ["x"], "constraints": {"a": ["data", "data"]}, "rules": [{"largest": "y"}]})"), mesh)
            .size(),
        size_t{3});
  }

  void a_preset_is_legal_for_any_number_of_layers_and_treats_all_alike() {
    for (const char* preset : {"parallax_decoder", "parallax_decoder_2"}) {
      const RunConfig config = load_run_config(std::string(SHARDSCOPE_SOURCE_DIR "/presets/") + preset + ".json");
      const Mesh its_mesh(config.mesh_axes);
      const bool second = config.sharding.parameters[0].spec == spec(R"([null, "model"])");
      const std::vector<SpecTarget> one = decoder_targets(1);
      const ResolvedSpecs of_one = resolve_specs(config.sharding, its_mesh, one);
      for (int layers : {1, 2, 3, 12}) {
        const std::vector<SpecTarget> targets = decoder_targets(layers);
        const ResolvedSpecs resolved = resolve_specs(config.sharding, its_mesh, targets);
        QVERIFY2(resolved.errors.empty(), text(resolved.errors).c_str());
        QCOMPARE(resolved.warnings.size(), size_t{second && layers == 1 ? 2u : 0u});
        for (size_t t = 0; t < targets.size(); ++t) {
          std::string name = targets[t].name;
          const size_t block = name.find("SelfAttentionBlock_");
          const bool special = second && name.find("SelfAttentionBlock_1/MLP_0/Dense_1") != std::string::npos;
          if (block != std::string::npos) name.replace(block, name.find('/', block) - block, "SelfAttentionBlock_0");
          if (targets[t].kind == SpecKind::parameter) QVERIFY2(!resolved.specs[t].place.empty(), name.c_str());
          QCOMPARE(resolved.specs[t].spec == of(of_one, one, name).spec, !special);
        }
      }
    }
  }

  void renaming_an_axis_renames_every_resolved_spec_and_nothing_else() {
    RunConfig config;
    config.mesh_axes = mesh.axes();
    config.sharding = sharding(R"({"in": ["data"], "parameters": {"params": {"Embed_0": {"**": ["model", "data"]}}},
      "constraints": {"**/gelu": ["data", null, "model"]},
      "rules": [{"axes": {"mlp": "model"}}, {"largest": "data"}, {"names": "**", "spec": ["data"], "of": "outputs"}]})");
    const std::vector<SpecTarget> targets = decoder_targets(2);
    const RunConfig renamed = rename_axis(config, "model", "tensor");
    const ResolvedSpecs before = resolve_specs(config.sharding, mesh, targets);
    const ResolvedSpecs after = resolve_specs(renamed.sharding, Mesh(renamed.mesh_axes), targets);
    QVERIFY(before.errors.empty() && after.errors.empty());
    for (size_t t = 0; t < targets.size(); ++t) {
      PartitionSpec expected = before.specs[t].spec;
      for (auto& axes : expected.dims)
        std::replace(axes.begin(), axes.end(), std::string("model"), std::string("tensor"));
      QVERIFY(after.specs[t].spec == expected);
      QCOMPARE(after.specs[t].place, before.specs[t].place);
    }
  }

  void what_is_compared_grows_with_the_names_not_with_the_patterns() {
    const std::vector<SpecTarget> targets = decoder_targets(1000);
    int64_t parts = 0;
    for (const SpecTarget& target : targets) parts += 1 + std::count(target.name.begin(), target.name.end(), '/');
    auto compared = [&](int copies) {
      ShardingConfig table = load_run_config(SHARDSCOPE_SOURCE_DIR "/presets/parallax_decoder.json").sharding;
      for (int i = 0; i < copies; ++i) {
        const std::string name = std::to_string(i);
        table.rules.push_back(
            {"params/SelfAttentionBlock_*/Extra_" + name + "/kernel", PartitionSpec{}, {SpecKind::parameter}});
        table.constraints.push_back({"SelfAttentionBlock_*/Extra_" + name + "/gelu", {}});
      }
      return resolve_specs(table, mesh, targets).compared;
    };
    QVERIFY(compared(0) <= 3 * parts);
    QVERIFY(compared(200) <= 4 * parts);
    QCOMPARE(compared(1), compared(200));
  }
};

REGISTER_TEST(SpecRulesTest)

}  // namespace spec_rules_test

#include "spec_rules_test.moc"
