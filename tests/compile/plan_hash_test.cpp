#include "engine/compile/plan_hash.h"

#include <QTest>
#include <fstream>
#include <nlohmann/json.hpp>

#include "engine/compile/compile.h"
#include "engine/config/parse.h"
#include "engine/config/write.h"
#include "engine/machine/host_machine.h"
#include "tests/test_program.h"

namespace plan_hash_test {

using namespace shardscope;
using Json = nlohmann::json;

namespace {

std::string preset_path(const std::string& name) { return SHARDSCOPE_SOURCE_DIR "/presets/" + name + ".json"; }

}  // namespace

// tests/golden/plan_hashes.json: the hash of each preset's plan for reference_host(). Where they differ, the lines that
// it would have are printed. Those of mode fastest were written when it was called cheapest.
class PlanHashTest : public QObject {
  Q_OBJECT

 private slots:
  void presets_have_the_plans_that_they_had() {
    const Json golden = Json::parse(std::ifstream(SHARDSCOPE_SOURCE_DIR "/tests/golden/plan_hashes.json"));
    std::string other;
    int fastest = 0;
    for (const auto& [name, hash] : golden.items()) {
      const RunConfig config = load_run_file(preset_path(name));
      fastest += config.sharding.mode == LayoutMode::fastest;
      const std::string own = fmt::format("{:016x}", compile({config, reference_host()}).hash);
      if (own != hash.get<std::string>()) other += fmt::format("\"{}\": \"{}\"\n", name, own);
    }
    QVERIFY2(other.empty(), other.c_str());
    QVERIFY(fastest >= 5 && fastest < static_cast<int>(golden.size()));
  }

  void a_run_file_that_says_cheapest_has_the_plan_of_fastest_and_is_written_so() {
    const RunConfig config = load_run_file(preset_path("mintext_mlp"));
    std::string text = write_run_config(config);
    const size_t at = text.find("\"fastest\"");
    QVERIFY(at != std::string::npos);
    const RunConfig former = parse_run_config(text.replace(at, 9, "\"cheapest\""), "f");
    QVERIFY(former == config);
    QCOMPARE(compile({former, reference_host()}).hash, compile({config, reference_host()}).hash);
    QVERIFY(write_run_config(former).find("cheapest") == std::string::npos);
  }
};

REGISTER_TEST(PlanHashTest)

}  // namespace plan_hash_test

#include "plan_hash_test.moc"
