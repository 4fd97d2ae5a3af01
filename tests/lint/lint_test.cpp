#include "engine/lint/lint.h"

#include <fmt/format.h>

#include <QDir>
#include <QFile>
#include <QRegularExpression>
#include <QTest>
#include <cmath>
#include <map>
#include <set>

#include "engine/compile/compile.h"
#include "engine/compile/file_paths.h"
#include "engine/config/strategy.h"
#include "engine/lint/rules/collective_moves.h"
#include "engine/lint/what_next.h"
#include "engine/machine/chosen_machine.h"
#include "engine/machine/host_machine.h"
#include "tests/base/errors_of.h"
#include "tests/compile/system_preset.h"
#include "tests/lint/planted.h"
#include "tests/test_program.h"

namespace lint_test {

using namespace shardscope;
using namespace shardscope::test;

namespace {

std::string name_of(const Planted& one) {
  std::string name = one.rule + " in " + one.preset;
  for (const std::string& setting : one.planted) name += " " + setting;
  return name;
}

LintReport lint_for(const Plan& plan, const std::string& rule) { return lint(plan, LintChoice{{rule}}); }

PlanCost cost_of_plan(const Plan& plan, const RunConfig& config) { return cost_of(LintSubject(plan, config)); }

QString document(const char* name) {
  QFile file(QString(SHARDSCOPE_SOURCE_DIR "/docs/") + name);
  return file.open(QIODevice::ReadOnly) ? QString::fromUtf8(file.readAll()) : QString();
}

}  // namespace

class LintTest : public QObject {
  Q_OBJECT

 private slots:
  void every_rule_has_a_chapter_in_their_order_and_a_planted_fault() {
    static const QRegularExpression heading("^## (\\w+)$", QRegularExpression::MultilineOption);
    QStringList chapters, rules;
    const QString text = document("lint.md");
    for (auto match = heading.globalMatch(text); match.hasNext();) chapters += match.next().captured(1);
    for (const LintRule& rule : lint_rules()) {
      rules += QString::fromStdString(rule.name);
      QVERIFY2(rule.name == "fragmentation" || std::ranges::count(planted_faults(), rule.name, &Planted::rule) > 0,
               rule.name.c_str());
      const QString chapter = text.section("\n## " + rules.last() + "\n", 1).section("\n## ", 0, 0);
      QVERIFY2(chapter.startsWith("\n*Certain.*") == rule.certain, rule.name.c_str());
      QVERIFY2(!rule.what.empty() && find_lint_rule(rule.name) == &rule, rule.name.c_str());
    }
    QCOMPARE(chapters, rules);
  }

  void every_rule_finds_its_planted_fault_and_nothing_where_it_is_not() {
    std::string wrong;
    for (const Planted& one : planted_faults()) {
      for (const Finding& finding : lint_for(plan_of(one, false), one.rule).findings)
        wrong += name_of(one) + ", not planted: " + to_string(to_error(finding)) + "\n";
      const LintReport report = lint_for(plan_of(one, true), one.rule);
      const Finding* found = find_rule(report, one.rule);
      const bool is_right = found && !found->message.empty() && !found->place.empty() &&
                            found->fix.has_value() == one.has_fix && (found->fix || !found->no_fix.empty());
      if (!is_right) wrong += name_of(one) + ": " + (found ? to_string(to_error(*found)) : "not found") + "\n";
    }
    QVERIFY2(wrong.empty(), wrong.c_str());
  }

  void a_fix_gives_a_legal_plan_without_the_fault_that_takes_what_was_said() {
    for (const Planted& one : planted_faults()) {
      const RunConfig config = run_of(one, true);
      const Plan plan = plan_of(one, true);
      for (const Finding& finding : lint_for(plan, one.rule).findings) {
        if (!finding.fix) continue;
        const RunConfig changed = with_settings(config, finding.fix->settings);
        QVERIFY2(changed == finding.fix->config, name_of(one).c_str());
        QVERIFY2(validate(changed).empty(), name_of(one).c_str());
        const Plan fixed = plan_like(plan, changed);
        const PlanCost before = cost_of_plan(plan, config), after = cost_of_plan(fixed, changed);
        QVERIFY2(pays(before, after), name_of(one).c_str());
        QCOMPARE(after.seconds, finding.fix->after.seconds);
        QCOMPARE(after.bytes, finding.fix->after.bytes);
        QCOMPARE(finding.seconds, before.seconds - after.seconds);
        QCOMPARE(finding.bytes, before.bytes - after.bytes);
        const LintReport again = lint_for(fixed, one.rule);
        for (const Finding& left : again.findings)
          QVERIFY2(!(left.place == finding.place), (name_of(one) + ": " + to_string(to_error(left))).c_str());
      }
    }
  }

