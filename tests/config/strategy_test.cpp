#include "engine/config/strategy.h"

#include <fmt/format.h>

#include <QTest>
#include <algorithm>
#include <numeric>
#include <random>

#include "engine/config/override.h"
#include "engine/config/parse.h"
#include "engine/config/run_document.h"
#include "engine/config/run_file_keys.h"
#include "engine/config/write.h"
#include "engine/mesh/device_count.h"
#include "tests/base/errors_of.h"
#include "tests/config/random_config.h"
#include "tests/config/random_strategy.h"
#include "tests/test_program.h"

namespace strategy_test {

using namespace shardscope;

namespace {

std::string file_of(const std::string& strategy, const std::string& more = "") {
  return "{\"model\": {\"name\": \"m\"},\n\"strategy\": " + strategy + ",\n" + more +
         "\"data\": {\"kind\": \"d\", \"batch_size\": 64}, \"seed\": 0, \"steps\": 1}";
}

RunConfig config_of(const std::string& strategy, const std::string& more = "") {
  return parse_run_config(file_of(strategy, more), "f.json");
}

}  // namespace

class StrategyTest : public QObject {
  Q_OBJECT

 private slots:
  void a_strategy_stands_for_a_mesh_sharding_pipeline_and_schedule() {
    const RunConfig config = config_of(
        R"({"data": 4, "tensor": 8, "pipeline": 2, "virtual_stages": 2, "sequence_parallel": true, "zero": 1,
            "microbatch_size": 2, "recompute": "selective"})");
    const std::vector<MeshAxis> axes = {{"pipeline", 2}, {"data", 4}, {"tensor", 8}};
    QVERIFY(config.mesh_axes == axes);
    QVERIFY(config.sharding.mode == LayoutMode::as_written);
    QVERIFY(config.sharding.in == (PartitionSpec{{{"data"}}}));
    QVERIFY(config.sharding.zero == (ZeroConfig{1, {"data"}}));
    QCOMPARE(config.schedule.microbatches, int64_t{8});
    QCOMPARE(config.schedule.rematerialise, std::string("attention"));
    QVERIFY(config.pipeline == (PipelineConfig{"pipeline", "interleaved", 2, {}}));
    QCOMPARE(config.sharding.rules.size(), size_t{7});
    QVERIFY(config.sharding.rules[2].dimensions == (std::vector<std::string>{"batch", "length", "embed"}));
  }

  void an_order_is_that_of_the_mesh() {
    const RunConfig config = config_of(R"({"data": 4, "tensor": 8, "fsdp": 2, "order": ["tensor", "data", "fsdp"]})");
    const std::vector<MeshAxis> axes = {{"tensor", 8}, {"data", 4}, {"fsdp", 2}};
    QVERIFY(config.mesh_axes == axes);
    QVERIFY(config.sharding.zero == (ZeroConfig{3, {"fsdp"}}));
  }

  void a_strategy_that_was_written_is_read_again_with_all_that_it_stands_for() {
    test::RandomConfigs configs(3);
    test::RandomStrategies strategies(4, 4096);
    for (int i = 0; i < 1000; ++i) {
      const StrategyConfig strategy = strategies.next();
      const RunConfig config = with_strategy(configs.next(), strategy);
      QCOMPARE(device_count(config.mesh_axes), strategy.devices());
      const std::string text = write_run_config(config);
      const RunConfig again = parse_run_config(text, "f.json");
      QVERIFY2(again == config, text.c_str());
      QVERIFY(again.strategy == strategy);
      QVERIFY(expand_strategy(*without_expansion(config)) == config);
      RunConfig expanded = config;
      expanded.strategy.reset();
      QVERIFY(parse_run_config(write_run_config(expanded), "f.json") == expanded);
    }
  }

  void values_that_do_not_follow_from_the_strategy_are_written_without_it() {
    RunConfig config = config_of(R"({"data": 4, "tensor": 2})");
    config.mesh_axes[0].size = 8;
    RunConfig expected = config;
    expected.strategy.reset();
    QVERIFY(!without_expansion(config));
    QVERIFY(parse_run_config(write_run_config(config), "f.json") == expected);
  }

