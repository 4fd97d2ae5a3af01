#include <QTemporaryDir>
#include <QtTest>
#include <set>

#include "engine/base/enum_count.h"
#include "engine/base/instruction_set.h"
#include "engine/config/parse.h"
#include "engine/config/write.h"
#include "engine/machine/host_machine.h"
#include "engine/machine/machine_file.h"
#include "engine/session/hello.h"
#include "engine/session/host_report.h"
#include "engine/session/recorded_run.h"
#include "engine/session/run_recorder.h"
#include "tests/laws/pipeline_case.h"
#include "tests/test_program.h"

namespace text_boundaries_test {

using namespace shardscope;
using namespace shardscope::test;

namespace {

template <class Enum>
std::vector<Enum> all_of() {
  static_assert(enum_count<Enum> > 1);
  std::vector<Enum> values;
  for (size_t i = 0; i < enum_count<Enum>; ++i) values.push_back(static_cast<Enum>(i));
  return values;
}

template <class Enum>
void names_tell_values_apart() {
  std::set<std::string> names;
  for (const Enum value : all_of<Enum>()) {
    const std::string own(name(value));
    QVERIFY2(!own.empty() && own != "?", qPrintable(QString::number(static_cast<int>(value))));
    QVERIFY2(names.insert(own).second, own.c_str());
  }
}

Message through_socket(const Message& message) {
  MessageDecoder decoder;
  decoder.feed(to_json_line(message));
  return decoder.next().value();
}

// Hello first.
std::vector<Message> through_record(const std::vector<Message>& reported, const Machine& machine = reference_host()) {
  const QTemporaryDir parent;
  const std::string folder = parent.filePath("record").toStdString();
  {
    RunRecorder recorder(folder, Existing::refuse, {}, std::get<HelloMessage>(reported.front()), machine);
    recorder.begin();
    for (size_t i = 1; i < reported.size(); ++i) recorder.add(reported[i]);
  }
  std::vector<Message> read;
  RecordedRun(folder).replay([&](const Message& message) { read.push_back(message); });
  return read;
}

// Nothing where no plan has both: stages would wait for each other.
std::optional<Plan> plan_of(const std::string& schedule, const std::string& policy) {
  PipelineCase one;
  one.schedule = schedule;
  one.policy = policy;
  try {
    return compile({in_stages(four_layers(), one), reference_host()});
  } catch (const Failure& failure) {
    if (failure.errors().front().place.path != "pipeline.schedule") throw;
    return std::nullopt;
  }
}

HelloMessage hello_of_all_phases() {
  HelloMessage hello{"{}", 7, 2, {}, {"loss"}};
  for (const Phase phase : all_of<Phase>()) hello.plan_steps.stages[0].push_back({std::string(name(phase)), phase});
  return hello;
}

}  // namespace

// Every value of an enum that leaves the program as text or bytes comes back as itself.
class TextBoundariesTest : public QObject {
  Q_OBJECT

 private slots:
  void every_enumerator_has_a_name_of_its_own() {
    names_tell_values_apart<Phase>();
    names_tell_values_apart<Purpose>();
    names_tell_values_apart<Work>();
    names_tell_values_apart<InstructionKind>();
    names_tell_values_apart<MemoryCategory>();
    names_tell_values_apart<DType>();
    names_tell_values_apart<RankState>();
    names_tell_values_apart<RankPhase>();
    names_tell_values_apart<TraceChoice>();
    names_tell_values_apart<RunEnd>();
    names_tell_values_apart<InstructionSet>();
  }

  void what_is_named_is_found_by_its_name() {
    for (const RankState state : all_of<RankState>()) QVERIFY(rank_state(name(state)) == state);
    for (const TraceChoice choice : all_of<TraceChoice>()) QVERIFY(trace_choice(name(choice)) == choice);
    for (const RankPhase phase : all_of<RankPhase>()) QVERIFY(rank_phase(name(phase)) == phase);
    for (const InstructionSet set : all_of<InstructionSet>()) QVERIFY(instruction_set(name(set)) == set);
  }

  void every_phase_of_a_plan_step_crosses_the_socket_and_the_record() {
    const Message hello = hello_of_all_phases();
    QVERIFY(through_socket(hello) == hello);
    QVERIFY(through_record({hello}) == std::vector{hello});
  }

