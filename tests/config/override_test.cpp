#include "engine/config/override.h"

#include <QTest>
#include <algorithm>
#include <functional>

#include "engine/base/path.h"
#include "engine/config/parse.h"
#include "engine/config/run_keys.h"
#include "engine/config/strategy.h"
#include "engine/config/write.h"
#include "tests/base/errors_of.h"
#include "tests/config/random_config.h"
#include "tests/test_program.h"

namespace override_test {

using namespace shardscope;

namespace {

RunConfig preset() {
  RunConfig config = load_run_config(SHARDSCOPE_SOURCE_DIR "/presets/parallax_decoder.json");
  config.data.options.emplace_back("names", TextList{"a", "b", "c"});
  config.sharding.constraints = {{"**/gelu", {{{"data"}, {}, {"model"}}}}};
  config.sharding.rules = {{"params/**/bias", PartitionSpec{{{"model"}}}, {SpecKind::parameter}},
                           {"**", LogicalAxes{{{"mlp", {"model"}}, {"embed", {}}}}, {SpecKind::activation}},
                           {"**", LargestDimension{{"data"}, 64}, {SpecKind::optimizer_state}}};
  return config;
}

const PartitionSpec& spec_of(const RunConfig& config, const std::vector<std::string>& path) {
  const auto& all = config.sharding.parameters;
  return std::find_if(all.begin(), all.end(), [&](const ParameterSpec& p) { return p.path == path; })->spec;
}

LogicalAxes& logical(RunConfig& config) { return std::get<LogicalAxes>(config.sharding.rules[1].placement); }
LargestDimension& largest(RunConfig& config) { return std::get<LargestDimension>(config.sharding.rules[2].placement); }

std::vector<Error> override_errors(const RunConfig& config, const std::vector<std::string>& assignments,
                                   const std::vector<std::string>& known = {}) {
  return errors_of([&] { apply_overrides(config, assignments, known); });
}

}  // namespace

class OverrideTest : public QObject {
  Q_OBJECT