  void a_key_that_contradicts_a_strategy_is_an_error_at_both_places_data() {
    QTest::addColumn<QString>("strategy");
    QTest::addColumn<QString>("more");
    QTest::addColumn<QString>("place");
    QTest::addColumn<QString>("by");
    QTest::newRow("mesh") << R"({"data": 4})"
                          << R"("mesh": {"axes": [{"name": "data", "size": 8}]},)"
                          << "mesh.axes"
                          << "strategy";
    QTest::newRow("in") << R"({"data": 4})"
                        << R"("sharding": {"in": [null, "data"]},)"
                        << "sharding.in"
                        << "strategy";
    QTest::newRow("zero") << R"({"data": 4, "zero": 1})"
                          << R"("sharding": {"zero": {"stage": 2}},)"
                          << "sharding.zero"
                          << "strategy.zero";
    QTest::newRow("microbatches") << R"({"microbatch_size": 4})"
                                  << R"("schedule": {"microbatches": 16},)"
                                  << "schedule.microbatches"
                                  << "strategy.microbatch_size";
    QTest::newRow("recompute") << R"({"recompute": "full"})"
                               << R"("schedule": {"rematerialise": "mlp"},)"
                               << "schedule.rematerialise"
                               << "strategy.recompute";
    QTest::newRow("axis") << R"({"pipeline": 2})"
                          << R"("pipeline": {"axis": "stages"},)"
                          << "pipeline.axis"
                          << "strategy.pipeline";
    QTest::newRow("schedule") << R"({"pipeline": 2})"
                              << R"("pipeline": {"axis": "pipeline", "schedule": "gpipe"},)"
                              << "pipeline.schedule"
                              << "strategy.pipeline_schedule";
    QTest::newRow("chunks") << R"({"pipeline": 2})"
                            << R"("pipeline": {"axis": "pipeline", "chunks": 3},)"
                            << "pipeline.chunks"
                            << "strategy.virtual_stages";
  }
  void a_key_that_contradicts_a_strategy_is_an_error_at_both_places() {
    QFETCH(QString, strategy);
    QFETCH(QString, more);
    QFETCH(QString, place);
    QFETCH(QString, by);
    const auto errors = errors_of([&] { config_of(strategy.toStdString(), more.toStdString() + "\n"); });
    QCOMPARE(errors.size(), size_t{2});
    QVERIFY(errors[0].place == in_file("f.json", 3, 0, place.toStdString()));
    QVERIFY(errors[1].place == in_file("f.json", 2, 0, by.toStdString()));
    for (const Error& error : errors) QCOMPARE(error.code, std::string("contradiction"));
    QVERIFY(errors[0].message.find("(line 2)") != std::string::npos);
    QVERIFY(errors[1].message.find("(line 3)") != std::string::npos);
  }

  void beside_a_strategy_a_pipeline_needs_no_axis() {
    const char* const strategy = R"({"data": 2, "pipeline": 2})";
    const RunConfig config = config_of(strategy, R"("pipeline": {"layers": [3, 1]},)");
    QVERIFY(config == config_of(strategy, R"("pipeline": {"axis": "pipeline", "layers": [3, 1]},)"));
    QCOMPARE(config.pipeline.axis, std::string("pipeline"));
    QVERIFY(parse_run_config(write_run_config(config), "f.json") == config);
  }

