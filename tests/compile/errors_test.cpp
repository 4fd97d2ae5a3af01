#include <QTest>
#include <algorithm>

#include "engine/base/units.h"
#include "engine/compile/compile.h"
#include "engine/machine/host_machine.h"
#include "engine/plan/host_memory.h"
#include "tests/base/errors_of.h"
#include "tests/compile/preset.h"
#include "tests/compile/system_preset.h"
#include "tests/test_program.h"

namespace errors_test {

using namespace shardscope;
using namespace shardscope::test;

namespace {

using Faults = std::vector<std::pair<std::string, std::string>>;  // code, place; sorted

Faults sorted(const std::vector<Error>& errors) {
  Faults faults;
  for (const Error& error : errors) faults.emplace_back(error.code, to_string(error.place));
  std::sort(faults.begin(), faults.end());
  return faults;
}

Faults faults_of(const RunConfig& config) {
  return sorted(errors_of([&] { compile({config, reference_host()}); }));
}

RunConfig decoder() { return preset("parallax_decoder", {4, 2}, LayoutMode::fastest); }

void set(NamedOptions& section, const std::string& key, OptionValue value) {
  for (auto& [name, old] : section.options) {
    if (name == key) old = value;
  }
  if (!section.find(key)) section.options.emplace_back(key, value);
}

const std::string parameters = "sharding.parameters.";

}  // namespace

class ErrorsTest : public QObject {
  Q_OBJECT

 private slots:
  void every_fault_of_every_section_is_reported_at_once() {
    RunConfig config = decoder();
    set(config.model, "num_head", int64_t{8});
    set(config.optimizer, "learning_rate", std::string("fast"));
    set(config.data, "batch_size", int64_t{0});
    config.sharding.in = {{{"rows"}}};
    set_parameter_spec(config.sharding, {"params", "Embed_0", "embedding"}, {{{"data"}, {"data"}}});
    set_parameter_spec(config.sharding, {"params", "Embed_1", "embedding"}, {{{"data"}}});
    set_parameter_spec(config.sharding, {"params", "Dense_0", "bias"}, {{{}, {"model"}}});
    config.mesh_axes[0].size = 0;
    const Faults expected{{"axis_size", "mesh.axes[0].size"},
                          {"duplicate_axis", parameters + "params.Embed_0.embedding[1]"},
                          {"out_of_range", "data.batch_size"},
                          {"rank", parameters + "params.Dense_0.bias"},
                          {"unknown_axis", "sharding.in[0]"},
                          {"unknown_key", "model.num_head"},
                          {"unknown_parameter", parameters + "params.Embed_1.embedding"},
                          {"wrong_type", "optimizer.learning_rate"}};
    const Faults found = faults_of(config);
    std::string text;
    for (const auto& [code, place] : found) text += code + " " + place + "\n";
    QVERIFY2(found == expected, text.c_str());
  }

  void a_mistaken_hyperparameter_brings_no_further_faults_about_shapes() {
    RunConfig config = decoder();
    set(config.model, "embed_dim", int64_t{-1});
    set(config.model, "num_layers", std::string("many"));
    set_parameter_spec(config.sharding, {"params", "SelfAttentionBlock_7", "LayerNorm_0", "bias"}, {{{"model"}}});
    set_parameter_spec(config.sharding, {"params", "Dense_0", "bias"}, {{{"modle"}}});
    const Faults expected{{"out_of_range", "model.embed_dim"},
                          {"unknown_axis", parameters + "params.Dense_0.bias[0]"},
                          {"wrong_type", "model.num_layers"}};
    QVERIFY(faults_of(config) == expected);
  }

  void a_mesh_that_cannot_be_made_brings_no_faults_of_division() {
    RunConfig config = decoder();
    config.mesh_devices = {0, 0, 1, 2, 3, 4, 5, 6};
    config.mesh_axes.push_back({"model", 3});
    const Faults found = faults_of(config);
    QVERIFY(!found.empty());
    for (const auto& [code, place] : found) QVERIFY2(place.starts_with("mesh"), place.c_str());
  }

