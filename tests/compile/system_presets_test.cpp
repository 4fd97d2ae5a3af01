#include <QTest>

#include "engine/machine/host_machine.h"
#include "tests/base/errors_of.h"
#include "tests/compile/plan_check.h"
#include "tests/compile/system_preset.h"
#include "tests/compile/xla_limits.h"
#include "tests/test_program.h"

namespace system_presets_test {

using namespace shardscope;
using namespace shardscope::test;

namespace {

// The collectives that move arrays of at least `bytes`, in order: "all-reduce model forward".
std::vector<std::string> collectives(const Plan& plan, int64_t bytes) {
  std::vector<std::string> found;
  for (const Instruction& instruction : plan.instructions()) {
    if (!is_collective(instruction.kind()) || instruction.payload_bytes() < bytes) continue;
    std::string text(name(instruction.kind()));
    for (AxisIndex axis : instruction.axes()) text += " " + plan.mesh.axes()[axis].name;
    found.push_back(text + " " + std::string(name(instruction.phase)));
  }
  return found;
}

Plan planned(const std::string& name, const std::vector<std::string>& settings) {
  return compile({system_run(name, settings), reference_host()});
}

std::vector<std::string> repeated(const std::vector<std::string>& texts, int count) {
  std::vector<std::string> all;
  for (int i = 0; i < count; ++i) all.insert(all.end(), texts.begin(), texts.end());
  return all;
}

void append(std::vector<std::string>& texts, const std::vector<std::string>& more) {
  texts.insert(texts.end(), more.begin(), more.end());
}

bool warned(const Plan& plan, const std::string& code, const std::string& where, const std::string& said) {
  return std::ranges::any_of(plan.warnings, [&](const Error& warning) {
    return warning.code == code && to_string(warning.place) == where && warning.message.find(said) != std::string::npos;
  });
}

std::vector<Error> faults(const RunConfig& config) {
  return errors_of([&] { compile({config, reference_host()}); });
}

}  // namespace

class SystemPresetsTest : public QObject {
  Q_OBJECT

 private slots:
  // Law 8 besides: as written the program is the same on every machine, and fastest is never dearer. Of three machines
  // each mesh has two, in turns.
  void every_plan_is_sound_and_keeps_to_its_mode() {
    size_t turn = 0;
    for (const SystemPreset& one : system_presets()) {
      for (const std::vector<int64_t>& mesh : meshes_of(one.mesh_axes)) {
        RunConfig config = system_run(one.name, one.small, mesh);
        std::string first;
        std::vector<Machine> machines = unlike_machines();
        machines.erase(machines.begin() + static_cast<std::ptrdiff_t>(turn++ % 3));
        for (const Machine& machine : machines) {
          double seconds[2];
          for (LayoutMode mode : {LayoutMode::fastest, LayoutMode::as_written}) {
            config.sharding.mode = mode;
            const Plan plan = compile({config, machine});
            const std::string fault = fault_of(plan);
            QVERIFY2(fault.empty(), (text_of(one.name, mesh, mode) + ": " + fault).c_str());
            seconds[static_cast<int>(mode)] = plan.totals.seconds_per_step;
            if (mode == LayoutMode::fastest) continue;
            if (first.empty()) first = program_of(plan);
            QVERIFY2(program_of(plan) == first, text_of(one.name, mesh, mode).c_str());
          }
          const double fastest = seconds[static_cast<int>(LayoutMode::fastest)];
          const double written = seconds[static_cast<int>(LayoutMode::as_written)];
          QVERIFY2(fastest <= written, text_of(one.name, mesh, LayoutMode::fastest).c_str());
        }
      }
    }
  }

  void presets_as_they_are_have_sound_plans() {
    for (const SystemPreset& one : system_presets()) {
      const std::string fault = fault_of(planned(one.name, {}));
      QVERIFY2(fault.empty(), (one.name + ": " + fault).c_str());
    }
  }