 private slots:
  void each_path_changes_its_value_and_no_other() {
    const PartitionSpec rows{{{"data"}, {}}};
    const PartitionSpec tuple{{{"data", "model"}}};
    auto embedding = [](RunConfig& c, PartitionSpec s) { c.sharding.parameters[0].spec = std::move(s); };
    const std::vector<std::pair<std::string, std::function<void(RunConfig&)>>> cases = {
        {"mesh.data=2", [](RunConfig& c) { c.mesh_axes[0].size = 2; }},
        {"mesh.axes[1].size=8", [](RunConfig& c) { c.mesh_axes[1].size = 8; }},
        {"schedule.rematerialise=full", [](RunConfig& c) { c.schedule.rematerialise = "full"; }},
        {"schedule.rematerialise=[\"mlp\",\"**/ln1/**\"]",
         [](RunConfig& c) { c.schedule.rematerialise = "{mlp,**/ln1/**}"; }},
        {"mesh.axes[1].name=tensor", [](RunConfig& c) { c.mesh_axes[1].name = "tensor"; }},
        {"mesh.axes=[{\"name\":\"x\",\"size\":3}]",
         [](RunConfig& c) {
           c.mesh_axes = {{"x", 3}};
         }},
        {"mesh.devices=[7,6,5,4,3,2,1,0]", [](RunConfig& c) { c.mesh_devices = {7, 6, 5, 4, 3, 2, 1, 0}; }},
        {"model.num_layers=3", [](RunConfig& c) { c.model.options[3].second = int64_t{3}; }},
        {"model.name=mlp", [](RunConfig& c) { c.model.name = "mlp"; }},
        {"model.name=\"m l p\"", [](RunConfig& c) { c.model.name = "m l p"; }},
        {"model.dropout_rate=0", [](RunConfig& c) { c.model.options[5].second = 0.0; }},
        {"data.names=[\"a\",\"d\"]",
         [](RunConfig& c) {
           c.data.options[2].second = TextList{"a", "d"};
         }},
        {"data.names=[]", [](RunConfig& c) { c.data.options[2].second = TextList{}; }},
        {"data.names[1]=d 3",
         [](RunConfig& c) {
           c.data.options[2].second = TextList{"a", "d 3", "c"};
         }},
        {"data.batch_size=16", [](RunConfig& c) { c.data.options[0].second = int64_t{16}; }},
        {"data.seed=3", [](RunConfig& c) { c.data.options[1].second = int64_t{3}; }},
        {"data.kind=tokens", [](RunConfig& c) { c.data.name = "tokens"; }},
        {"optimizer.learning_rate=3e-4", [](RunConfig& c) { c.optimizer.options[0].second = 3e-4; }},
        {"seed=7", [](RunConfig& c) { c.seed = 7; }},
        {"steps=5", [](RunConfig& c) { c.steps = 5; }},
        {"deterministic=false", [](RunConfig& c) { c.deterministic = false; }},
        {"sharding.mode=as_written", [](RunConfig& c) { c.sharding.mode = LayoutMode::as_written; }},
        {"sharding.in=[]", [](RunConfig& c) { c.sharding.in = {}; }},
        {"sharding.out=[[\"data\",\"model\"]]", [&](RunConfig& c) { c.sharding.out = tuple; }},
        {"sharding.memory_limit_mib=512", [](RunConfig& c) { c.sharding.memory_limit_mib = 512; }},
        {"sharding.constraints.**/gelu=[]", [](RunConfig& c) { c.sharding.constraints[0].spec = {}; }},
        {"sharding.constraints.a/b=[\"data\"]",
         [](RunConfig& c) {
           c.sharding.constraints.insert(c.sharding.constraints.begin(), {"a/b", {{{"data"}}}});
         }},
        {"sharding.constraints={}", [](RunConfig& c) { c.sharding.constraints.clear(); }},
        {"sharding.rules[0].spec=[\"data\",null]", [&](RunConfig& c) { c.sharding.rules[0].placement = rows; }},
        {"sharding.rules[0].names=**", [](RunConfig& c) { c.sharding.rules[0].names = "**"; }},
        {"sharding.rules[0].of=[\"inputs\",\"outputs\"]",
         [](RunConfig& c) {
           c.sharding.rules[0].of = {SpecKind::input, SpecKind::output};
         }},
        {"sharding.rules[1].axes.mlp=null", [](RunConfig& c) { logical(c).axes[0].second.clear(); }},
        {"sharding.rules[1].axes.embed=[\"data\",\"model\"]",
         [](RunConfig& c) {
           logical(c).axes[1].second = {"data", "model"};
         }},
        {"sharding.rules[1].axes.heads=data",
         [](RunConfig& c) {
           logical(c).axes.push_back({"heads", {"data"}});
         }},
        {"sharding.rules[2].minimum_bytes=0", [](RunConfig& c) { largest(c).minimum_bytes = 0; }},
        {"sharding.rules[2].largest=model", [](RunConfig& c) { largest(c).axes = {"model"}; }},
        {"sharding.rules[2]={\"largest\":\"model\"}",
         [](RunConfig& c) {
           c.sharding.rules[2] = {"**", LargestDimension{{"model"}, 0}, {SpecKind::parameter}};
         }},
        {"sharding.rules[3]={\"largest\":\"model\"}",
         [](RunConfig& c) {
           c.sharding.rules.push_back({"**", LargestDimension{{"model"}, 0}, {SpecKind::parameter}});
         }},
        {"sharding.rules=[]", [](RunConfig& c) { c.sharding.rules.clear(); }},
        {"optimizer=null", [](RunConfig& c) { c.optimizer = {}; }},
        {"sharding.parameters.params.New_*.kernel=[\"data\",null]",
         [&](RunConfig& c) {
           c.sharding.parameters.insert(c.sharding.parameters.begin(), {{"params", "New_*", "kernel"}, rows});
         }},
        {"sharding.parameters={}", [](RunConfig& c) { c.sharding.parameters.clear(); }},
        {"sharding.parameters.params.Embed_0.embedding=[\"data\",null]", [&](RunConfig& c) { embedding(c, rows); }},
    };
    for (const auto& [assignment, change] : cases) {
      RunConfig expected = preset();
      change(expected);
      RunConfig changed = preset();
      QVERIFY(!(expected == changed));
      try {
        apply_override(changed, assignment);
      } catch (const Failure& failure) {
        QFAIL(failure.what());
      }
      QVERIFY2(changed == expected, (assignment + "\n" + write_run_config(changed)).c_str());
    }
  }

