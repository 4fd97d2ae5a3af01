#include "engine/export/strategy_format.h"

#include <QtTest>
#include <nlohmann/json.hpp>

#include "engine/compile/layer_count.h"
#include "engine/config/strategy.h"
#include "tests/base/errors_of.h"
#include "tests/compile/system_preset.h"
#include "tests/config/random_strategy.h"
#include "tests/export/exported.h"
#include "tests/test_program.h"

namespace strategy_format_test {

using namespace shardscope;
using namespace shardscope::test;

namespace {

// Of a model of 16 layers, so that virtual stages can be cut.
PortableStrategy portable_of(const StrategyConfig& strategy) {
  RunConfig config;
  config.model = {"nnx_gpt2", {{"num_layers", int64_t{16}}}};
  config.data = {"random_rolled", {{"batch_size", int64_t{1024}}}};
  config.sharding.mode = LayoutMode::as_written;
  return portable_strategy(with_strategy(config, strategy));
}
PortableStrategy random_portable(RandomStrategies& strategies) { return portable_of(strategies.next()); }

}  // namespace

class StrategyFormatTest : public QObject {
  Q_OBJECT

 private slots:
  // What a program is given is what is read of it; what it cannot express is an error at its place.
  void a_strategy_is_read_as_it_was_written_or_refused_at_its_place_data() {
    QTest::addColumn<std::string>("format");
    for (const StrategyFormat& format : strategy_formats()) {
      if (format.read) QTest::newRow(format.name.c_str()) << format.name;
    }
  }
  void a_strategy_is_read_as_it_was_written_or_refused_at_its_place() {
    QFETCH(std::string, format);
    const StrategyFormat& known = *find_strategy_format(format);
    RandomStrategies strategies(1, 512);
    int written = 0, refused = 0;
    for (int i = 0; i < 2000; ++i) {
      const PortableStrategy portable = random_portable(strategies);
      std::string text;
      try {
        text = known.write(portable).text;
      } catch (const Failure& failure) {
        ++refused;
        for (const Error& error : failure.errors()) {
          QVERIFY2(error.place.path.starts_with("strategy."), to_string(error).c_str());
          QVERIFY2(!error.hint.empty(), to_string(error).c_str());
        }
        continue;
      }
      ++written;
      const PortableStrategy read = known.read(text, "f", 0, portable.layers);
      QVERIFY2(read == portable, text.c_str());
    }
    QVERIFY2(written > 50 && refused > 50, qPrintable(QString("%1 %2").arg(written).arg(refused)));
  }

  // Of `data`, `expert` and `context`, which have the same parameters.
  void zero_over_any_of_its_axes_is_said_or_refused_data() {
    QTest::addColumn<std::string>("axis");
    for (const char* axis : {"data", "expert", "context"}) QTest::newRow(axis) << std::string(axis);
  }
  void zero_over_any_of_its_axes_is_said_or_refused() {
    QFETCH(std::string, axis);
    for (const int64_t stage : {0, 1, 2, 3}) {
      StrategyConfig strategy;
      *find_degree(strategy, axis) = 4;
      strategy.zero = stage;
      strategy.recompute = "none";
      const PortableStrategy portable = portable_of(strategy);
      const StrategyFormat& megatron = *find_strategy_format("megatron");
      const std::string text = megatron.write(portable).text;
      QCOMPARE(text.find("--use-distributed-optimizer") != std::string::npos, stage > 0);
      QVERIFY2(megatron.read(text, "f", 0, portable.layers) == portable, text.c_str());
      for (const char* other : {"torchtitan", "maxtext"}) {
        const bool is_said = stage == 3 || (stage == 1 && axis == "data" && std::string(other) == "maxtext");
        const std::vector<Error> errors = errors_of([&] { find_strategy_format(other)->write(portable); });
        QVERIFY2(stage == 0 || errors.empty() == is_said, other);
        for (const Error& error : errors) QVERIFY(stage == 0 || error.place.path == "strategy.zero");
      }
    }
  }

  void zero_3_over_replicas_is_fsdp_in_any_order() {
    for (const std::vector<std::string>& order :
         {std::vector<std::string>{}, {"data", "fsdp", "pipeline"}, {"data", "pipeline"}}) {
      StrategyConfig strategy, sharded;
      strategy.data = sharded.fsdp = 4;
      strategy.pipeline = sharded.pipeline = 2;
      strategy.zero = 3;
      strategy.order = order;
      sharded.order = order.empty() ? order : std::vector<std::string>{"fsdp", "pipeline"};
      QVERIFY(portable_of(strategy) == portable_of(sharded));
    }
  }