  void beside_a_strategy_a_mesh_orders_the_devices_of_the_same_grid() {
    test::RandomConfigs configs(5);
    test::RandomStrategies strategies(6, 64);
    std::mt19937 random(7);
    for (int i = 0; i < 300; ++i) {
      RunConfig config = with_strategy(configs.next(), strategies.next());
      config.mesh_devices.resize(static_cast<size_t>(config.strategy->devices()));
      std::iota(config.mesh_devices.begin(), config.mesh_devices.end(), 0);
      const RunConfig in_order = parse_run_config(write_run_config(config), "f.json");
      std::ranges::shuffle(config.mesh_devices, random);
      const std::string text = write_run_config(config);
      const JsonNode document = read_json(text, "");
      const JsonNode* mesh = document.find("mesh");
      QVERIFY2(mesh && mesh->find("devices") && !mesh->find("axes"), text.c_str());
      QVERIFY2(parse_run_config(text, "f.json") == config, text.c_str());
      RunConfig expanded = config;
      expanded.strategy.reset();
      QVERIFY(parse_run_config(write_run_config(expanded), "f.json") == expanded);
      const std::string order = print_json_line(*mesh->find("devices"));
      QVERIFY(apply_overrides(in_order, {"mesh.devices=" + order}) == config);
      RunConfig plain = config;
      plain.mesh_devices.clear();
      QVERIFY(apply_overrides(plain, {"mesh.devices=" + order}) == config);
      QVERIFY(apply_overrides(config, {"mesh.devices=[]"}) == plain);
    }
  }

  void an_order_of_other_devices_than_those_of_the_strategy_is_an_error() {
    for (const auto& [strategy, code] : std::vector<std::pair<const char*, std::string>>{
             {R"({"data": 2})", "device_order"}, {R"({"data": "2"})", "wrong_type"}, {"2", "wrong_type"}}) {
      for (const char* devices : {"[0, 1, 2, 3]", "[0, 0]", "[1]"}) {
        const std::string mesh = fmt::format("\"mesh\": {{\"devices\": {}}},", devices);
        const auto errors = errors_of([&] { config_of(strategy, mesh); });
        QVERIFY2(errors.size() == 1 && errors[0].code == code, Failure(errors).what());
      }
    }
  }

  void texts_name_rules_of_a_strategy_as_the_run_file_does() {
    QCOMPARE(in_words_of_strategy("sharding.rules[2].axes.batch wants x; sharding.rules[1].axes.mlp: a", 2),
             std::string("strategy (batch) wants x; sharding.rules[1].axes.mlp: a"));
    QCOMPARE(in_words_of_strategy("you set it in sharding.rules[10]", 0), std::string("you set it in strategy"));
    QCOMPARE(in_words_of_strategy("sharding.rules[0].axes.heads: heads -> tensor", 0),
             std::string("strategy (heads): heads -> tensor"));
    for (const char* other : {"sharding.rules[", "sharding.rules[x] 1", "sharding.rules[1", "sharding.zero"})
      QCOMPARE(in_words_of_strategy(other, 0), std::string(other));
  }

