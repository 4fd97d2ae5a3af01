#include <QTest>

#include "engine/cli/plan_report.h"
#include "engine/machine/host_machine.h"
#include "tests/compile/system_preset.h"
#include "tests/test_program.h"

namespace plan_steps_test {

using namespace shardscope;
using namespace shardscope::test;

namespace {

// The algorithm's lines without numbers and bytes.
QStringList lines(const std::string& name, const std::vector<std::string>& settings = {}) {
  const QString text = QString::fromStdString(plan_steps_text(compile({system_run(name, settings), reference_host()})));
  QStringList found;
  for (QString line : text.split('\n')) {
    const qsizetype equals = line.indexOf(" = ");
    if (equals < 0) continue;
    line = line.mid(line.indexOf(". ") + 2).trimmed();
    found << line.left(line.indexOf("  ") < 0 ? line.size() : line.indexOf("  "));
  }
  return found;
}

}  // namespace

class PlanStepsTest : public QObject {
  Q_OBJECT

 private slots:
  // "Tensor Parallelism Algorithm" of the MinText document, behind a layer that needs dIn; backward step 5 is shared.
  void the_tensor_parallel_pair_is_reported_as_in_the_document() {
    const QStringList expected{"In[B, D_Y] = inputs[B, K] *_K W_before[K, D_Y]",
                               "In[B, D] = AllGather(In[B, D_Y])",
                               "Tmp[B, F_Y] = In[B, D] *_D W_in[D, F_Y]",
                               "Out[B, D] {U_Y} = Tmp[B, F_Y] *_F W_out[F_Y, D]",
                               "Out[B, D_Y] = ReduceScatter(Out[B, D] {U_Y})",
                               "dOut[B, D] = AllGather(dOut[B, D_Y])",
                               "dW_out[F_Y, D] = Tmp[B, F_Y] *_B dOut[B, D]",
                               "dTmp[B, F_Y] = dOut[B, D] *_D W_out[F_Y, D]",
                               "In[B, D] = AllGather(In[B, D_Y])",
                               "dW_in[D, F_Y] = In[B, D] *_B dTmp[B, F_Y]",
                               "dIn[B, D] {U_Y} = dTmp[B, F_Y] *_F W_in[D, F_Y]",
                               "dIn[B, D_Y] = ReduceScatter(dIn[B, D] {U_Y})",
                               "dW_before[K, D_Y] = inputs[B, K] *_B dIn[B, D_Y]"};
    QStringList found = lines("tensor_parallel_mlp");
    found.removeIf([](const QString& line) { return line.contains("loss") || line.startsWith("targets"); });
    found.removeIf([](const QString& line) { return line.startsWith("dOut[B, D_Y] = "); });
    QCOMPARE(found, expected);
  }

  void what_backward_shares_of_forward_costs_nothing_and_says_so() {
    const Plan plan = compile({system_run("tensor_parallel_mlp", {}), reference_host()});
    const QString text = QString::fromStdString(plan_steps_text(plan));
    QCOMPARE(text.count("shared with"), 1);
    QVERIFY(text.contains("In[B, D] = AllGather(In[B, D_Y])") && text.contains("shared with forward 2"));
    QCOMPARE(text.count("AllGather"), 3);
  }

  void axes_of_several_letters_and_several_axes_are_distinguished() {
    const QString dp = lines("logical_dot_relu_dot", {"sharding.mode=as_written"}).join('\n');
    QVERIFY2(dp.contains("dot1/einsum[batch_data, hidden_model] = inputs[batch_data, embed] *_embed "
                         "dot1/kernel[embed, hidden_model]"),
             qPrintable(dp));
    QVERIFY2(dp.contains("ddot1/kernel[embed, hidden_model] = AllReduce(ddot1/kernel[embed, hidden_model] {U_data})"),
             qPrintable(dp));
  }

  void every_step_of_forward_and_backward_has_a_line() {
    for (const SystemPreset& one : system_presets()) {
      const Plan plan = compile({system_run(one.name, one.small), reference_host()});
      const QString text = QString::fromStdString(plan_steps_text(plan));
      qsizetype steps = 0;
      for (const RepeatedInstruction& repeated : distinct_instructions(plan.program.main())) {
        if (plan.instructions()[repeated.position].as<CollectiveDone>()) continue;  // a line with its start
        const Phase phase = plan.instructions()[repeated.position].phase;
        steps += phase == Phase::forward || phase == Phase::backward;
      }
      QCOMPARE(text.count(" = "), steps + text.count("shared with"));
    }
  }
};

REGISTER_TEST(PlanStepsTest)

}  // namespace plan_steps_test

#include "plan_steps_test.moc"