  void overrides_are_judged_together_and_the_last_one_wins() {
    RunConfig config = preset();
    config.mesh_devices = {7, 6, 5, 4, 3, 2, 1, 0};
    config = apply_overrides(config, {"mesh.data=2", "seed=1", "mesh.devices=[3,2,1,0]", "seed=2"});
    QCOMPARE(config.mesh_axes[0].size, 2);
    QCOMPARE(config.seed, 2);
    QCOMPARE(config.mesh_devices.size(), size_t{4});
  }

  void known_paths_add_what_the_file_does_not_name() {
    const std::vector<std::string> known = {"model.use_bias",
                                            "optimizer.b1",
                                            "data.path",
                                            "data.odd",
                                            "sharding.parameters.params.New_0.kernel",
                                            R"(sharding.parameters.params["layer.0"].kernel)"};
    const RunConfig config = apply_overrides(preset(),
                                             {"model.use_bias=true", "optimizer.b1=0.5", "data.path=a/b.txt",
                                              "data.odd=x=y", "sharding.parameters.params.New_0.kernel=[null,\"data\"]",
                                              R"(sharding.parameters.params["layer.0"].kernel=["data"])"},
                                             known);
    QVERIFY(*config.model.find("use_bias") == OptionValue(true));
    QVERIFY(*config.optimizer.find("b1") == OptionValue(0.5));
    QVERIFY(*config.data.find("path") == OptionValue(std::string("a/b.txt")));
    QVERIFY(*config.data.find("odd") == OptionValue(std::string("x=y")));
    QVERIFY(spec_of(config, {"params", "New_0", "kernel"}) == (PartitionSpec{{{}, {"data"}}}));
    QVERIFY(spec_of(config, {"params", "layer.0", "kernel"}) == (PartitionSpec{{{"data"}}}));
    for (const std::string& path : known)
      QCOMPARE(override_errors(preset(), {path + "=[\"data\"]"})[0].code, std::string("unknown_path"));
  }

  void an_optimizer_can_be_taken_away_and_given() {
    const RunConfig none = apply_overrides(preset(), {"optimizer=null"});
    QVERIFY(none.optimizer.name.empty());
    QVERIFY(apply_overrides(none, {"optimizer=null"}) == none);
    QCOMPARE(apply_overrides(none, {"optimizer.name=sgd"}).optimizer.name, std::string("sgd"));
    QCOMPARE(override_errors(none, {"optimizer.learning_rate=1"}, {"optimizer.learning_rate"})[0].code,
             std::string("missing_key"));
  }

  void what_is_made_again_changes_between_a_name_and_a_list() {
    const char* list = "schedule.rematerialise=[\"mlp\",\"**/ln1/**\"]";
    const RunConfig listed = apply_overrides(preset(), {list});
    QVERIFY(apply_overrides(listed, {"schedule.rematerialise=none"}) == preset());
    QVERIFY(apply_overrides(apply_overrides(preset(), {"schedule.rematerialise=full"}), {list}) == listed);
  }

  void an_added_pattern_decides_before_those_of_the_file() {
    RunConfig config = preset();
    config.sharding.parameters = {{{"params", "Block_*", "kernel"}, {{{"model"}}}}};
    config = apply_overrides(config, {"sharding.parameters.params.Block_1*.kernel=[\"data\"]"});
    QCOMPARE(join_path(find_parameter_spec(config.sharding, {"params", "Block_12", "kernel"})->path),
             std::string("params/Block_1*/kernel"));
    QCOMPARE(join_path(find_parameter_spec(config.sharding, {"params", "Block_2", "kernel"})->path),
             std::string("params/Block_*/kernel"));
  }

