#include <fmt/format.h>

#include <QTest>
#include <cmath>
#include <random>

#include "engine/machine/chosen_machine.h"
#include "engine/search/layer_bound.h"
#include "engine/search/search.h"
#include "tests/compile/system_preset.h"
#include "tests/test_program.h"

namespace pipeline_bound_test {

using namespace shardscope;
using namespace shardscope::test;

namespace {

struct Network {
  const char* preset;
  const char* layers;  // setting of their number
};

// Deep enough for stages of several chunks.
RunConfig deep_run(std::mt19937& random) {
  static const Network networks[] = {
      {"llama_tiny", "model.overrides.num_hidden_layers"},       {"qwen3_tiny", "model.overrides.num_hidden_layers"},
      {"gemma3_tiny", "model.overrides.num_hidden_layers"},      {"mixtral_tiny", "model.overrides.num_hidden_layers"},
      {"deepseek_v3_tiny", "model.overrides.num_hidden_layers"}, {"nnx_gpt2", "model.num_layers"}};
  const Network& network = networks[random() % std::size(networks)];
  std::vector<std::string> settings = system_preset(network.preset).small;
  settings.push_back(std::string(network.layers) + (random() % 2 ? "=8" : "=9"));
  if (random() % 2 && std::string(network.preset) != "nnx_gpt2") settings.emplace_back("data.sequence_length=1024");
  return system_run(network.preset, settings, {1, 1});
}

// A published model on H100, by this program, of strategies with these numbers.
SearchRequest published_request(const std::string& model, const std::vector<std::string>& settings, int64_t devices,
                                const QString& fixed) {
  SearchRequest request;
  request.plan = {system_run("published/" + model, settings), chosen_machine("\"dgx_h100\"", {})};
  request.plan.config.stack.clear();
  request.devices = devices;
  for (const QString& number : fixed.split(' ')) fix(request.fixed, number.toStdString());
  return request;
}

// Each bound of a candidate is at most its plan's.
void check_bounds(const SearchRequest& request, const Bounds& bounds, LayerBounds& layers, const Candidate& candidate,
                  const Found& found) {
  std::vector<Bound> of = {bounds.of(candidate)};
  for (const ProfileKind kind : profile_kinds) of.push_back(layers.of(candidate, kind));
  for (size_t i = 0; i < of.size(); ++i) {
    const std::string text =
        fmt::format("{} {}, bound {}: {} s of {}, {} bytes of {}", request.plan.config.stack, text_of(candidate), i,
                    of[i].seconds, found.seconds, of[i].memory_bytes, found.memory_bytes);
    QVERIFY2(of[i].seconds <= found.seconds * (1 + 1e-9), text.c_str());
    QVERIFY2(of[i].memory_bytes <= found.memory_bytes, text.c_str());
  }
}

// The first candidate's bounds of these kinds are at most its plan, and no less than a share of it.
void check_tightness(const SearchRequest& request, std::initializer_list<ProfileKind> kinds, double share) {
  const std::vector<Candidate> all = candidates(model_limits(request.plan.config), request.devices, request.fixed);
  QVERIFY(!all.empty());
  const std::optional<Found> found = plan_candidate(request, all.front(), {});
  QVERIFY(found);
  LayerBounds layers(request.plan, request.devices);
  for (ProfileKind kind : kinds) {
    const double bound = layers.of(all.front(), kind).seconds;
    QVERIFY2(bound <= found->seconds && bound >= share * found->seconds,
             fmt::format("{} of {}", bound, found->seconds).c_str());
  }
}

}  // namespace

class PipelineBoundTest : public QObject {
  Q_OBJECT