  // "How to scale your model": gather In, scatter Out; gather dOut, share In, scatter dIn.
  void the_tensor_parallel_pair_moves_what_the_document_says() {
    const Plan plan = planned("tensor_parallel_mlp", {});
    QVERIFY(collectives(plan, 1024) ==
            (std::vector<std::string>{"all-gather Y forward", "reduce-scatter Y forward", "all-gather Y backward",
                                      "reduce-scatter Y backward"}));
  }

  // One all-reduce of an activation for each half of the block, in forward and in backward, and nothing else but the
  // loss.
  void workshop_tensor_parallelism_is_megatrons() {
    for (const char* model : {"2", "4"}) {
      const Plan plan = planned("workshop_tp", {std::string("mesh.model=") + model});
      QVERIFY(collectives(plan, 8) ==
              (std::vector<std::string>{"all-reduce model forward", "all-reduce model forward",
                                        "all-reduce model backward", "all-reduce model backward"}));
      for (const Instruction& instruction : plan.instructions()) {
        if (is_collective(instruction.kind())) QCOMPARE(instruction.payload_bytes(), int64_t{2 * 128 * 768 * 4});
      }
    }
  }

  // Of each half block forward gathers what the parallel region takes and scatters what it gives; so does backward.
  void megatrons_sequence_parallelism_gathers_before_and_scatters_after_each_region() {
    const int64_t activation = 128 * 768 * 4;  // one sequence
    std::vector<std::string> expected = repeated({"all-gather model forward", "reduce-scatter model forward"}, 2);
    append(expected, repeated({"all-gather model backward", "reduce-scatter model backward"}, 2));
    for (const char* mode : {"as_written", "fastest"}) {
      const Plan plan = planned("workshop_sequence_megatron", {std::string("sharding.mode=") + mode});
      std::vector<std::string> found = collectives(plan, activation);
      std::erase_if(found, [](const std::string& text) { return text.find(" model ") == std::string::npos; });
      QVERIFY(found == expected);
    }
  }

  // Forward: the norm's result is gathered along the sequence and along the width, that of the output projection split
  // along both; nothing else moves but sums of the norm and the loss.
  void the_documents_sequence_parallelism_gathers_before_attention_and_splits_after() {
    std::vector<std::string> found = collectives(planned("workshop_sequence", {}), 1024);
    std::erase_if(found, [](const std::string& text) { return !text.ends_with("forward"); });
    QVERIFY(found == (std::vector<std::string>{"all-gather sequence forward", "all-gather model forward",
                                               "reduce-scatter model forward"}));
  }

  void gather_output_and_input_is_parallel_are_constraints() {
    RunConfig config = system_run("workshop_tp", {});
    config.sharding.constraints.push_back({"ffn_layer1/add", {{{"data"}, {}, {}}}});  // gather_output
    std::vector<std::string> found = collectives(compile({config, reference_host()}), 1024);
    QVERIFY(std::ranges::count(found, "all-gather model forward") == 1);
    config = system_run("workshop_tp", {});
    config.sharding.constraints.push_back({"gelu", {{{"data"}, {}, {}}}});  // not input_is_parallel: split for nothing
    const Plan split = compile({config, reference_host()});
    const bool slices = std::ranges::any_of(split.instructions(), [&](const Instruction& instruction) {
      return instruction.kind() == InstructionKind::slice &&
             split.graph->ops[instruction.op].name == "ffn_layer2/einsum";
    });
    QVERIFY(slices);
  }

  // Law 8 at the presets' own sizes, where the search has more to choose from.
  void fastest_is_never_slower_than_as_written_data() {
    QTest::addColumn<QString>("preset");
    for (const char* name : {"tiny_lm_dp", "tiny_lm_fsdp", "nnx_gpt2"}) QTest::newRow(name) << name;
  }
  void fastest_is_never_slower_than_as_written() {
    QFETCH(QString, preset);
    const std::string name = preset.toStdString();
    for (const std::vector<int64_t>& mesh : meshes_of(name == "nnx_gpt2" ? 2 : 1)) {
      RunConfig config = system_run(name, {}, mesh);
      for (const Machine& machine : unlike_machines()) {
        config.sharding.mode = LayoutMode::fastest;
        const double fastest = compile({config, machine}).totals.seconds_per_step;
        config.sharding.mode = LayoutMode::as_written;
        QVERIFY2(fastest <= compile({config, machine}).totals.seconds_per_step,
                 text_of(name, mesh, LayoutMode::fastest).c_str());
      }
    }
  }