  // By torchtitan's rules: stages = ceil((layers + first less + last less) / layers per stage), a multiple of ranks.
  void stages_of_torchtitan_are_those_of_the_strategy() {
    StrategyConfig strategy;
    strategy.pipeline = 4;
    strategy.virtual_stages = 2;
    const StrategyFormat& titan = *find_strategy_format("torchtitan");
    const std::string text = titan.write(portable_of(strategy)).text;
    for (const char* line :
         {"pipeline_parallel_first_stage_less_layers = 0\n", "pipeline_parallel_last_stage_less_layers = 0\n",
          "pipeline_parallel_layers_per_stage = 2\n"})
      QVERIFY2(text.find(line) != std::string::npos, text.c_str());
    const auto chunks = [&](const std::string& more, int64_t layers) {
      return titan
          .read(
              "[parallelism]\ndata_parallel_shard_degree = 1\npipeline_parallel_degree = 4\n"
              "pipeline_parallel_schedule = \"Interleaved1F1B\"\n" +
                  more + "[activation_checkpoint]\nmode = \"full\"\n",
              "f", 4, layers)
          .strategy.virtual_stages;
    };
    QCOMPARE(chunks("pipeline_parallel_layers_per_stage = 4\n", 30), int64_t{2});
    QCOMPARE(chunks("", 32), int64_t{2});
    QCOMPARE(error_of([&] { chunks("pipeline_parallel_layers_per_stage = 4\n", 32); }).place.line, 5);
  }

  // Replicas beside another axis would be DDP, which is refused there; shards lie over context and experts as well.
  void torchtitan_is_given_what_it_runs_as_planned() {
    const auto refused = [](int64_t data, int64_t fsdp, int64_t tensor, int64_t context, int64_t expert, int64_t zero) {
      StrategyConfig strategy;
      strategy.data = data, strategy.fsdp = fsdp, strategy.tensor = tensor;
      strategy.context = context, strategy.expert = expert, strategy.zero = zero;
      strategy.sequence_parallel = true;
      const std::vector<Error> errors =
          errors_of([&] { find_strategy_format("torchtitan")->write(portable_of(strategy)); });
      return errors.empty() ? std::string() : errors.front().place.path;
    };
    QCOMPARE(refused(2, 1, 1, 1, 1, 0), std::string());
    QCOMPARE(refused(2, 1, 4, 1, 1, 0), std::string("strategy.data"));
    QCOMPARE(refused(2, 2, 4, 1, 1, 0), std::string());
    QCOMPARE(refused(1, 1, 1, 4, 1, 0), std::string("strategy.context"));
    QCOMPARE(refused(1, 1, 1, 1, 4, 0), std::string("strategy.expert"));
    QCOMPARE(refused(1, 2, 1, 4, 1, 0), std::string("strategy.fsdp"));
    QCOMPARE(refused(2, 1, 4, 4, 4, 3), std::string());
  }

  void parts_of_a_file_of_torchtitan_that_no_strategy_says_are_errors_at_their_lines() {
    const auto line = [](const std::string& text) {
      return error_of([&] {
               find_strategy_format("torchtitan")
                   ->read("[parallelism]\n" + text + "[activation_checkpoint]\nmode = \"full\"\n", "f", 0, 16);
             })
          .place.line;
    };
    QCOMPARE(line("data_parallel_replicate_degree = 2\ndata_parallel_shard_degree = 2\ncontext_parallel_degree = 2\n"),
             2);
    QCOMPARE(line("data_parallel_shard_degree = 4\ntensor_parallel_degree = 2\nexpert_parallel_degree = 4\n"), 4);
  }

