#include <QFile>
#include <QTemporaryDir>

#include "engine/base/instruction_set.h"
#include "tests/cli/program.h"

namespace instruction_set_test {

using namespace shardscope;

namespace {

constexpr const char* low = "x86-64-v3";

// Two data-parallel replicas train for three steps, each held to an instruction set (empty: its own).
class Training {
 public:
  explicit Training(const QStringList& sets) {
    QStringList arguments{"--oversubscribe", "--bind-to", "none", "--allow-run-as-root", "--mca", "btl", "self,tcp"};
    for (const QString& set : sets) {
      if (&set != &sets.front()) arguments << ":";
      arguments << "-n"
                << "1";
      if (!set.isEmpty())
        arguments << "-x"
                  << "SHARDSCOPE_INSTRUCTION_SET=" + set;
      arguments << QCoreApplication::applicationFilePath() << "train" << preset("tiny_lm_dp") << "--steps"
                << "3"
                << "--set"
                << "mesh.data=2"
                << "--parameters" << folder_.filePath("parameters");
    }
    QProcess process;
    process.start("mpirun", arguments);
    result_ = finish(process);
    QFile file(folder_.filePath("parameters"));
    if (file.open(QIODevice::ReadOnly)) parameters_ = file.readAll();
  }

  const ProgramResult& result() const { return result_; }
  const QByteArray& parameters() const { return parameters_; }

 private:
  QTemporaryDir folder_;
  ProgramResult result_;
  QByteArray parameters_;
};

}  // namespace

class InstructionSetTest : public QObject {
  Q_OBJECT

 private slots:
  void replicas_on_different_processors_hold_the_bits_of_the_lesser_one() {
    if (processor_instruction_set() <= *instruction_set(low)) QSKIP("this processor has no more than x86-64-v3");
    const Training both({low, low}), first({low, ""}), second({"", low}), own({"", ""});
    for (const Training* training : {&both, &first, &second, &own}) {
      QVERIFY2(training->result().code == 0, qPrintable(training->result().errors));
      QVERIFY(!training->parameters().isEmpty());
    }
    QVERIFY(first.parameters() == both.parameters());
    QVERIFY(second.parameters() == both.parameters());
    QVERIFY(own.parameters() != both.parameters());
    QVERIFY2(second.result().errors.contains("all ranks compute with x86-64-v3, which is all that rank 1 has"),
             qPrintable(second.result().errors));
    QVERIFY(!both.result().errors.contains("all ranks compute"));
  }
};

REGISTER_PROGRAM_TEST(InstructionSetTest)

}  // namespace instruction_set_test

#include "instruction_set_test.moc"