  // Bytes that a device sends in a step; XLA's are those of the golden files. As written under any profile; fastest
  // under the standard one, and truly less where layers are split.
  void programs_move_no_more_than_xlas_data() {
    QTest::addColumn<QString>("preset");
    QTest::addColumn<QList<qint64>>("mesh");
    QTest::addColumn<double>("xla");
    QTest::addColumn<bool>("tensor_parallel");
    const auto add = [](const QString& preset, const QList<qint64>& mesh, double bytes) {
      const std::string text = text_of(preset.toStdString(), {mesh.begin(), mesh.end()}, LayoutMode::as_written);
      QTest::newRow(text.c_str()) << preset << mesh << bytes << (mesh.size() == 2 && mesh[1] > 1);
    };
    for (const QJsonValue& one : golden_file("jax_programs")["moved"].toArray()) {
      QList<qint64> mesh;
      for (const QJsonValue& axis : one["set"].toArray()) mesh << axis.toString().section('=', 1).toLongLong();
      add(one["preset"].toString(), mesh, one["wire_bytes_per_device"].toDouble(-1));
    }
    add("mintext_transformer", {4, 2}, xla_limits("mintext_transformer", {4, 2}).wire_bytes);
  }
  void programs_move_no_more_than_xlas() {
    QFETCH(QString, preset);
    QFETCH(QList<qint64>, mesh);
    QFETCH(double, xla);
    QFETCH(bool, tensor_parallel);
    RunConfig config = system_run(preset.toStdString(), {}, {mesh.begin(), mesh.end()});
    const auto moved = [&](LayoutMode mode, const Machine& machine) {
      config.sharding.mode = mode;
      return compile({config, machine}).totals.wire_bytes_per_device;
    };
    for (const Machine& machine : unlike_machines()) QVERIFY(moved(LayoutMode::as_written, machine) <= xla);
    const double fastest = moved(LayoutMode::fastest, reference_host());
    QVERIFY2(tensor_parallel ? fastest < xla : fastest <= xla, std::to_string(fastest).c_str());
  }

  void optimizer_state_is_sharded_as_its_parameter() {
    const Plan plan = planned("mintext_mlp", {});
    for (const ParameterPlan& parameter : plan.parameters) {
      QCOMPARE(parameter.state_names, std::vector<std::string>{"momentum"});
      QVERIFY(plan.program.values[parameter.state_values[0]].sharding == parameter.sharding);
    }
  }

  void rules_that_do_not_divide_replicate_and_say_so() {
    QVERIFY(warned(planned("mintext_mlp", {}), "replicated", "sharding.rules[0].axes.mlp", "params/w2"));
    QVERIFY(warned(planned("mintext_transformer", {"model.kv_heads=1"}), "replicated",
                   "sharding.rules[0].axes.key_heads", "params/layers/0/k"));
  }

  void two_rules_that_put_one_axis_on_one_array_are_an_error_that_names_both() {
    RunConfig config = system_run("logical_dot_relu_dot", {});
    config.sharding.rules[0].placement =
        LogicalAxes{{{"batch", {"data"}}, {"hidden", {"model"}}, {"embed", {"model"}}}};
    const std::vector<Error> errors = faults(config);
    QVERIFY(!errors.empty());
    for (const Error& error : errors) {
      QCOMPARE(error.code, std::string("axis_conflict"));
      for (const char* rule : {"axes.hidden", "axes.embed"}) {
        QVERIFY2(error.message.find(rule) != std::string::npos, error.message.c_str());
      }
    }
  }