  // What its own checks refuse is refused before: arguments.py, parallel_state.py and moe_layer.py.
  void megatron_is_given_nothing_that_its_own_checks_refuse() {
    const StrategyFormat& megatron = *find_strategy_format("megatron");
    const auto refused = [&](const StrategyConfig& strategy) {
      const std::vector<Error> errors = errors_of([&] { megatron.write(portable_of(strategy)); });
      return errors.empty() ? std::string() : errors.front().place.path;
    };
    StrategyConfig outermost;
    outermost.data = outermost.pipeline = outermost.expert = 2;
    outermost.order = {"data", "pipeline", "expert"};
    QCOMPARE(refused(outermost), std::string("strategy.order"));
    outermost.order.clear();
    QCOMPARE(refused(outermost), std::string());
    StrategyConfig experts;
    experts.expert = experts.tensor = 2;
    QCOMPARE(refused(experts), std::string("strategy.sequence_parallel"));
    experts.sequence_parallel = true;
    QCOMPARE(refused(experts), std::string());
    for (const int64_t zero : {1, 2, 3}) {
      StrategyConfig sharded;
      sharded.data = 4;
      sharded.zero = zero;
      const std::string text = megatron.write(portable_of(sharded)).text;
      QCOMPARE(text.find("--use-megatron-fsdp") != std::string::npos, zero > 1);
      QCOMPARE(text.find("--ckpt-format fsdp_dtensor") != std::string::npos, zero > 1);
    }
  }

  void experts_over_the_devices_of_context_are_noted() {
    for (const int64_t context : {1, 2}) {
      StrategyConfig strategy;
      strategy.expert = 4;
      strategy.context = context;
      strategy.zero = 3;
      for (const char* format : {"megatron", "torchtitan"})
        QCOMPARE(find_strategy_format(format)->write(portable_of(strategy)).notes.size(), size_t(context > 1));
    }
  }

  void layers_of_chunks_are_those_of_the_plan() {
    int pipelines = 0;
    for (const std::string& name : all_presets()) {
      const RunConfig config = load_run_file(preset_path(name));
      if (config.pipeline.axis.empty()) continue;
      QVERIFY2(layers_of_chunks({config, reference_host()}) == preset_plan(name)->pipeline.layers, name.c_str());
      ++pipelines;
    }
    QVERIFY(pipelines > 3);
  }

  // 126 layers in 16 stages are 8 for each with embedding and loss, as Llama 3.1 405B has them.
  void stages_of_megatron_have_equally_many_layers_or_count_embedding_and_loss() {
    PortableStrategy portable;
    portable.strategy.pipeline = 16;
    portable.strategy.recompute = "none";
    portable.strategy.microbatch_size = 1;
    portable.batch_size = 64;
    const StrategyFormat& megatron = *find_strategy_format("megatron");
    const auto counts_ends = [&](int64_t layers) {
      portable.layers = layers;
      return megatron.write(portable).text.find("--account-for-loss-in-pipeline-split") != std::string::npos;
    };
    QVERIFY(!counts_ends(128) && counts_ends(126));
    portable.layers = 120;
    const Error error = error_of([&] { megatron.write(portable); });
    QCOMPARE(error.place.path, std::string("strategy.pipeline"));
    QVERIFY2(error.hint.find("120") != std::string::npos, error.hint.c_str());
  }

  void what_people_write_is_read() {
    const char* script = R"(#!/bin/bash
GPUS=64
MODEL_PARALLEL_ARGS=(
    --tensor-model-parallel-size 8   # one node
    --pipeline-model-parallel-size "4" \
    --num-layers-per-virtual-pipeline-stage=5 --num-layers 40
    --sequence-parallel --use-distributed-optimizer
)
torchrun --nproc_per_node 8 pretrain_gpt.py ${MODEL_PARALLEL_ARGS[@]} --micro-batch-size 1 --global-batch-size 128
)";
    const PortableStrategy read = find_strategy_format("megatron")->read(script, "run.sh", 64, 0);
    StrategyConfig expected;
    expected.data = 2;
    expected.tensor = 8;
    expected.pipeline = 4;
    expected.virtual_stages = 2;
    expected.sequence_parallel = true;
    expected.zero = 1;
    expected.microbatch_size = 1;
    expected.recompute = "none";
    QVERIFY(read.strategy == expected);
    QCOMPARE(read.batch_size, int64_t{128});
    const PortableStrategy titan =
        find_strategy_format("torchtitan")
            ->read(
                "[training]\nlocal_batch_size = 2 # of a rank\n[parallelism]\ndata_parallel_shard_degree = -1\n"
                "tensor_parallel_degree = 4\n[activation_checkpoint]\nmode = 'full'\n",
                "x.toml", 32, 32);
    QCOMPARE(titan.strategy.fsdp, int64_t{8});
    QCOMPARE(titan.batch_size, int64_t{16});
    QCOMPARE(titan.strategy.recompute, std::string("full"));
    const PortableStrategy maxtext = find_strategy_format("maxtext")->read(
        "ici_fsdp_parallelism: -1\ndcn_data_parallelism: 2\nper_device_batch_size: 4\nremat_policy: 'full'\n", "x.yml",
        512, 32);
    QCOMPARE(maxtext.strategy.fsdp, int64_t{256});
    QCOMPARE(maxtext.strategy.data, int64_t{2});
    QCOMPARE(maxtext.batch_size, int64_t{2048});
  }

