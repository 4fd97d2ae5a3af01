#include "engine/search/neighbours.h"

#include <QTest>
#include <algorithm>
#include <random>

#include "engine/config/strategy.h"
#include "tests/compile/system_preset.h"
#include "tests/test_program.h"

namespace neighbours_test {

using namespace shardscope;
using namespace shardscope::test;

class NeighboursTest : public QObject {
  Q_OBJECT

  static std::vector<Candidate> candidates_of(const std::string& preset, int64_t devices) {
    const SystemPreset& system = system_preset(preset);
    return candidates(model_limits(system_run(system.name, system.small, {1, 1})), devices, {});
  }

 private slots:
  void a_single_change_can_be_taken_back_and_is_none_of_itself() {
    std::mt19937 random(1);
    for (const char* preset : {"llama_tiny", "mixtral_tiny", "nnx_gpt2"}) {
      const std::vector<Candidate> all = candidates_of(preset, 8);
      for (int trial = 0; trial < 3000; ++trial) {
        const Candidate &a = all[random() % all.size()], &b = all[random() % all.size()];
        QCOMPARE(is_single_change(a, b), is_single_change(b, a));
        QVERIFY(!is_single_change(a, a));
      }
    }
  }

  // So local search is shut out of no strategy by how changes are cut.
  void single_changes_lead_from_any_candidate_to_all() {
    for (const char* preset : {"llama_tiny", "mixtral_tiny"}) {
      const std::vector<Candidate> all = candidates_of(preset, 4);
      std::vector<bool> reached(all.size());
      std::vector<int> next = {0};
      reached[0] = true;
      while (!next.empty()) {
        const int from = next.back();
        next.pop_back();
        for (const int to : neighbours_of(all[static_cast<size_t>(from)], all)) {
          if (!reached[static_cast<size_t>(to)]) next.push_back(to);
          reached[static_cast<size_t>(to)] = true;
        }
      }
      for (size_t i = 0; i < all.size(); ++i) QVERIFY2(reached[i], text_of(all[i]).c_str());
    }
  }

  void each_number_alone_is_a_change() {
    Candidate from;
    from.strategy = {.data = 4, .tensor = 2, .pipeline = 2, .microbatch_size = 2, .recompute = "none", .order = {}};
    const auto changed = [&](const auto& change) {
      Candidate to = from;
      change(to.strategy);
      return is_single_change(from, to);
    };
    QVERIFY(changed([](StrategyConfig& s) { s.zero = 1; }));
    QVERIFY(changed([](StrategyConfig& s) { s.recompute = "full"; }));
    QVERIFY(changed([](StrategyConfig& s) { s.microbatch_size = 1; }));
    QVERIFY(changed([](StrategyConfig& s) { s.pipeline_schedule = "zero_bubble"; }));
    QVERIFY(changed([](StrategyConfig& s) { s.sequence_parallel = true; }));
    QVERIFY(changed([](StrategyConfig& s) { std::swap(s.data, s.fsdp); }));
    QVERIFY(changed([](StrategyConfig& s) { s.data = 2, s.pipeline = 4; }));
    QVERIFY(!changed([](StrategyConfig& s) { s.data = 1, s.pipeline = 8; }));
    QVERIFY(!changed([](StrategyConfig& s) { s.microbatch_size = 8; }));
    QVERIFY(!changed([](StrategyConfig& s) { s.zero = 1, s.recompute = "full"; }));
  }
};

REGISTER_TEST(NeighboursTest)

}  // namespace neighbours_test

#include "neighbours_test.moc"