  void grouped_queries_say_where_the_documents_einsum_differs() {
    const auto einsum = [](const char* heads, const char* key_heads) {
      const Plan plan = planned("mintext_transformer", {std::string("model.num_heads=") + heads,
                                                        std::string("model.kv_heads=") + key_heads, "mesh.y=1"});
      for (const Error& warning : plan.warnings) {
        if (to_string(warning.place) == "model.kv_heads") return warning.message;
      }
      return std::string();
    };
    QCOMPARE(einsum("8", "8"), std::string());
    QCOMPARE(einsum("8", "1"), std::string());
    QVERIFY(einsum("8", "2").ends_with("fails: 'h' is 4 in the queries and 2 in the keys"));
    QVERIFY(einsum("16", "4").ends_with("scores query head i with key head i mod 4 but weighs value head i / 4"));
  }

  void the_flat_fused_kernel_is_accepted_and_its_split_heads_are_reported() {
    const std::vector<std::string> flat{"model.qkv_layout=flat"};
    RunConfig config = system_run("workshop_tp", {});
    config.model.options[4].second = std::string("flat");
    config.sharding.parameters[0].spec = {{{}, {"model"}}};
    config.sharding.parameters[1].spec = {{{"model"}}};
    const Plan plan = compile({config, reference_host()});
    QVERIFY(warned(plan, "split_heads", "model.qkv_layout", "(768, 2304)"));
    QVERIFY(plan.totals.wire_bytes_per_device > planned("workshop_tp", {}).totals.wire_bytes_per_device);
    QCOMPARE(fault_of(plan), std::string());
  }

  void an_axis_twice_in_a_constraint_is_an_error_with_the_spec_that_would_be_right() {
    RunConfig config = system_run("mintext_transformer", {});
    config.sharding.constraints[0].spec = {{{"x"}, {}, {"x"}}};
    const std::vector<Error> errors = faults(config);
    QCOMPARE(errors.size(), size_t{1});
    QCOMPARE(errors[0].code, std::string("duplicate_axis"));
    for (const char* said : {"PartitionSpec('x', None, None)", "JAX says: A single NamedSharding spec specification",
                             "P('x', None, 'x') has duplicate entries for `x`"}) {
      QVERIFY2(errors[0].hint.find(said) != std::string::npos, errors[0].hint.c_str());
    }
  }

  // The slides draw their first half on a mesh (data, model) and train on (batch, model).
  void a_spec_for_another_mesh_is_reported_what_the_axis_is_called_here() {
    RunConfig config = system_run("nnx_gpt2", {});
    config.sharding.in = {{{"data"}, {}}};
    const std::vector<Error> errors = faults(config);
    QCOMPARE(errors.size(), size_t{1});
    QCOMPARE(errors[0].code + " at " + to_string(errors[0].place), std::string("unknown_axis at sharding.in[0]"));
    for (const char* said :
         {"the mesh has 'batch' and 'model'", "'data' is another name for what is split over 'batch'",
          "JAX says: Resource axis: data of P('data', None) is not found in mesh"}) {
      QVERIFY2(errors[0].hint.find(said) != std::string::npos, errors[0].hint.c_str());
    }
  }

  void hyperparameters_that_do_not_fit_are_located_errors() {
    const auto first = [](const std::string& name, const std::string& setting) {
      const std::vector<Error> errors = faults(system_run(name, {setting}));
      return errors.empty() ? std::string() : errors[0].code + " at " + to_string(errors[0].place);
    };
    QCOMPARE(first("mintext_transformer", "model.kv_heads=3"), std::string("indivisible at model.kv_heads"));
    QCOMPARE(first("mintext_transformer", "model.compute_dtype=f16"),
             std::string("unknown_choice at model.compute_dtype"));
    QCOMPARE(first("mintext_transformer", "model.ffw_dtype=f64"), std::string("unknown_choice at model.ffw_dtype"));
    QCOMPARE(first("mintext_transformer", "data.kind=quadratic"), std::string("data_kind at data.kind"));
    QCOMPARE(first("mintext_mlp", "data.kind=zeros"), std::string("data_kind at data.kind"));
    QCOMPARE(first("workshop_tp", "model.num_heads=7"), std::string("indivisible at model.hidden_size"));
    QCOMPARE(first("workshop_tp", "model.qkv_layout=square"), std::string("unknown_choice at model.qkv_layout"));
  }
};

REGISTER_TEST(SystemPresetsTest)

}  // namespace system_presets_test

#include "system_presets_test.moc"
