#include <QTest>
#include <nlohmann/json.hpp>

#include "engine/cli/plan_report.h"
#include "engine/machine/machine_library.h"
#include "tests/compile/system_preset.h"
#include "tests/test_program.h"

namespace plan_json_test {

using namespace shardscope;
using namespace shardscope::test;

class PlanJsonTest : public QObject {
  Q_OBJECT

 private slots:
  void the_messages_of_a_pipeline_take_what_its_stages_take_to_receive_them() {
    int pipelines = 0;
    for (const char* preset : {"workshop_gpipe", "workshop_1f1b", "workshop_interleaved", "workshop_zero_bubble"}) {
      for (const Machine& machine : {reference_host(), *library_machine("dgx_h100")}) {
        const auto json = nlohmann::json::parse(plan_json(compile({system_run(preset, {}), machine})));
        double sent = 0, received = 0;
        for (const auto& exchange : json["collectives"])
          if (exchange["kind"] == "send") sent += exchange["seconds"].get<double>() * exchange["count"].get<double>();
        for (const auto& stage : json["work"])
          for (const auto& family : stage)
            if (family["family"] == "receive") received += family["seconds"].get<double>();
        QVERIFY2(received > 0 && std::abs(sent - received) <= 1e-9 * received, preset);
        ++pipelines;
      }
    }
    QCOMPARE(pipelines, 8);
  }
};

REGISTER_TEST(PlanJsonTest)

}  // namespace plan_json_test

#include "plan_json_test.moc"
