#include <QTest>
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "engine/config/parse.h"
#include "engine/config/run_keys.h"
#include "engine/config/write.h"
#include "tests/base/errors_of.h"
#include "tests/config/json_schema.h"
#include "tests/config/random_config.h"
#include "tests/test_program.h"

namespace schema_test {

using namespace shardscope;
using nlohmann::json;
using test::accepts, test::collect;
namespace fs = std::filesystem;

namespace {

const fs::path root = SHARDSCOPE_SOURCE_DIR;

json read(const fs::path& path) { return json::parse(std::ifstream(path)); }

const json& schema() {
  static const json whole = json::parse(print_json(run_schema()));
  return whole;
}

// Codes of what a schema cannot say: it takes comparing two values.
bool is_structural(const std::vector<Error>& errors) {
  static const std::set<std::string> relations = {"duplicate_axis", "device_order", "device_count", "mesh_axes",
                                                  "contradiction"};
  return std::any_of(errors.begin(), errors.end(), [](const Error& e) { return !relations.contains(e.code); });
}

std::vector<Error> parse_errors(const std::string& text) {
  return errors_of([&] { parse_run_config(text, "f"); });
}

}  // namespace

class SchemaTest : public QObject {
  Q_OBJECT

 private slots:
  void every_preset_and_every_written_config_is_accepted() {
    int presets = 0;
    for (const auto& entry : fs::directory_iterator(root / "presets")) {
      if (entry.path().extension() != ".json") continue;
      QVERIFY2(accepts(schema(), schema(), read(entry.path())), entry.path().c_str());
      ++presets;
    }
    QVERIFY(presets >= 2);
    test::RandomConfigs configs(8);
    for (int i = 0; i < 500; ++i) {
      const std::string text = write_run_config(configs.next());
      QVERIFY2(accepts(schema(), schema(), json::parse(text)), text.c_str());
    }
  }

  void schema_and_parser_agree_on_any_changed_value() {
    const std::vector<json> values = {nullptr,
                                      true,
                                      0,
                                      1,
                                      -1,
                                      2.5,
                                      1e30,
                                      "",
                                      "data",
                                      json::array(),
                                      json::array({1}),
                                      json::array({nullptr, "model"}),
                                      json::array({json::array({"data"})}),
                                      json::object(),
                                      65537,
                                      9223372036854775807};
    const json preset = [] {
      json whole = read(root / "presets" / "parallax_decoder.json");
      whole["mesh"]["devices"] = {0, 1, 2, 3, 4, 5, 6, 7};
      whole["sharding"]["mesh_axes"] = {"data", "model"};
      whole["sharding"]["memory_limit_mib"] = 512;
      whole["sharding"]["constraints"] = {{"**/gelu", {"data", nullptr, "model"}}};
      whole["sharding"]["rules"] = json::parse(R"([
        {"names": "params/**/kernel", "spec": ["model", null]},
        {"axes": {"batch": "data", "embed": null, "heads": ["data", "model"]}, "of": ["activations", "inputs"]},
        {"names": ["a*", "a/{b,c}"], "largest": "data", "minimum_bytes": 4096, "of": "optimizer"},
        {"largest": ["data", "model"]}])");
      whole["schedule"] = {{"microbatches", 2}, {"rematerialise", {"mlp", "**/ln1/**"}}};
      return whole;
    }();
    std::vector<json::json_pointer> places;
    collect(preset, json::json_pointer(), places);
    int accepted = 0, refused = 0;
    auto check = [&](const json& document) {
      const std::vector<Error> errors = parse_errors(document.dump());
      const bool by_schema = accepts(schema(), schema(), document);
      if (errors.empty()) QVERIFY2(by_schema, document.dump().c_str());
      if (is_structural(errors)) QVERIFY2(!by_schema, Failure(errors).what());
      ++(by_schema ? accepted : refused);
    };
    for (const json::json_pointer& place : places) {
      for (const json& value : values) {
        json changed = preset;
        changed[place] = value;
        check(changed);
        if (!preset[place].is_object()) continue;
        changed = preset;
        changed[place]["extra"] = value;
        check(changed);
      }
      if (place.empty() || preset[place.parent_pointer()].is_array()) continue;
      json changed = preset;
      changed[place.parent_pointer()].erase(place.back());
      check(changed);
    }
    QVERIFY(accepted > 100 && refused > 1000);
  }
};

REGISTER_TEST(SchemaTest)

}  // namespace schema_test

#include "schema_test.moc"