  void the_hint_of_an_unknown_name_is_a_near_one() {
    RunConfig config = decoder();
    config.model.name = "decoder_only_transfomer";
    config.optimizer.name = "adan";
    config.data.name = "synthetic";
    const Faults expected{
        {"unknown_data_kind", "data.kind"}, {"unknown_model", "model.name"}, {"unknown_optimizer", "optimizer.name"}};
    QVERIFY(faults_of(config) == expected);
    for (const Error& error : validate(config)) QVERIFY2(error.hint.size() > 5, to_string(error).c_str());

    config = decoder();
    set_parameter_spec(config.sharding, {"params", "Embed_0", "embeding"}, {});
    QCOMPARE(QString::fromStdString(validate(config).at(0).hint), QString("did you mean 'params/Embed_0/embedding'?"));
  }

  void data_that_lack_an_input_of_the_model_are_a_located_fault() {
    RunConfig config = decoder();
    config.data.name = "normal";
    QVERIFY(faults_of(config) == (Faults{{"data_kind", "data.kind"}}));
    QCOMPARE(validate(config).at(0).hint,
             std::string("kinds that fit: synthetic_lm, random_rolled, numpy_batches, zeros, text, tokens"));
    config.data.name = "random_rolled";
    QVERIFY(faults_of(config).empty());
  }

  void faults_of_the_documents_other_systems_are_located() {
    const auto faults = [](const char* name, const std::vector<std::string>& settings) {
      return faults_of(system_run(name, settings));
    };
    QVERIFY(faults("tiny_lm_dp", {"model.n_heads=7"}) == (Faults{{"indivisible", "model.d_model"}}));
    QVERIFY(faults("tiny_lm_dp", {"model.n_heads=3", "model.d_model=33"}) ==
            (Faults{{"indivisible", "model.d_model"}}));
    QVERIFY(faults("tiny_lm_dp", {"model.seq_len=1"}) == (Faults{{"out_of_range", "model.seq_len"}}));
    QVERIFY(faults("tiny_lm_fsdp", {"data.dataset_size=31"}) == (Faults{{"out_of_range", "data.dataset_size"}}));
    const std::string norm = "sharding.constraints.blocks_*/LayerNorm_0/layer_norm";
    QVERIFY(
        faults("tiny_lm_fsdp", {"data.batch_size=12"}) ==
        (Faults{{"indivisible", norm + "[0]"}, {"indivisible", "sharding.in[0]"}, {"indivisible", "sharding.out[0]"}}));
    QVERIFY(faults("nnx_gpt2", {"model.num_heads=7"}) == (Faults{{"indivisible", "model.embed_dim"}}));
    const Faults heads = faults("nnx_gpt2", {"model.num_heads=4", "mesh.batch=1", "mesh.model=8"});
    QVERIFY(!heads.empty());
    for (const auto& [code, place] : heads) {
      QCOMPARE(code, std::string("indivisible"));
      QVERIFY2(place.starts_with("sharding.parameters.params"), place.c_str());
    }
    RunConfig normal = system_run("tiny_lm_fsdp", {});
    normal.data = {"normal", {{"batch_size", int64_t{32}}}};
    QVERIFY(faults_of(normal) == (Faults{{"data_kind", "data.kind"}}));
  }

  void validate_tells_what_compile_would_throw() {
    RunConfig config = decoder();
    QVERIFY(validate(config).empty());
    set(config.model, "num_heads", int64_t{7});
    set(config.data, "batch_size", int64_t{6});
    QVERIFY(sorted(validate(config)) == faults_of(config));
    QVERIFY(!validate(config).empty());
  }

  void arrays_beyond_any_memory_are_a_fault_not_a_wrong_number() {
    for (auto [key, size] :
         std::vector<std::pair<std::string, int64_t>>{{"embed_dim", 10000000}, {"seq_len", 10000000}}) {
      RunConfig config = decoder();
      set(config.model, key, size);
      set(config.data, "batch_size", int64_t{10000000});
      config.sharding.parameters.clear();
      config.sharding.in = config.sharding.out = {};
      const Faults found = faults_of(config);
      QVERIFY(!found.empty());
      QCOMPARE(found[0].first, std::string("too_large"));
      QVERIFY(sorted(validate(config)) == found);
    }
  }

  void a_request_to_stop_cancels() {
    std::stop_source source;
    source.request_stop();
    QVERIFY_THROWS_EXCEPTION(Cancelled, compile({decoder(), reference_host()}, source.get_token()));
  }