 private slots:
  void bounds_of_pipelines_are_below_their_plans_data() {
    QTest::addColumn<int>("seed");
    QTest::addColumn<QString>("stack");
    QTest::addColumn<bool>("ahead");
    for (int seed = 1; seed <= 24; ++seed) QTest::addRow("%d", seed) << seed << "" << false;
    for (int seed = 2001; seed <= 2012; ++seed) QTest::addRow("%d, ahead", seed) << seed << "nanotron_2024" << true;
    // What another stack holds: copies of logits once, however many microbatches are in flight; results of chains that
    // are recomputed where more of them are.
    const char* held[] = {"megatron", "torchtitan", "nanotron", "nanotron_2024"};
    for (int seed : {5001, 5036, 5038, 5041, 5046, 5084, 5098, 5109, 5111, 5138})
      QTest::addRow("%d, held", seed) << seed << held[seed % 4] << false;
    // A first message that its stage was to wait for twice.
    QTest::addRow("1237") << 1237 << "" << false;
    // Parts of an embedding's gradient are summed behind all microbatches, or in each, as replicas decide.
    QTest::addRow("3143") << 3143 << "" << false;
    // The gradient of an embedding does not wait for the first layer's.
    QTest::addRow("4040, ahead") << 4040 << "nanotron_2024" << true;
    // Pipelines of one microbatch, which hold less within a pass than those of several.
    for (int seed : {7061, 7065, 7104}) QTest::addRow("%d", seed) << seed << "" << false;
    // Groups that block in a shortened network and not in the whole one.
    QTest::addRow("1233, megatron") << 1233 << "megatron" << false;
  }
  void bounds_of_pipelines_are_below_their_plans() {
    QFETCH(int, seed);
    QFETCH(QString, stack);
    QFETCH(bool, ahead);
    std::mt19937 random(static_cast<uint32_t>(seed));
    SearchRequest request;
    const char* machines[] = {"\"dgx_h100\"", "\"tpu_v5e\"", "\"dgx_a100_40gb\""};
    request.plan = {deep_run(random), chosen_machine(machines[random() % 3], {})};
    request.devices = 8;
    Machine& machine = request.plan.machine;
    for (Level& level : machine.levels) level.bytes_per_second *= std::exp2(static_cast<double>(random() % 13) - 6);
    if (random() % 2) machine.overlap.clear();
    const char* stacks[] = {"megatron", "torchtitan", "nanotron"};
    if (random() % 3 == 0 || seed > 5000) {
      const std::string one = stack.isEmpty() ? stacks[random() % 3] : stack.toStdString();
      request.plan.config.stack = fmt::format("\"{}\"", one);
    }
    if (ahead) {
      machine.device.issue_seconds = std::exp2(static_cast<double>(random() % 12)) * 1e-7;
      machine.device.issues_ahead = true;
    }
    fix(request.fixed, random() % 3 ? "pipeline=2,4,8" : "pipeline=1");
    const Bounds bounds(request.plan, request.devices);
    LayerBounds layers(request.plan, request.devices);
    std::vector<Candidate> all = candidates(model_limits(request.plan.config), request.devices, request.fixed);
    std::ranges::shuffle(all, random);
    all.resize(std::min<size_t>(all.size(), 16));
    for (const Candidate& candidate : all) {
      const std::optional<Found> found = plan_candidate(request, candidate, {});
      if (!found) continue;
      check_bounds(request, bounds, layers, candidate, *found);
      if (QTest::currentTestFailed()) return;
    }
  }

  // What the undivided bound knows of them is derived from shorter ones.
  void bounds_of_long_rings_are_below_their_plans_data() {
    QTest::addColumn<QString>("model");
    QTest::addColumn<QString>("fixed");
    for (const char* model : {"llama-3.1-8b", "mixtral-8x7b"}) {
      for (const char* rest : {"pipeline=1 tensor=1", "pipeline=2 tensor=1 pipeline_schedule=zero_bubble",
                               "pipeline=2 tensor=2 pipeline_schedule=1f1b"}) {
        for (const char* recompute : {"none", "full"}) {
          QTest::addRow("%s, %s, %s", model, rest, recompute)
              << model
              << QString("context=32 fsdp=1 zero=1 virtual_stages=1 microbatch_size=1 recompute=%1 %2")
                     .arg(recompute, rest);
        }
      }
    }
  }
  void bounds_of_long_rings_are_below_their_plans() {
    QFETCH(QString, model);
    QFETCH(QString, fixed);
    const SearchRequest request = published_request(
        model.toStdString(), {"data.batch_size=64", "data.sequence_length=8192", "model.overrides.num_hidden_layers=4"},
        128, fixed);
    const Bounds bounds(request.plan, request.devices);
    LayerBounds layers(request.plan, request.devices);
    const std::vector<Candidate> all = candidates(model_limits(request.plan.config), request.devices, request.fixed);
    QVERIFY(!all.empty());
    const std::optional<Found> found = plan_candidate(request, all.front(), {});
    QVERIFY(found);
    check_bounds(request, bounds, layers, all.front(), *found);
  }