  void what_agrees_with_a_strategy_may_be_said_besides() {
    const RunConfig config =
        config_of(R"({"data": 2, "pipeline": 2})",
                  R"("mesh": {"axes": [{"name": "pipeline", "size": 2}, {"name": "data", "size": 2}],
                      "devices": [0, 2, 1, 3]}, "sharding": {"mode": "fastest", "in": ["data"], "out": ["data"],
                      "memory_limit_mib": 7}, "pipeline": {"axis": "pipeline", "layers": [3, 1]},
                      "schedule": {"microbatches": 4, "rematerialise": "full"},)");
    QVERIFY(config.sharding.mode == LayoutMode::fastest);
    QVERIFY(config.mesh_devices == (std::vector<int>{0, 2, 1, 3}));
    QVERIFY(config.pipeline.layers == (std::vector<int64_t>{3, 1}));
    QCOMPARE(config.schedule.microbatches, int64_t{4});
    QVERIFY(parse_run_config(write_run_config(config), "f.json") == config);
  }

  void a_mode_alone_is_written_and_read_again() {
    for (const LayoutMode mode : {LayoutMode::as_written, LayoutMode::fastest}) {
      RunConfig config = config_of(R"({"data": 4, "tensor": 2})");
      config.sharding.mode = mode;
      for (const bool whole : {false, true}) {
        const std::string text = whole ? print_json(to_whole_run_document(config)) : write_run_config(config);
        QVERIFY2(parse_run_config(text, "f.json") == config, text.c_str());
      }
    }
  }

  void its_policies_of_recomputing_are_those_of_a_schedule() {
    QCOMPARE(recompute_policies().size(), run_file::rematerialise_policies().size());
    for (size_t i = 0; i < recompute_policies().size(); ++i) {
      const std::string &own = recompute_policies()[i], &of_schedule = run_file::rematerialise_policies()[i];
      QCOMPARE(config_of("{\"recompute\": \"" + own + "\"}").schedule.rematerialise, of_schedule);
      QCOMPARE(recompute_of(of_schedule), own);
    }
  }

  void its_numbers_are_settings() {
    const RunConfig config = config_of(R"({"data": 4, "tensor": 2})");
    const RunConfig changed = apply_overrides(
        config, {"strategy.tensor=8", "strategy.microbatch_size=2", "strategy.recompute=full",
                 R"(strategy.order=["tensor", "data"])", "sharding.mode=fastest", "schedule.overlap=off"});
    QVERIFY(changed == config_of(R"({"data": 4, "tensor": 8, "microbatch_size": 2, "recompute": "full",
                                     "order": ["tensor", "data"]})",
                                 R"("sharding": {"mode": "fastest"}, "schedule": {"overlap": "off"},)"));
    for (const char* wrong : {"strategy.tensor=0", "strategy.tensor=x", "strategy.tensors=2", "strategy.zero=4",
                              "strategy.order=[\"up\"]", "mesh.data=8"}) {
      QCOMPARE(errors_of([&] { apply_overrides(config, {wrong}); }).size(), size_t{1});
    }
  }

  void layers_are_settings_beside_a_strategy_and_keep_no_number_of_it() {
    const char* const layers = R"("pipeline": {"layers": [3, 1]},)";
    const RunConfig plain = config_of(R"({"pipeline": 2})"), one_stage = config_of("{}");
    const RunConfig with_layers = config_of(R"({"pipeline": 2})", layers);
    QVERIFY(apply_overrides(plain, {"pipeline.layers=[3,1]"}) == with_layers);
    QVERIFY(apply_overrides(one_stage, {"strategy.pipeline=2", "pipeline.layers=[3,1]"}) == with_layers);
    QVERIFY(apply_overrides(one_stage, {"pipeline.layers=[3,1]", "strategy.pipeline=2"}) == with_layers);
    QVERIFY(apply_overrides(with_layers, {"pipeline.layers=[]"}) == plain);
    QVERIFY(apply_overrides(with_layers, {"strategy.pipeline_schedule=gpipe"}) ==
            config_of(R"({"pipeline": 2, "pipeline_schedule": "gpipe"})", layers));
    QVERIFY(apply_overrides(with_layers, {"strategy.virtual_stages=2", "pipeline.layers=[1,1,1,1]"}) ==
            config_of(R"({"pipeline": 2, "virtual_stages": 2})", R"("pipeline": {"layers": [1, 1, 1, 1]},)"));
    for (const char* said : {"axis", "schedule", "chunks"})
      QVERIFY(!read_json(write_run_config(with_layers), "").find("pipeline")->find(said));
    QVERIFY(!read_json(write_run_config(plain), "").find("pipeline"));
  }

  void a_value_of_the_expansion_has_its_place_in_the_strategy() {
    const RunConfig config = config_of(R"({"data": 4, "tensor": 2, "zero": 1, "microbatch_size": 4})",
                                       R"("sharding": {"rules": [{"axes": {"a": "data"}}]},)");
    const auto place = [&](const char* path) { return strategy_place(config, path); };
    QCOMPARE(place("mesh.axes[1].size"), std::string("strategy.tensor"));
    QCOMPARE(place("sharding.rules[0].axes.a"), std::string("sharding.rules[0].axes.a"));
    QCOMPARE(place("sharding.rules[1].axes.mlp"), std::string("strategy"));
    QCOMPARE(place("sharding.zero"), std::string("strategy.zero"));
    QCOMPARE(place("schedule.microbatches"), std::string("strategy.microbatch_size"));
    QCOMPARE(place("data.batch_size"), std::string("data.batch_size"));
  }
};

REGISTER_TEST(StrategyTest)

}  // namespace strategy_test

#include "strategy_test.moc"
