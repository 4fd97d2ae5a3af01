#include "engine/session/step_line.h"

#include <QtTest>
#include <nlohmann/json.hpp>

#include "tests/test_program.h"

namespace step_line_test {

using namespace shardscope;

class StepLineTest : public QObject {
  Q_OBJECT

 private slots:
  void a_message_with_bytes_that_are_no_text_is_a_line_of_json() {
    const std::string line = json_line(RestartMessage{1, 0, {2, "", "", "cannot write /tmp/caf\xe9/x"}});
    QVERIFY(line.ends_with('\n'));
    QCOMPARE(nlohmann::json::parse(line)["message"].get<std::string>(),
             std::string("cannot write /tmp/caf\xef\xbf\xbd/x"));
  }
};

REGISTER_CORE_TEST(StepLineTest)

}  // namespace step_line_test

#include "step_line_test.moc"