  void bounds_of_experts_are_below_their_plans_data() {
    QTest::addColumn<QString>("model");
    QTest::addColumn<int>("devices");
    QTest::addColumn<QString>("fixed");
    // Where a microbatch has few tokens, these move over fsdp, and not the experts.
    QTest::newRow("fsdp, few tokens") << "mixtral-8x7b" << 64
                                      << "fsdp=2 pipeline=2 expert=2 context=4 tensor=2 virtual_stages=8 "
                                         "sequence_parallel=false microbatch_size=1 recompute=none,full";
    QTest::newRow("few tokens in parts") << "mixtral-8x7b" << 64
                                         << "fsdp=2 pipeline=2 expert=2 context=4 tensor=2 virtual_stages=1 "
                                            "sequence_parallel=true microbatch_size=1 recompute=selective";
    // Gradients of experts are as large as all else that a device holds.
    QTest::newRow("large gradients") << "deepseek-v3" << 2048
                                     << "fsdp=32 pipeline=16 expert=1 context=2 tensor=2 virtual_stages=1 "
                                        "sequence_parallel=true microbatch_size=1 recompute=full "
                                        "pipeline_schedule=1f1b data=1";
  }
  void bounds_of_experts_are_below_their_plans() {
    QFETCH(QString, model);
    QFETCH(int, devices);
    QFETCH(QString, fixed);
    const SearchRequest request = published_request(
        model.toStdString(), {fmt::format("data.batch_size={}", devices), "data.sequence_length=4096"}, devices, fixed);
    const Bounds bounds(request.plan, request.devices);
    LayerBounds layers(request.plan, request.devices);
    const std::vector<Candidate> all = candidates(model_limits(request.plan.config), request.devices, request.fixed);
    QVERIFY(!all.empty());
    for (size_t i = 0; i < std::min<size_t>(all.size(), 2); ++i) {
      const std::optional<Found> found = plan_candidate(request, all[i], {});
      QVERIFY(found);
      check_bounds(request, bounds, layers, all[i], *found);
      if (QTest::currentTestFailed()) return;
    }
  }

  // By which a search proves that nothing is better without planning it.
  void a_bound_of_own_layers_is_near_the_plan_data() {
    QTest::addColumn<QString>("fixed");
    QTest::newRow("1f1b") << "pipeline=8 context=1 pipeline_schedule=1f1b";
    QTest::newRow("zero bubble") << "pipeline=8 context=1 pipeline_schedule=zero_bubble";
    QTest::newRow("ring, 1f1b") << "pipeline=4 context=2 pipeline_schedule=1f1b";
    QTest::newRow("ring, zero bubble") << "pipeline=4 context=2 pipeline_schedule=zero_bubble";
    QTest::newRow("experts, 1f1b") << "pipeline=8 context=1 pipeline_schedule=1f1b";
    QTest::newRow("experts, zero bubble") << "pipeline=8 context=1 pipeline_schedule=zero_bubble";
  }
  void a_bound_of_own_layers_is_near_the_plan() {
    QFETCH(QString, fixed);
    const QString others =
        " tensor=4 data=2 sequence_parallel=true zero=1 microbatch_size=1 recompute=none "
        "virtual_stages=1";
    const bool has_experts = QString(QTest::currentDataTag()).startsWith("experts");
    const char* model = has_experts ? "mixtral-8x7b" : "llama-3.1-8b";
    check_tightness(published_request(model, {"data.batch_size=64"}, 64, fixed + others), {ProfileKind::own},
                    has_experts ? 0.9 : 0.97);
  }