  void bad_overrides_are_all_reported_each_at_its_place() {
    struct Case {
      std::string assignment, code, where, hint;
    };
    const std::vector<Case> cases = {
        {"model.num_layers=2.5", "wrong_type", "--set model.num_layers", "2"},
        {"model.num_layers=two", "wrong_type", "--set model.num_layers", ""},
        {"model.layers=2", "unknown_path", "--set model.layers", "model.num_layers"},
        {"data.names=a", "wrong_type", "--set data.names", "[\"a\", \"b\", \"c\"]"},
        {"data.names=[\"a\", 2]", "wrong_type", "--set data.names[1]", ""},
        {"data.names[3]=d", "unknown_path", "--set data.names[3]", "data.names"},
        {"mesh.dat=2", "unknown_path", "--set mesh.dat", "mesh.data"},
        {"model=5", "unknown_path", "--set model", "model.name"},
        {"nothing.like.that=5", "unknown_path", "--set nothing.like.that", "sharding"},
        {"steps", "no_value", "--set steps", "PATH=VALUE"},
        {"sharding.out=", "no_value", "--set sharding.out", "PATH=VALUE"},
        {"deterministic=yes", "wrong_type", "--set deterministic", ""},
        {"sharding.in=data", "wrong_type", "--set sharding.in", "[\"data\", null]"},
        {"sharding.in=[1]", "wrong_type", "--set sharding.in[0]", ""},
        {"optimizer.learning_rate=fast", "wrong_type", "--set optimizer.learning_rate", ""},
        {"optimizer.learning_rate=NaN", "wrong_type", "--set optimizer.learning_rate", ""},
        {"data.kind=\xff", "not_utf8", "--set data.kind", ""},
        {"sharding.parameters.params.Embed_0=[]", "unknown_path", "--set sharding.parameters.params.Embed_0",
         "sharding.parameters.params.Embed_0.embedding"},
        {"mesh.data=0", "axis_size", "--set mesh.data", ""},
        {"schedule.rematerialise=[]", "out_of_range", "--set schedule.rematerialise", "**/gelu"},
        {"schedule.rematerialise=[\"mlp\",1]", "wrong_type", "--set schedule.rematerialise[1]", ""},
        {"mesh.model=1000000000000", "device_count", "--set mesh.model: mesh.axes", ""},
        {"seed=-1", "out_of_range", "--set seed", "0 to"},
        {"steps=99999999999999999999", "out_of_range", "--set steps", ""},
        {"data.seed=99999999999999999999", "out_of_range", "--set data.seed", ""},
        {"sharding.mode=fastes", "unknown_mode", "--set sharding.mode", "fastest"},
        {"schedule.overlap=of", "unknown_mode", "--set schedule.overlap", "off"},
        {"sharding.parameters={\"params\": {\"a\": [1]}}", "wrong_type", "--set sharding.parameters.params.a[0]", ""},
        {"sharding.rules[3].names=a", "unknown_path", "--set sharding.rules[3].names", "sharding.rules"},
        {"sharding.rules[4]={}", "unknown_path", "--set sharding.rules[4]", "sharding.rules"},
        {"sharding.rules[0].colour=1", "unknown_path", "--set sharding.rules[0].colour", "sharding.rules"},
        {"sharding.rules[0].spec=data", "wrong_type", "--set sharding.rules[0].spec", "write [\"data\"]"},
        {"sharding.rules[0].largest=data", "two_placements", "--set sharding.rules[0].largest", "two rules"},
        {"sharding.rules[1].axes.mlp=2", "wrong_type", "--set sharding.rules[1].axes.mlp", ""},
        {"sharding.rules[2].of=optimiser", "unknown_kind", "--set sharding.rules[2].of", "'optimizer'"},
        {"sharding.memory_limit_mib=0", "out_of_range", "--set sharding.memory_limit_mib", "1 to"},
        {"sharding.memory_limit_mib=much", "wrong_type", "--set sharding.memory_limit_mib", ""},
        {"sharding.constraints.x=data", "wrong_type", "--set sharding.constraints.x", "[\"data\""},
        {"mesh.devices=[0,0]", "device_order", "--set mesh.devices", "0..7"},
        {"model.name=" + std::string(100000, 'x'), "too_long", "--set model.name", "10000"},
        {std::string(100000, 'x') + "=1", "too_long", "--set " + std::string(100, 'x'), "10000"},
        {"mesh.axes[0].name=" + std::string(200, 'x'), "axis_name", "--set mesh.axes[0].name", "at most 100"},
    };
    std::vector<std::string> at_once;
    for (const Case& bad : cases) {
      const std::vector<Error> errors = override_errors(preset(), {bad.assignment});
      QVERIFY2(errors.size() == 1, bad.assignment.c_str());
      QCOMPARE(errors[0].code, bad.code);
      QCOMPARE(to_string(errors[0].place), bad.where);
      QVERIFY2(errors[0].hint.find(bad.hint) != std::string::npos, to_string(errors[0]).c_str());
      if (!bad.assignment.starts_with("mesh.")) at_once.push_back(bad.assignment);
    }
    std::erase(at_once, "steps=99999999999999999999");
    std::erase(at_once, "schedule.rematerialise=[]");
    std::erase(at_once, "sharding.rules[0].largest=data");  // of a rule that places twice nothing more is said
    QCOMPARE(override_errors(preset(), at_once).size(), at_once.size());
  }