  void fixing_all_leaves_nothing_to_fix_and_a_cheaper_plan() {
    for (const Planted& one : planted_faults()) {
      const Plan plan = plan_of(one, true);
      const FixedRun fixed = fix_all(plan);
      const Plan better = plan_like(plan, fixed.config);
      for (const Finding& left : fixed.left.findings) QVERIFY2(!left.fix, name_of(one).c_str());
      QVERIFY2(fixed.applied.empty() ||
                   pays(cost_of_plan(plan, run_of(one, true)), cost_of_plan(better, fixed.config)) ||
                   better.totals.seconds_per_step < plan.totals.seconds_per_step,
               name_of(one).c_str());
      const FixedRun again = fix_all(better);
      QVERIFY2(again.applied.empty() && again.config == fixed.config, name_of(one).c_str());
    }
  }

  void what_a_plan_tells_at_once_is_what_certain_rules_find() {
    size_t plans = 0;
    for (const SystemPreset& one : system_presets()) {
      const Plan plan = compile({system_run(one.name, one.small), unlike_machines()[plans++ % 3]});
      std::vector<std::string> at_once, all;
      for (const Finding& finding : certain_findings(plan)) {
        at_once.push_back(finding.rule + to_string(finding.place));
        QVERIFY(find_lint_rule(finding.rule)->certain && !finding.fix);
      }
      for (const Finding& finding : lint(plan).findings) {
        if (find_lint_rule(finding.rule)->certain) all.push_back(finding.rule + to_string(finding.place));
        else QVERIFY2(finding.fix, one.name.c_str());
      }
      std::ranges::sort(at_once);
      std::ranges::sort(all);
      QCOMPARE(at_once, all);
    }
  }

  void a_change_that_is_not_enough_is_reported_with_its_time_in_three_digits() {
    const Plan plan = compile({system_run("parallax_decoder", {"sharding.memory_limit_mib=1"}), reference_host()});
    const LintReport report = lint_for(plan, "memory");
    const Finding* found = find_rule(report, "memory");
    QVERIFY(found && !found->fix);
    const QString text = QString::fromStdString(found->no_fix);
    QVERIFY2(text.contains(" a step, and this would still be so"), qPrintable(text));
    static const QRegularExpression time("would (save|cost) \\d[\\d.]{0,4} (\u00b5s|ms|s) a step");
    QVERIFY2(text.contains(time), qPrintable(text));
  }

  void every_fix_beside_a_strategy_is_of_keys_that_can_be_set() {
    std::set<std::string> paths;
    for (const char* preset : {"workshop_gpipe", "nnx_gpt2", "mixtral_tiny"}) {
      StrategyConfig strategy;
      (preset == std::string("workshop_gpipe") ? strategy.pipeline : strategy.data) = 3;
      const SystemPreset& small = system_preset(preset);
      const RunConfig config = with_settings(with_strategy(system_run(preset, small.small), strategy),
                                             {"data.batch_size=12", "schedule.microbatches=2"});
      const Plan plan = compile({config, reference_host()});
      const LintSubject subject(plan, config);
      for (const LintRule& rule : lint_rules()) {
        for (const Fault& fault : find_faults(rule, subject)) {
          for (const Settings& settings : fault.fixes) {
            for (const Error& error : errors_of([&] { with_settings(config, settings); }))
              QVERIFY2(error.code != "unknown_path" && error.code != "contradiction", to_string(error).c_str());
            for (const std::string& setting : settings) paths.insert(setting.substr(0, setting.find('=')));
          }
        }
      }
    }
    QVERIFY(paths.contains("pipeline.layers"));
  }

  // The resolver of specs warns of what it leaves whole.
  void a_vocabulary_is_reported_where_a_rule_splits_it_in_vain_and_nowhere_else() {
    const std::string two = R"({"axes":{"vocab":["data","model"]}})", one = R"({"axes":{"vocab":"model"}})";
    const std::vector<std::string> tables{
        "[]",
        "[" + one + "]",
        "[" + two + "]",
        R"([{"axes":{"mlp":"model","heads":"model"}}])",
        R"([{"axes":{"mlp":"model","vocab":null}},)" + one + "]",
        R"([{"axes":{"embed":null}},)" + two + "]",
        R"([{"names":"**/embed_tokens/weight","spec":["data"]},{"names":"**/q_proj/weight","axes":{"vocab":"model"}}])",
        R"([{"names":"**/lm_head/weight","axes":{"vocab":["data","model"]}}])",
        R"([{"axes":{"vocab":"model"},"dimensions":["vocab","embed"]}])",
        R"([{"axes":{"vocab":"model"},"of":["optimizer"]}])"};
    int reported = 0;
    for (const std::string& rules : tables) {
      for (const char* size : {"252", "254", "255"}) {
        if (rules.find("embed_tokens") != std::string::npos && size == std::string("255")) continue;
        const RunConfig config = with_settings(
            system_run("llama_tiny", {}),
            {"sharding.mode=as_written", "sharding.rules=" + rules, "model.overrides.vocab_size=" + std::string(size)});
        const Plan plan = compile({config, reference_host()});
        const bool is_whole = std::ranges::any_of(plan.warnings, [](const Error& warning) {
          return warning.code == "replicated" && warning.message.find("'params/") != std::string::npos;
        });
        const std::vector<Finding> certain = certain_findings(plan);
        const auto found = std::ranges::find(certain, "vocabulary", &Finding::rule);
        QVERIFY2((found != certain.end()) == is_whole, (rules + " " + size).c_str());
        reported += is_whole;
      }
    }
    QVERIFY(reported > 5);
  }