  void a_machine_with_fewer_devices_than_the_mesh_is_an_error_where_its_size_is_said() {
    RunConfig config = decoder();
    const auto error_of = [&](const std::string& machine) {
      config.machine = machine;
      return errors_of([&] { plan_request(config); });
    };
    QVERIFY(error_of(R"({"name": "dgx_h100", "nodes": 1})").empty());
    config.mesh_axes[0].size = 8;
    for (const auto& [machine, place, right] :
         {std::tuple(R"({"name": "dgx_h100", "nodes": 1})", "machine.nodes", "2 nodes"),
          {R"({"name": "dgx_h100", "devices": 8})", "machine.devices", "16 devices"}}) {
      const std::vector<Error> errors = error_of(machine);
      QCOMPARE(errors.size(), size_t{1});
      QCOMPARE(errors[0].place.path, std::string(place));
      QCOMPARE(errors[0].message, std::string("the machine has 8 devices, the mesh 16"));
      QVERIFY2(errors[0].hint.find(right) != std::string::npos, errors[0].hint.c_str());
      QVERIFY(errors_of([&] { plan_request(for_devices(config, 4)); }).empty());
    }
  }

  void ranks_that_exceed_the_hosts_memory_are_refused_with_the_numbers_unless_forced() {
    Machine machine = reference_host();
    const Plan fits = compile({decoder(), machine});
    require_host_memory(fits, false);
    const int64_t needed = fits.totals.memory_total * 8;
    machine.device.memory_bytes = needed;
    QVERIFY(!host_memory_excess(compile({decoder(), machine})));
    machine.device.memory_bytes = 1 << 20;  // beyond what any layout can save
    const Plan larger = compile({decoder(), machine});
    const std::vector<Error> errors = errors_of([&] { require_host_memory(larger, false); });
    QCOMPARE(errors.size(), size_t{1});
    QCOMPARE(errors[0].code, std::string("memory"));
    const std::string together = bytes_text(double(larger.totals.memory_total) * 8);
    QVERIFY(errors[0].message.find(together + " together, the host has 1.00 MiB") != std::string::npos);
    QVERIFY(errors[0].hint.find("--force") != std::string::npos);
    require_host_memory(larger, true);
  }

  void what_checkpoints_copy_is_part_of_what_a_host_needs() {
    Machine machine = reference_host();
    const int64_t arenas = compile({decoder(), machine}).totals.memory_total * 8;
    machine.device.memory_bytes = arenas + (8 << 20);
    const Plan plan = compile({decoder(), machine});
    std::vector<int64_t> copied(8);
    copied[1] = 8 << 20;
    require_host_memory(plan, false, copied);
    require_host_memory(plan, {0, 1}, plan.totals.memory_total, false, copied);
    copied[6] = 1;
    for (const RankRange& ranks : {RankRange{0, 8}, RankRange{1, 1}}) {
      const std::vector<Error> errors =
          errors_of([&] { require_host_memory(plan, ranks, plan.totals.memory_total * ranks.count, false, copied); });
      QCOMPARE(errors.size(), size_t{1});
      QVERIFY2(errors[0].message.find(", 8.00 MiB of it for checkpoints, the host has ") != std::string::npos,
               errors[0].message.c_str());
    }
    QCOMPARE(errors_of([&] { require_host_memory(plan, false, copied); }).size(), size_t{1});
    require_host_memory(plan, true, copied);
  }

  // Each device of its own memory: the heaviest is compared with one.
  void a_plan_for_devices_with_too_little_memory_names_the_heaviest_and_the_machine() {
    Machine machine = reference_host();
    machine.name = "small";
    machine.device.kind = DeviceKind::own;
    const Plan plan = compile({decoder(), machine});
    machine.device.memory_bytes = plan.totals.memory_total;
    QVERIFY(!host_memory_excess(compile({decoder(), machine})));
    machine.device.memory_bytes = 1 << 20;
    const Plan larger = compile({decoder(), machine});
    const std::optional<Error> excess = host_memory_excess(larger);
    QVERIFY(excess.has_value());
    const std::vector<Error> refused = errors_of([&] { require_host_memory(larger, false); });
    QVERIFY(refused.size() == 1 && refused[0].message == excess->message);
    QCOMPARE(excess->message, "the heaviest device needs " + bytes_text(double(larger.totals.memory_total)) +
                                  ", a device of small has 1.00 MiB");
  }
};

REGISTER_TEST(ErrorsTest)

}  // namespace errors_test

#include "errors_test.moc"
