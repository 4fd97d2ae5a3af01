#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <QCoreApplication>
#include <QtTest>
#include <algorithm>

#include "tests/faults/campaign.h"
#include "tests/faults/fault.h"
#include "tests/faults/table.h"

using namespace shardscope::faults;

namespace {

const std::string own_shardrun = SHARDSCOPE_BINARY_DIR "/bin/shardrun";

std::string verdict(const Trial& trial) {
  if (trial.missed) return "NOT HARMED";
  if (!trial.right()) return "WRONG";
  return trial.late ? "LATE" : "right";
}

// ./run test faults: what follows --long.
int run_long_form(int argc, char** argv) {
  Campaign campaign;
  campaign.program = own_shardrun;
  std::string only;
  CLI::App app("Harms trainings and looks at how they end", "faults");
  app.add_option("--trials", campaign.trials, "how many, instead of each fault once in each phase");
  app.add_option("--seed", campaign.seed, "of the order and of all that is drawn");
  app.add_option("--only", only, "faults whose name holds this regular expression");
  app.add_option("--program", campaign.program, "a shardrun other than this build's");
  app.add_option("--at-a-time", campaign.at_a_time, "trials");
  CLI11_PARSE(app, argc, argv);
  campaign.only = std::regex(only);
  const std::vector<TrialRequest> requests = requests_of(campaign);
  if (requests.empty()) {
    fmt::print(stderr, "no fault that can be made here has a name with /{}/\n", only);
    return 2;
  }
  const auto names_a_culprit = [all = all_faults()](const TrialRequest& request) {
    return !all[request.fault].expected.said.empty();
  };
  fmt::print(stderr, "{} trials, {} of them with a culprit to name\n", requests.size(),
             std::ranges::count_if(requests, names_a_culprit));
  campaign.on_trial = [count = 0, &requests](const Trial& trial) mutable {
    fmt::print(stderr, "{}/{} {}, {}: {}\n", ++count, requests.size(), trial.fault, name(trial.hit), verdict(trial));
  };
  const std::vector<Trial> trials = run_campaign(campaign, requests);
  fmt::print("{}", table_of(trials));
  for (const std::string& line : left_out()) fmt::print("left out: {}\n", line);
  return trials.size() == requests.size() && went_well(trials) && were_in_time(trials) ? 0 : 1;
}

size_t fault_named(const std::string& name) {
  const std::vector<Fault> all = all_faults();
  return static_cast<size_t>(std::ranges::find(all, name, &Fault::name) - all.begin());
}

}  // namespace

class FaultsTest : public QObject {
  Q_OBJECT

 private slots:
  // One trial of each kind, one after the other: the kernel counts its kills for lack of memory for all processes
  // together, so that one trial's would be another's. How long each took is in the table, and no matter here.
  void what_goes_wrong_is_named_and_nothing_is_left() {
    Campaign campaign;
    campaign.at_a_time = 1;
    campaign.trials = static_cast<int>(all_faults().back().kind) + 1;
    run(campaign, requests_of(campaign));
    for (const std::string& line : left_out()) qInfo("left out: %s", line.c_str());
  }

  void nothing_outlives_a_launcher_that_is_killed_before_its_ranks_have_met() {
    const size_t fault = fault_named("SIGKILL to the launcher");
    QVERIFY(fault < all_faults().size());
    run({}, {{fault, Phase::starting, 1}, {fault, Phase::joining, 2}});
  }

 private:
  static void run(Campaign campaign, const std::vector<TrialRequest>& requests) {
    campaign.program = own_shardrun;
    const std::vector<Trial> trials = run_campaign(campaign, requests);
    fmt::print(stderr, "{}", table_of(trials));
    QCOMPARE(trials.size(), requests.size());
    QVERIFY2(went_well(trials), "the table is above");
  }
};

int main(int argc, char** argv) {
  QCoreApplication application(argc, argv);
  if (argc > 1 && std::string(argv[1]) == "--long") return run_long_form(argc - 1, argv + 1);
  FaultsTest test;
  return QTest::qExec(&test, argc, argv);
}
#include "faults_test.moc"