  void the_batch_size_and_the_number_of_devices_that_are_named_divide() {
    static const QRegularExpression named("^data.batch_size=(\\d+), which divides, or (\\d+) devices? ");
    for (const auto& [rows, fsdp] : std::vector<std::pair<int, int>>{{6, 4}, {4, 2}, {12, 4}, {5, 2}}) {
      const RunConfig config =
          with_settings(system_run("llama_tiny", {}),
                        {fmt::format(R"(mesh.axes=[{{"name":"data","size":4}},{{"name":"fsdp","size":{}}}])", fsdp),
                         "sharding.mode=as_written", "sharding.in=[]", "sharding.out=[]",
                         R"(sharding.rules=[{"axes":{"batch":["data","fsdp"]},"of":"inputs"}])",
                         fmt::format("data.batch_size={}", rows)});
      const std::vector<Finding> certain = certain_findings(compile({config, reference_host()}));
      const auto found = std::ranges::find(certain, "indivisible_batch", &Finding::rule);
      QVERIFY(found != certain.end());
      const auto match = named.match(QString::fromStdString(found->no_fix));
      QVERIFY2(match.hasMatch(), found->no_fix.c_str());
      QCOMPARE(match.captured(1).toInt() % (4 * fsdp), 0);
      QVERIFY(match.captured(1).toInt() > rows && match.captured(1).toInt() - rows <= 4 * fsdp);
      QCOMPARE(rows % match.captured(2).toInt(), 0);
      QVERIFY(match.captured(2).toInt() < 4 * fsdp);
    }
  }

  // Tensor parallelism alone, as a mesh with an axis of one device for the batch and as a strategy.
  void devices_of_an_axis_across_nodes_are_offered_to_a_batch_that_nothing_splits() {
    const std::vector<std::string> wide{"model.overrides.num_attention_heads=16",
                                        "model.overrides.num_key_value_heads=16", "model.overrides.hidden_size=256",
                                        "data.batch_size=64", "sharding.mode=as_written"};
    StrategyConfig tensor;
    tensor.tensor = 16;
    const RunConfig by_in = with_settings(system_run("llama_tiny", wide),
                                          {R"(mesh.axes=[{"name":"data","size":1},{"name":"model","size":16}])"});
    const RunConfig by_rule = with_settings(
        by_in, {"sharding.in=[]", "sharding.out=[]", R"(sharding.rules[1]={"axes":{"batch":"data"},"of":"inputs"})"});
    const RunConfig by_strategy = with_strategy(by_in, tensor);
    for (const RunConfig& config : {by_in, by_rule, by_strategy}) {
      const Plan plan = compile({config, chosen_machine(R"("dgx_h100")", {})});
      const std::string batch = config.strategy ? "strategy.data=" : "mesh.axes[0].size=";
      const auto gives_to_batch = [&](const Settings& settings) {
        return std::ranges::any_of(settings, [&](const std::string& one) { return one.starts_with(batch); });
      };
      for (const char* rule : {"communication", "tensor_across_nodes"}) {
        const std::vector<Fault> faults = find_faults(*find_lint_rule(rule), LintSubject(plan, config));
        QCOMPARE(faults.size(), size_t{1});
        QVERIFY2(std::ranges::any_of(faults[0].fixes, gives_to_batch), rule);
      }
      const LintReport report = lint_for(plan, "tensor_across_nodes");
      const Finding* found = find_rule(report, "tensor_across_nodes");
      QVERIFY(found && found->fix && gives_to_batch(found->fix->settings));
      QVERIFY(found->fix->after.seconds < plan.totals.seconds_per_step);
      const WhatNext next = what_next(plan);
      QVERIFY(std::ranges::any_of(next.notches, [&](const Notch& notch) {
        return notch.settings.size() == 2 && notch.settings[1] == batch + "2";
      }));
    }
  }