  void what_a_run_file_cannot_say_is_an_error_at_its_line() {
    const auto error = [](const char* format, const char* text, int64_t devices) {
      return error_of([&] { find_strategy_format(format)->read(text, "f", devices, 24); });
    };
    QCOMPARE(error("megatron", "\n--tensor-model-parallel-size x\n", 8).place.line, 2);
    QCOMPARE(error("megatron", "--tensor-model-parallel-size 3\n", 8).code, std::string("strategy_file"));
    QCOMPARE(error("torchtitan",
                   "[parallelism]\npipeline_parallel_degree = 2\n"
                   "pipeline_parallel_schedule = \"ZBVZeroBubble\"\n",
                   8)
                 .place.line,
             3);
    QCOMPARE(error("maxtext", "a: 1\nremat_policy: custom\n", 8).place.line, 2);
    QCOMPARE(error("maxtext", "\nici_pipeline_parallelism: 4\n", 8).hint,
             std::string("num_layers_per_pipeline_stage: 6"));
  }

  // Keys that change what runs, and that no strategy says.
  void what_changes_the_strategy_is_read_or_an_error_at_its_line_data() {
    QTest::addColumn<std::string>("format");
    QTest::addColumn<std::string>("text");
    QTest::addColumn<int>("line");  // 0: it is read
    const auto row = [](const char* format, const char* text, int line) {
      QTest::newRow(qPrintable(QString(text).simplified())) << std::string(format) << std::string(text) << line;
    };
    const char* const megatron = "megatron";
    row(megatron, "--pipeline-model-parallel-size 4\n--decoder-first-pipeline-num-layers 5", 2);
    row(megatron, "--pipeline-model-parallel-size 4\n--decoder-last-pipeline-num-layers 5", 2);
    row(megatron, "--pipeline-model-parallel-size 2\n--pipeline-model-parallel-layout E|t*12|t*12,L", 2);
    row(megatron, "--recompute-granularity full\n--recompute-method block", 2);
    row(megatron, "--recompute-granularity full\n--recompute-num-layers 4", 2);
    row(megatron, "--recompute-granularity full\n--recompute-method uniform --recompute-num-layers 1", 0);
    row(megatron, "--recompute-activations\n--recompute-modules mlp", 2);
    row(megatron, "--use-distributed-optimizer\n--num-distributed-optimizer-instances 2", 2);
    const char* const titan = "torchtitan";
    row(titan, "[activation_checkpoint]\nmode = \"selective\"\nselective_ac_option = \"2\"", 3);
    row(titan, "[activation_checkpoint]\nmode = \"selective\"", 2);
    row(titan, "[activation_checkpoint]\nmode = \"selective\"\nselective_ac_option = \"op\"", 0);
    row(titan, "[activation_checkpoint]\nmode = \"full\"", 0);
    row(titan, "[parallelism]\ndata_parallel_shard_degree = 4", 2);
    const char* const maxtext = "maxtext";
    row(maxtext, "ici_tensor_parallelism: 4", 0);
    row(maxtext, "\nici_fsdp_parallelism: 4\ndcn_data_parallelism: 1", 2);
    row(maxtext, "\nici_tensor_parallelism: 3", 2);
    row(maxtext, "ici_data_parallelism: 2\nshard_optimizer_over_data: true", 2);
    row(maxtext, "ici_context_parallelism: 2\nici_data_parallelism: 2", 2);
  }
  void what_changes_the_strategy_is_read_or_an_error_at_its_line() {
    QFETCH(std::string, format);
    QFETCH(std::string, text);
    QFETCH(int, line);
    const std::string whole = format == "torchtitan" && text.find("[act") == std::string::npos
                                  ? text + "\n[activation_checkpoint]\nmode = \"full\""
                                  : text;
    const std::vector<Error> errors = errors_of([&] { find_strategy_format(format)->read(whole, "f", 8, 24); });
    QVERIFY2(errors.size() <= 1, whole.c_str());
    QCOMPARE(errors.empty() ? 0 : errors.front().place.line, line);
    if (!errors.empty()) QVERIFY(!errors.front().hint.empty());
  }