  void a_bad_override_leaves_the_config_as_it_was() {
    RunConfig config = preset();
    QVERIFY_THROWS_EXCEPTION(Failure, apply_override(config, "mesh.data=-4"));
    QVERIFY(config == preset());
  }

  void every_listed_path_can_be_set() {
    test::RandomConfigs configs(5);
    for (int i = 0; i < 200; ++i) {
      const RunConfig config = i == 0 ? preset() : configs.next();
      const std::vector<std::string> paths = config_paths(config);
      QVERIFY(paths.size() >= 12);
      for (const std::string& path : paths) {
        const std::vector<Error> errors = override_errors(config, {path + "=?"});
        for (const Error& error : errors) QVERIFY2(error.code != "unknown_path", to_string(error).c_str());
      }
      for (const ParameterSpec& parameter : config.sharding.parameters) {
        const RunConfig changed = apply_overrides(config, {parameter_place(parameter) + "=[\"only\"]"});
        QVERIFY(spec_of(changed, parameter.path) == (PartitionSpec{{{"only"}}}));
      }
    }
  }

  void every_key_of_the_tables_can_be_set() {
    StrategyConfig two_replicas;
    two_replicas.data = 2;
    int keys = 0;
    for (const RunConfig& config : {preset(), with_strategy(preset(), two_replicas)}) {
      const JsonNode& sections = *run_type(true).schema.find("properties");
      for (size_t i = 0; i < sections.items.size(); ++i) {
        const std::string& section = sections.keys[i];
        if (config.strategy ? section == "mesh" : section == "strategy") continue;
        for (const std::string& key : keys_of(sections.items[i])) {
          if (config.strategy && section == "pipeline" && key != "layers") continue;
          const std::vector<Error> errors = override_errors(config, {section + "." + key + "=?"});
          for (const Error& error : errors) QVERIFY2(error.code != "unknown_path", to_string(error).c_str());
          ++keys;
        }
      }
    }
    QVERIFY(keys > 50);
  }

  void any_text_is_an_override_or_a_failure() {
    test::RandomConfigs random(6);
    const RunConfig config = preset();
    const std::vector<std::string> paths = config_paths(config);
    const std::string values[] = {"1", "[", "{}", "[[[]]]", "\"", "1e999", "-0", "null", "", "[null,1]", "\xc3"};
    for (int i = 0; i < 2000; ++i) {
      std::string text =
          paths[static_cast<size_t>(random.below(static_cast<int>(paths.size())))] + "=" + values[random.below(11)];
      if (random.below(2))
        text[static_cast<size_t>(random.below(static_cast<int>(text.size())))] = static_cast<char>(random.below(256));
      try {
        const RunConfig changed = apply_overrides(config, {text}, {"model.extra"});
        QVERIFY(parse_run_config(write_run_config(changed), "") == changed);
      } catch (const Failure& failure) {
        QVERIFY(!failure.errors().empty());
      }
    }
  }
};

REGISTER_TEST(OverrideTest)

}  // namespace override_test

#include "override_test.moc"
