#include <QTest>

#include "engine/base/error.h"
#include "tests/program/random_program.h"
#include "tests/test_program.h"

namespace verify_test {

using namespace shardscope;
using namespace shardscope::test;

class VerifyTest : public QObject {
  Q_OBJECT

 private slots:
  void an_instruction_says_why_of_no_more_arrays_than_it_moves() {
    RandomPrograms programs(5);
    int collectives = 0;
    for (int i = 0; i < 50; ++i) {
      RandomProgram one = programs.next();
      for (Instruction& instruction : one.task().instructions) {
        CollectiveStart* start = instruction.as<CollectiveStart>();
        if (!start) continue;
        ++collectives;
        start->moved.resize(start->operands.size());
        verify(one.program, one.graph, one.mesh);
        start->moved.resize(start->operands.size() + 1);
        QVERIFY_EXCEPTION_THROWN(verify(one.program, one.graph, one.mesh), Failure);
        start->moved.clear();
      }
    }
    QVERIFY(collectives > 50);
  }
};

REGISTER_TEST(VerifyTest)

}  // namespace verify_test

#include "verify_test.moc"