  // -1 is all that are left; of ici_fsdp and dcn_data that is usual.
  void degrees_of_maxtext_have_its_own_defaults() {
    const auto read = [](const std::string& text, int64_t devices) {
      return find_strategy_format("maxtext")->read(text, "f", devices, 24).strategy;
    };
    QCOMPARE(read("ici_tensor_parallelism: 4\n", 32).fsdp, int64_t{8});
    QCOMPARE(read("dcn_data_parallelism: -1\nici_fsdp_parallelism: -1\n", 32).fsdp, int64_t{32});
    QCOMPARE(read("ici_fsdp_parallelism: 8\n", 32).data, int64_t{4});
    QCOMPARE(read("ici_fsdp_parallelism: 8\ndcn_data_parallelism: 4\n", 0).data, int64_t{4});
    QCOMPARE(read("ici_fsdp_parallelism: 1\nici_data_parallelism: -1\n", 32).data, int64_t{32});
    QCOMPARE(error_of([&] { read("ici_tensor_parallelism: 4\n", 0); }).hint, std::string("--devices N"));
  }

  void degrees_of_maxtext_over_slices_are_those_of_dcn() {
    const auto written = [](const StrategyConfig& strategy, int64_t slice) {
      PortableStrategy portable = portable_of(strategy);
      portable.slice_devices = slice;
      return find_strategy_format("maxtext")->write(portable).text;
    };
    const auto has = [](const std::string& text, const char* line) { return text.find(line) != std::string::npos; };
    StrategyConfig strategy;
    strategy.data = 4;
    strategy.fsdp = 8;
    const std::string hosts = written(strategy, 8);
    QVERIFY2(has(hosts, "dcn_data_parallelism: 4\nici_data_parallelism: 1\nici_fsdp_parallelism: 8\n"), hosts.c_str());
    QVERIFY2(has(hosts, "in 4 slices"), hosts.c_str());
    const std::string halves = written(strategy, 16);
    QVERIFY2(has(halves, "dcn_data_parallelism: 2\nici_data_parallelism: 2\nici_fsdp_parallelism: 8\n"),
             halves.c_str());
    QVERIFY(!has(written(strategy, 32), "dcn_") && !has(written(strategy, 0), "dcn_"));
    RandomStrategies strategies(3, 512);
    int sliced = 0;
    for (int i = 0; i < 2000; ++i) {
      PortableStrategy portable = random_portable(strategies);
      if (!errors_of([&] { find_strategy_format("maxtext")->write(portable); }).empty()) continue;
      portable.slice_devices = std::max<int64_t>(1, portable.strategy.devices() / 4);
      const std::string text = find_strategy_format("maxtext")->write(portable).text;
      sliced += has(text, "dcn_");
      portable.slice_devices = 0;
      QVERIFY2(find_strategy_format("maxtext")->read(text, "f", 0, portable.layers) == portable, text.c_str());
    }
    QVERIFY(sliced > 10);
  }

  void a_pipeline_of_maxtext_is_not_circular_and_recomputes_what_was_said() {
    const auto read = [](const std::string& settings) {
      return find_strategy_format("maxtext")
          ->read("ici_pipeline_parallelism: 4\nnum_layers_per_pipeline_stage: 6\n" + settings, "f", 4, 24)
          .strategy;
    };
    QCOMPARE(read("").pipeline, int64_t{4});
    QCOMPARE(read("remat_policy: none\n").recompute, std::string("full"));
    QCOMPARE(read("remat_policy: none\nset_remat_policy_on_pipeline_iterations: false\n").recompute,
             std::string("none"));
  }

  void a_configuration_of_deepspeed_has_batches_that_multiply() {
    RandomStrategies strategies(2, 64);
    int written = 0;
    for (int i = 0; i < 500; ++i) {
      const PortableStrategy portable = random_portable(strategies);
      std::string text;
      try {
        text = find_strategy_format("deepspeed")->write(portable).text;
      } catch (const Failure&) {
        continue;
      }
      ++written;
      const nlohmann::json json = nlohmann::json::parse(text);
      const int64_t all = json.at("train_micro_batch_size_per_gpu").get<int64_t>() *
                          json.at("gradient_accumulation_steps").get<int64_t>() * portable.strategy.replicas();
      QCOMPARE(json.at("train_batch_size").get<int64_t>(), all);
    }
    QVERIFY(written > 20);
  }
};

REGISTER_TEST(StrategyFormatTest)

}  // namespace strategy_format_test

#include "strategy_format_test.moc"