  void an_imbalance_that_no_cut_of_whole_layers_removes_says_so() {
    size_t checked = 0;
    for (const Planted& one : planted_faults()) {
      if (one.rule != "stage_imbalance") continue;
      const Plan plan = plan_of(one, true);
      const bool is_default = run_of(one, true).pipeline.layers.empty();
      const LintReport report = lint_for(plan, one.rule);
      const Finding* found = find_rule(report, one.rule);
      QVERIFY(found);
      QCOMPARE(found->no_fix.find("as evenly as whole layers can be") != std::string::npos, is_default);
      ++checked;
    }
    QCOMPARE(checked, size_t{2});
  }

  void a_rule_that_is_off_finds_nothing_and_its_reason_is_reported() {
    const Planted& one = planted_faults().front();
    RunConfig config = run_of(one, true);
    config.lint.off = {{one.rule, "it is meant so"}};
    const Plan plan = plan_like(plan_of(one, true), config);
    QCOMPARE(plan.hash, plan_of(one, true).hash);
    const LintReport report = lint_for(plan, one.rule);
    QVERIFY(report.findings.empty());
    QCOMPARE(report.off, config.lint.off);
    for (const Finding& finding : certain_findings(plan)) QVERIFY(finding.rule != one.rule);
  }

  void an_unknown_rule_is_an_error_with_near_names() {
    const Planted& one = planted_faults().front();
    RunConfig config = run_of(one, false);
    config.lint.off = {{"bubbel", "?"}};
    const Plan plan = plan_like(plan_of(one, false), config);
    const std::vector<Error> errors = errors_of([&] { lint(plan); });
    QCOMPARE(errors.size(), size_t{1});
    QCOMPARE(errors[0].code, std::string("unknown_rule"));
    QCOMPARE(to_string(errors[0].place), std::string("lint.off.bubbel"));
    QVERIFY(errors[0].hint.find("'bubble'") != std::string::npos);
    QVERIFY(!errors_of([&] { lint(plan_of(one, false), LintChoice{{"idle"}}); }).empty());
  }

  // Arrays of a collective have its time among them; what counts the rows of an exchange is none of them.
  void moves_of_a_collective_are_those_of_its_arrays() {
    StrategyConfig strategy;
    strategy.data = strategy.expert = 2;
    const Plan plan = compile(
        {with_strategy(system_run("mixtral_tiny", system_preset("mixtral_tiny").small), strategy), reference_host()});
    std::map<const Instruction*, size_t> moves;
    double seconds = 0;
    for (const CollectiveMove& move : collective_moves(plan)) {
      ++moves[move.instruction];
      seconds += move.seconds;
    }
    for (const auto& [instruction, count] : moves) QVERIFY(count <= instruction->moved().size());
    double all = 0;
    for (int position = 0; position < plan.instructions().size(); ++position) all += plan.seconds(position);
    QVERIFY(!moves.empty() && seconds > 0 && seconds <= all);
  }

  void every_rule_looks_at_published_models_data() {
    QTest::addColumn<QString>("file");
    for (const QFileInfo& file : QDir(SHARDSCOPE_SOURCE_DIR "/presets/published").entryInfoList({"*.json"}))
      QTest::newRow(qPrintable(file.completeBaseName())) << file.filePath();
  }
  void every_rule_looks_at_published_models() {
    QFETCH(QString, file);
    const RunConfig config = load_run_file(file.toStdString());
    const Plan plan = compile(plan_request(config));
    const LintSubject subject(plan, config);
    for (const LintRule& rule : lint_rules()) {
      for (const Fault& fault : find_faults(rule, subject)) {
        QVERIFY2(std::isfinite(fault.seconds) && fault.seconds >= 0, rule.name.c_str());
        QVERIFY2(!fault.message.empty(), rule.name.c_str());
      }
    }
  }

  void lint_stops_when_asked() {
    std::stop_source stop;
    stop.request_stop();
    bool cancelled = false;
    try {
      lint(plan_of(planted_faults().front(), true), {}, stop.get_token());
    } catch (const Cancelled&) {
      cancelled = true;
    }
    QVERIFY(cancelled);
  }

  void only_what_is_better_pays() {
    const PlanCost base{10, 1.0, 1000};
    QVERIFY(pays(base, {9, 5.0, 1000}));
    QVERIFY(!pays(base, {11, 0.1, 100}));
    QVERIFY(pays(base, {10, 0.99, 5000}));
    QVERIFY(!pays(base, {10, 0.999, 1000}));
    QVERIFY(pays(base, {10, 1.0, 900}));
    QVERIFY(!pays(base, {10, 1.001, 1}));
    QVERIFY(!pays(base, base));
  }
};

REGISTER_TEST(LintTest)

}  // namespace lint_test

#include "lint_test.moc"