  void every_state_choice_and_end_crosses_the_socket_and_the_record() {
    std::vector<Message> reported{hello_of_all_phases()};
    for (const RankState state : all_of<RankState>()) reported.emplace_back(RankStateMessage{1, state, 9});
    const std::vector<PlanStepTime> times(enum_count<Phase>, {1, 2, 3});
    for (const TraceChoice choice : all_of<TraceChoice>())
      reported.emplace_back(TraceMessage{choice, 4, {times, times}});
    for (const RunEnd end : all_of<RunEnd>()) {
      std::vector<Message> ended = reported;
      ended.emplace_back(FinishedMessage{end, 5});
      for (const Message& message : ended) QVERIFY(through_socket(message) == message);
      QVERIFY(through_record(ended) == ended);
    }
    for (const auto kind : all_of<Request::Kind>()) {
      const Request request{kind};
      QVERIFY(parse_request(to_json_line(request)) == request);
    }
  }

  void every_phase_and_state_of_a_rank_crosses_between_hosts() {
    HostReport report;
    for (const RankPhase phase : all_of<RankPhase>()) {
      for (const RankState state : all_of<RankState>()) {
        RankReport rank;
        rank.rank = static_cast<int>(report.ranks.size());
        rank.observation.entry.phase = phase;
        rank.observation.status = RankStatus{};
        rank.observation.status->state = state;
        report.ranks.push_back(std::move(rank));
      }
    }
    QVERIFY(decode_host_report(encode(report)) == report);
  }

  void every_mode_and_kind_of_rule_crosses_the_run_file() {
    for (const LayoutMode mode : all_of<LayoutMode>()) {
      RunConfig config = four_layers();
      config.sharding.mode = mode;
      SpecRule rule;
      rule.names = "**";
      rule.of = all_of<SpecKind>();
      rule.placement = PartitionSpec{};
      config.sharding.rules.push_back(rule);
      QVERIFY(parse_run_config(write_run_config(config), "run.json") == config);
    }
  }

  void every_schedule_and_rematerialisation_crosses_the_socket_and_the_record_data() {
    QTest::addColumn<QString>("schedule");
    QTest::addColumn<QString>("policy");
    int rows = 0;
    for (const PipelineSchedule& schedule : all_schedules()) {
      for (const char* policy : {"none", "full", "attention", "mlp", "**"}) {
        if (!plan_of(schedule.name, policy)) continue;
        QTest::addRow("%s %s", schedule.name.c_str(), policy) << QString::fromStdString(schedule.name) << policy;
        ++rows;
      }
    }
    QVERIFY(rows > 3 * std::ssize(all_schedules()));
  }
  void every_schedule_and_rematerialisation_crosses_the_socket_and_the_record() {
    QFETCH(QString, schedule);
    QFETCH(QString, policy);
    const Plan plan = plan_of(schedule.toStdString(), policy.toStdString()).value();
    const HelloMessage hello = hello_of(plan);
    std::vector<std::vector<PlanStepTime>> times;
    bool recomputes = false;
    for (int rank = 0; rank < hello.ranks; ++rank) {
      const std::vector<PlanStepName>& steps = hello.plan_steps.of(rank);
      times.emplace_back(steps.size(), PlanStepTime{1, 2, 3});
      recomputes = recomputes || std::ranges::count(steps, Phase::recompute, &PlanStepName::phase) > 0;
    }
    QCOMPARE(recomputes, policy != "none");
    const Message trace = TraceMessage{TraceChoice::latest, 1, times};
    QVERIFY(through_socket(hello) == Message(hello));
    QVERIFY(through_socket(trace) == trace);
    HelloMessage recorded = hello;
    recorded.machine_json.clear();
    QVERIFY(through_record({hello, trace}, plan.machine) == (std::vector<Message>{recorded, trace}));
    const RunConfig config = parse_run_config(hello.config_json, "run.json");
    QCOMPARE(compile({config, parse_machine(hello.machine_json, "machine.json")}).hash, plan.hash);
  }
};

REGISTER_TEST(TextBoundariesTest)

}  // namespace text_boundaries_test

#include "text_boundaries_test.moc"
