#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <QCoreApplication>
#include <QtTest>

#include "tests/faults/campaign.h"
#include "tests/faults/fault.h"
#include "tests/faults/table.h"

using namespace shardscope::faults;

namespace {

const std::string own_shardrun = SHARDSCOPE_BINARY_DIR "/bin/shardrun";

// ./run test faults
int run_long_form(int argc, char** argv) {
  Campaign campaign;
  campaign.program = own_shardrun;
  std::string only;
  CLI::App app("Harms trainings and looks at how they end", "faults");
  app.add_option("--trials", campaign.trials, "how many")->required();
  app.add_option("--seed", campaign.seed, "of the order and of all that is drawn");
  app.add_option("--only", only, "faults whose name holds this regular expression");
  app.add_option("--program", campaign.program, "a shardrun other than this build's");
  app.add_option("--at-a-time", campaign.at_a_time, "trials");
  CLI11_PARSE(app, argc, argv);
  campaign.only = std::regex(only);
  campaign.on_trial = [count = 0, &campaign](const Trial& trial) mutable {
    fmt::print(stderr, "{}/{} {}, {}: {}\n", ++count, campaign.trials, trial.fault, name(trial.hit),
               trial.missed    ? "too late to harm"
               : trial.right() ? trial.late ? "late" : "right"
                               : "WRONG");
  };
  const std::vector<Trial> trials = run_campaign(campaign);
  fmt::print("{}", table_of(trials));
  for (const std::string& line : left_out()) fmt::print("left out: {}\n", line);
  const bool well = std::all_of(trials.begin(), trials.end(),
                                [](const Trial& trial) { return trial.missed || (trial.right() && !trial.late); });
  return well ? 0 : 1;
}

}  // namespace

class FaultsTest : public QObject {
  Q_OBJECT

 private slots:
  // One trial of each kind, one after the other: the kernel counts its kills for lack of memory for all processes
  // together, so that one trial's would be another's.
  void what_goes_wrong_is_named_and_nothing_is_left() {
    Campaign campaign;
    campaign.program = own_shardrun;
    campaign.at_a_time = 1;
    campaign.trials = static_cast<int>(all_faults().back().kind) + 1;
    const std::vector<Trial> trials = run_campaign(campaign);
    const bool well =
        std::all_of(trials.begin(), trials.end(), [](const Trial& trial) { return trial.missed || trial.right(); });
    if (!well) fmt::print(stderr, "{}", table_of(trials));
    QVERIFY2(well, "the table is above");
  }
};

int main(int argc, char** argv) {
  QCoreApplication application(argc, argv);
  if (argc > 1 && std::string(argv[1]).starts_with("--trials")) return run_long_form(argc, argv);
  FaultsTest test;
  return QTest::qExec(&test, argc, argv);
}
#include "faults_test.moc"