  // Where links are slow, what replicas move is nearly all of a step.
  void bounds_count_what_replicas_move_data() {
    QTest::addColumn<QString>("fixed");
    QTest::newRow("fsdp") << "data=1 fsdp=16 zero=0 pipeline=1";
    QTest::newRow("zero 2") << "data=16 fsdp=1 zero=2 pipeline=1";
    QTest::newRow("zero 1") << "data=16 fsdp=1 zero=1 pipeline=1";
    QTest::newRow("all-reduce") << "data=16 fsdp=1 zero=0 pipeline=1";
    QTest::newRow("fsdp of a stage") << "data=1 fsdp=4 zero=0 pipeline=4 pipeline_schedule=zero_bubble";
    QTest::newRow("zero 3 over data and a ring") << "data=8 context=2 fsdp=1 zero=3 pipeline=1";
    QTest::newRow("zero 1 of a stage") << "data=4 fsdp=1 zero=1 pipeline=4 pipeline_schedule=1f1b";
  }
  void bounds_count_what_replicas_move() {
    QFETCH(QString, fixed);
    SearchRequest request = published_request("llama-3.1-8b", {"data.batch_size=128", "data.sequence_length=8192"}, 16,
                                              fixed + " tensor=1 microbatch_size=1 recompute=none virtual_stages=1" +
                                                  (fixed.contains("context") ? "" : " context=1"));
    for (Level& level : request.plan.machine.levels) level.bytes_per_second /= 256;
    check_tightness(request, {ProfileKind::proportional, ProfileKind::coarse}, 0.7);
  }

  // Orders of axes that share a profile: the bound by that of the other is the bound by its own.
  void orders_that_links_do_not_tell_apart_have_equal_bounds() {
    std::mt19937 random(5);
    SearchRequest request;
    const SystemPreset& system = system_preset("llama_tiny");
    request.plan = {system_run(system.name, system.small, {1, 1}), chosen_machine("\"dgx_h100\"", {})};
    request.devices = 32;
    fix(request.fixed, "pipeline=2,4");
    fix(request.fixed, "microbatch_size=1");
    std::vector<Candidate> all = candidates(model_limits(request.plan.config), request.devices, request.fixed);
    std::erase_if(all, [](const Candidate& candidate) { return candidate.strategy.order.empty(); });
    std::ranges::shuffle(all, random);
    int shared = 0, own = 0;
    for (size_t i = 0; i < all.size() && (shared < 16 || own < 4); ++i) {
      Candidate other = all[i];
      other.strategy.order.clear();
      LayerBounds of_both(request.plan, request.devices), alone(request.plan, request.devices);
      const auto key_of = [&](const Candidate& one) { return alone.profiles().key_of(one, ProfileKind::own); };
      const bool is_shared = key_of(all[i]) == key_of(other);
      ++(is_shared ? shared : own);
      if (!is_shared) continue;
      of_both.of(other, ProfileKind::own);
      const Bound by_other = of_both.of(all[i], ProfileKind::own), by_its_own = alone.of(all[i], ProfileKind::own);
      QVERIFY2(by_other.seconds == by_its_own.seconds, text_of(all[i]).c_str());
      QVERIFY2(by_other.memory_bytes == by_its_own.memory_bytes, text_of(all[i]).c_str());
      QVERIFY2(by_other.likely_bytes == by_its_own.likely_bytes, text_of(all[i]).c_str());
    }
    QVERIFY(shared >= 16 && own >= 4);
  }
};

REGISTER_TEST(PipelineBoundTest)

}  // namespace pipeline_bound_test

#include "pipeline_bound_test.moc"
