#include <QTemporaryDir>
#include <QTest>
#include <fstream>
#include <map>
#include <set>

#include "engine/compile/precision.h"
#include "engine/config/parse.h"
#include "engine/config/strategy.h"
#include "engine/config/write.h"
#include "engine/graph/op_definition.h"
#include "engine/machine/machine_library.h"
#include "tests/base/errors_of.h"
#include "tests/compile/system_preset.h"
#include "tests/test_program.h"

namespace precision_test {

using namespace shardscope;
using namespace shardscope::test;

namespace {

RunConfig llama(const std::vector<std::string>& settings, const std::vector<int64_t>& mesh = {1, 1}) {
  std::vector<std::string> all = system_preset("llama_tiny").small;
  all.insert(all.end(), settings.begin(), settings.end());
  return system_run("llama_tiny", all, mesh);
}

Plan planned(const std::string& precision, const std::vector<int64_t>& mesh = {1, 1},
             const std::vector<std::string>& more = {}) {
  std::vector<std::string> settings{"precision=" + precision, "sharding.mode=as_written"};
  settings.insert(settings.end(), more.begin(), more.end());
  return compile({llama(settings, mesh), reference_host()});
}

int64_t stored(const Plan& plan, MemoryCategory category) {
  int64_t sum = 0;
  for (const Buffer& buffer : plan.arenas[0].buffers) {
    if (buffer.persistent && buffer.category == category) sum += buffer.bytes;
  }
  return sum;
}

double share(int64_t part, int64_t whole) { return static_cast<double>(part) / static_cast<double>(whole); }

bool near(double value, double expected) { return std::abs(value - expected) < 0.02 * expected; }

std::set<DType> types_of(const Plan& plan, const std::string& collection) {
  std::set<DType> types;
  for (const State& state : plan.graph->states) {
    if (state.collection == collection) types.insert(plan.graph->type(state.before).dtype);
  }
  return types;
}

// Bytes of a step's collectives of a kind, by type.
std::map<DType, int64_t> payload(const Plan& plan, InstructionKind kind) {
  std::map<DType, int64_t> bytes;
  const SequenceInstructions steps = plan.instructions();
  for (int position = 0; position < steps.size(); ++position) {
    const CollectiveStart* start = steps[position].as<CollectiveStart>();
    if (start && steps[position].kind() == kind) bytes[start->dtype] += steps[position].payload_bytes();
  }
  return bytes;
}

Machine h100() { return *library_machine("dgx_h100"); }

}  // namespace

class PrecisionTest : public QObject {
  Q_OBJECT

 private slots:
  void states_have_the_types_of_the_recipe() {
    const std::set<DType> f32{DType::f32}, bf16{DType::bf16}, f16{DType::f16}, none;
    const std::map<std::string, std::array<std::set<DType>, 3>> expected = {{"f32", {f32, none, f32}},
                                                                            {"bf16", {bf16, none, bf16}},
                                                                            {"bf16_mixed", {bf16, f32, f32}},
                                                                            {"f16_mixed", {f16, f32, f32}},
                                                                            {"fp8_mixed", {bf16, f32, f32}}};
    for (const auto& [recipe, types] : expected) {
      const Plan plan = planned(recipe);
      QCOMPARE(types_of(plan, "params"), types[0]);
      QCOMPARE(types_of(plan, "optimizer/master"), types[1]);
      QCOMPARE(types_of(plan, "optimizer/mu"), types[2]);
    }
  }

  // Of Adam: parameters, two moments, a master copy; two bytes an element for four.
  void memory_is_that_of_the_types() {
    const Plan f32 = planned("f32"), bf16 = planned("bf16"), mixed = planned("bf16_mixed");
    const int64_t parameters = stored(f32, MemoryCategory::parameters);
    QVERIFY(near(share(stored(bf16, MemoryCategory::parameters), parameters), 0.5));
    QVERIFY(near(share(stored(mixed, MemoryCategory::parameters), parameters), 0.5));
    QVERIFY(near(share(stored(f32, MemoryCategory::optimizer), parameters), 2));
    QVERIFY(near(share(stored(bf16, MemoryCategory::optimizer), parameters), 1));
    QVERIFY(near(share(stored(mixed, MemoryCategory::optimizer), parameters), 3));
  }

  // Gradients are summed in f32 or bf16; parameters that ZeRO has split are gathered as they are stored.
  void collectives_send_the_types_of_the_recipe() {
    const std::vector<std::string> zero{"sharding.zero.stage=1"};
    for (const auto& [recipe, sums, gathers] : {std::tuple{"f32", DType::f32, DType::f32},
                                                {"bf16_mixed", DType::f32, DType::bf16},
                                                {"bf16", DType::bf16, DType::bf16}}) {
      const Plan plan = planned(recipe, {4, 1}, zero);
      std::map<DType, int64_t> scattered = payload(plan, InstructionKind::reduce_scatter);
      std::map<DType, int64_t> gathered = payload(plan, InstructionKind::all_gather);
      QVERIFY2(scattered[sums] > 9 * (scattered[DType::f32] + scattered[DType::bf16] - scattered[sums]), recipe);
      QCOMPARE(gathered.size(), size_t{1});
      QVERIFY(gathered.contains(gathers));
    }
  }

