#include "engine/search/link_order.h"

#include <fmt/format.h>

#include <QTest>
#include <cmath>
#include <map>
#include <random>

#include "engine/machine/chosen_machine.h"
#include "engine/search/search.h"
#include "tests/compile/system_preset.h"
#include "tests/test_program.h"

namespace link_order_test {

using namespace shardscope;
using namespace shardscope::test;

class LinkOrderTest : public QObject {
  Q_OBJECT

 private slots:
  void plans_whose_orders_links_do_not_tell_apart_take_the_same_data() {
    QTest::addColumn<int>("seed");
    for (int seed = 1; seed <= 20; ++seed) QTest::addRow("%d", seed) << seed;
  }
  void plans_whose_orders_links_do_not_tell_apart_take_the_same() {
    QFETCH(int, seed);
    std::mt19937 random(static_cast<uint32_t>(seed));
    const char* presets[] = {"llama_tiny", "mixtral_tiny", "gemma3_tiny", "deepseek_v3_tiny"};
    const char* machines[] = {R"("dgx_h100")", R"("dgx_a100_40gb")", R"("dgx_h100")", R"("tpu_v5e")"};
    const std::string preset = presets[random() % std::size(presets)];
    std::vector<std::string> settings = system_preset(preset).small;
    settings.emplace_back("model.overrides.num_hidden_layers=8");
    settings.emplace_back("data.batch_size=64");
    SearchRequest request;
    request.plan = {system_run(preset, settings), chosen_machine(machines[random() % std::size(machines)], {})};
    request.devices = 64;
    Machine& machine = request.plan.machine;
    for (Level& level : machine.levels) level.bytes_per_second *= std::exp2(static_cast<double>(random() % 13) - 6);
    if (random() % 3 == 0) machine.overlap.clear();
    std::map<std::pair<std::string, std::string>, std::vector<Candidate>> alike;
    for (const Candidate& candidate : candidates(model_limits(request.plan.config), request.devices, request.fixed)) {
      Candidate without = candidate;
      without.strategy.order.clear();
      alike[{text_of(without), order_on_links(candidate.strategy, machine.levels)}].push_back(candidate);
    }
    std::vector<std::vector<Candidate>> groups;
    for (auto& [key, of_key] : alike) {
      if (of_key.size() > 1) groups.push_back(std::move(of_key));
    }
    QCOMPARE(groups.empty(), machine.levels.front().kind == LevelKind::torus);
    std::ranges::shuffle(groups, random);
    groups.resize(std::min<size_t>(groups.size(), 8));
    for (const std::vector<Candidate>& group : groups) {
      const std::optional<Found> first = plan_candidate(request, group.front(), {});
      for (const Candidate& other : group) {
        const std::optional<Found> found = plan_candidate(request, other, {});
        QCOMPARE(found.has_value(), first.has_value());
        if (!found) continue;
        const std::string text = fmt::format("{}: {:.17g} {:.17g}, {} {} bytes", text_of(other), first->seconds,
                                             found->seconds, first->memory_bytes, found->memory_bytes);
        QVERIFY2(found->seconds == first->seconds && found->memory_bytes == first->memory_bytes, text.c_str());
        QCOMPARE(found->mfu, first->mfu);
        QCOMPARE(found->bubble, first->bubble);
        QCOMPARE(found->exposed_share, first->exposed_share);
        QCOMPARE(found->limit, first->limit);
      }
    }
  }
};

REGISTER_TEST(LinkOrderTest)

}  // namespace link_order_test

#include "link_order_test.moc"