  void products_are_priced_in_the_type_of_their_operands() {
    const std::vector<std::string> large{"model.overrides.hidden_size=4096", "model.overrides.intermediate_size=16384",
                                         "data.batch_size=64", "data.sequence_length=1024"};
    std::map<std::string, double> seconds;
    for (const char* recipe : {"f32", "bf16_mixed", "fp8_mixed"}) {
      RunConfig config = llama(large);
      config.precision.recipe = recipe;
      seconds[recipe] = compile({config, h100()}).totals.seconds_per_step;
    }
    QVERIFY(seconds["fp8_mixed"] < 0.85 * seconds["bf16_mixed"]);
    QVERIFY(seconds["bf16_mixed"] < 0.5 * seconds["f32"]);
  }

  // Whatever types a file mixes.
  void every_mixture_of_types_is_planned_or_refused_at_its_key() {
    const std::vector<std::string> types{"f32", "bf16", "f16"};
    int planned_mixtures = 0;
    for (const char* compute : {"f32", "bf16", "f16", "f8"}) {
      for (const std::string& parameters : types) {
        for (const char* gradients : {"", "f32", "bf16", "f16"}) {
          for (const char* reduction : {"", "f32"}) {
            for (const bool ring : {false, true}) {
              RunConfig config = llama({"sharding.mode=as_written"}, {2, 1});
              config.precision = {"", compute, parameters, parameters == "f32" ? "" : "f32", gradients, reduction, ""};
              if (ring) config = with_strategy(config, {.context = 2, .microbatch_size = 2});
              const std::vector<Error> errors = validate(config);
              for (const Error& error : errors) QVERIFY(error.place.path.starts_with("precision."));
              if (!errors.empty()) continue;
              QVERIFY(compile({config, reference_host()}).totals.seconds_per_step > 0);
              ++planned_mixtures;
            }
          }
        }
      }
    }
    QVERIFY(planned_mixtures > 40);
  }

  void what_no_kernel_computes_is_planned_and_says_that_it_is_not_trained() {
    for (const char* recipe : {"f16_mixed", "fp8_mixed"}) {
      const Plan plan = planned(recipe);
      QVERIFY(plan.totals.seconds_per_step > 0 && plan.trains());
      QVERIFY(plan.training.refusal);
      QCOMPARE(to_string(plan.training.refusal->place), std::string("precision"));
    }
    QVERIFY(!planned("bf16").training.refusal);
  }

  void precision_comes_before_the_models_option_and_that_before_its_config() {
    QTemporaryDir folder;
    const std::string source = SHARDSCOPE_SOURCE_DIR "/presets/models/llama_tiny/config.json";
    std::ifstream file(source);
    std::string text((std::istreambuf_iterator<char>(file)), {});
    text.insert(text.find('{') + 1, "\"dtype\": \"bfloat16\",");
    std::ofstream(folder.filePath("config.json").toStdString()) << text;
    const auto products = [&](std::vector<std::string> settings) {
      settings.insert(settings.begin(), "model.path=" + folder.path().toStdString());
      const Plan plan = compile({llama(settings), reference_host()});
      return plan.bf16_products.empty() ? DType::f32 : DType::bf16;
    };
    QCOMPARE(products({}), DType::bf16);
    QCOMPARE(products({"model.compute_dtype=f32"}), DType::f32);
    QCOMPARE(products({"model.compute_dtype=f32", "precision=bf16_mixed"}), DType::bf16);
    QCOMPARE(products({"precision=f32"}), DType::f32);
    QCOMPARE(products({"precision.parameters=bf16"}), DType::bf16);
    QCOMPARE(products({"precision.compute=f32"}), DType::f32);
    QCOMPARE(products({"model.overrides.dtype=float32"}), DType::f32);
  }

  void without_a_precision_it_is_that_of_f32_parameters() {
    std::vector<Error> errors;
    QVERIFY(training_types({}, DType::f32, errors) == TrainingTypes{});
    const TrainingTypes bf16 = training_types({}, DType::bf16, errors);
    QVERIFY(!bf16.retype());
    QVERIFY(errors.empty());
  }

  void contradictions_are_errors_at_their_places() {
    const auto places = [](const std::vector<std::string>& settings) {
      std::string text;
      for (const Error& error : validate(llama(settings))) text += to_string(error.place) + ";";
      return text;
    };
    QCOMPARE(places({"precision.master=f32"}), std::string("precision.master;"));
    QCOMPARE(places({"precision.reduction=bf16"}), std::string("precision.reduction;"));
    QCOMPARE(places({"precision.compute=f8", "precision.reduction=bf16"}), std::string());
    QCOMPARE(errors_of([] { llama({"precision=bf17"}); })[0].code, std::string("unknown_recipe"));
    QCOMPARE(to_string(errors_of([] { llama({"precision.moments=f8"}); })[0].place),
             std::string("--set precision.moments"));
  }

  void what_is_written_is_read_again() {
    RunConfig config = llama({"precision.compute=bf16", "precision.moments=bf16"});
    QVERIFY(parse_run_config(write_run_config(config), "f") == config);
    config.precision = {};
    config.precision.recipe = "bf16_mixed";
    QVERIFY(write_run_config(config).find(R"("precision": "bf16_mixed")") != std::string::npos);
    QVERIFY(parse_run_config(write_run_config(config), "f") == config);
  }
};

REGISTER_TEST(PrecisionTest)

}  // namespace precision_test

#include "precision_test.moc"
