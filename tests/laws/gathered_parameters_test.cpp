#include <QTemporaryDir>
#include <QtTest>
#include <cstring>
#include <fstream>

#include "engine/machine/host_machine.h"
#include "engine/worker/parameter_file.h"
#include "tests/compile/system_preset.h"
#include "tests/laws/training_agreement.h"
#include "tests/test_program.h"

namespace gathered_parameters_test {

using namespace shardscope;
using namespace shardscope::test;

namespace {

struct Gathered {
  ThreadTraining training;
  std::string file;  // what is in it
};

Gathered gather(const Plan& plan, int64_t steps) {
  QTemporaryDir folder;
  const std::string path = folder.filePath("parameters.safetensors").toStdString();
  std::ofstream(path).close();
  ThreadTraining training = train_in_threads(plan, steps, {}, {}, path);
  std::ifstream file(path, std::ios::binary);
  return {std::move(training), {std::istreambuf_iterator<char>(file), {}}};
}

Plan plan_of(const SystemPreset& preset, const std::vector<int64_t>& mesh) {
  return compile({system_run(preset.name, preset.small, mesh), reference_host()});
}

}  // namespace

// The file into which the ranks gather the parameters.
class GatheredParametersTest : public QObject {
  Q_OBJECT

 private slots:
  void first_values_make_the_same_file_on_every_mesh() {
    for (const char* name : {"tiny_lm_fsdp", "nnx_gpt2", "mintext_mlp", "workshop_sequence"}) {
      const SystemPreset& preset = system_preset(name);
      std::string first;
      for (const std::vector<int64_t>& mesh : meshes_of(preset.mesh_axes)) {
        const Gathered gathered = gather(plan_of(preset, mesh), 0);
        if (first.empty()) first = gathered.file;
        QVERIFY2(gathered.file.size() > 8 && gathered.file == first,
                 text_of(preset.name, mesh, LayoutMode::fastest).c_str());
      }
    }
  }

  void the_file_holds_every_parameter_as_it_is_after_the_last_step() {
    for (const char* name : {"tiny_lm_dp", "tiny_lm_fsdp", "mintext_transformer"}) {
      const SystemPreset& preset = system_preset(name);
      const std::vector<int64_t> mesh = meshes_of(preset.mesh_axes).back();
      const Plan plan = plan_of(preset, mesh);
      const Gathered gathered = gather(plan, 2);
      const SafetensorsLayout layout = parameter_layout(plan);
      QCOMPARE(gathered.file.size(), static_cast<size_t>(layout.bytes()));
      QVERIFY(gathered.file.starts_with(layout.header()));
      QCOMPARE(layout.arrays().size(), gathered.training.parameters.size());
      for (size_t i = 0; i < layout.arrays().size(); ++i) {
        const std::vector<float>& values = gathered.training.parameters.at(layout.arrays()[i].name);
        QVERIFY2(
            std::memcmp(gathered.file.data() + layout.offset(i), values.data(), values.size() * sizeof(float)) == 0,
            layout.arrays()[i].name.c_str());
      }
    }
  }

  // Law 1, of the file.
  void a_trained_file_is_that_of_one_device() {
    for (const char* name : {"tiny_lm_dp", "tiny_lm_fsdp"}) {
      const SystemPreset& preset = system_preset(name);
      const Plan plan = plan_of(preset, {1});
      const std::string alone = gather(plan, 3).file, together = gather(plan_of(preset, {8}), 3).file;
      const SafetensorsLayout layout = parameter_layout(plan);
      for (size_t i = 0; i < layout.arrays().size(); ++i) {
        std::vector<float> one(static_cast<size_t>(element_count(layout.arrays()[i].type.shape))), other = one;
        std::memcpy(one.data(), alone.data() + layout.offset(i), one.size() * sizeof(float));
        std::memcpy(other.data(), together.data() + layout.offset(i), one.size() * sizeof(float));
        for (size_t j = 0; j < one.size(); ++j) other[j] -= one[j];
        QVERIFY2(norm(other) <= 1e-4 * norm(one) + 1e-7, layout.arrays()[i].name.c_str());
      }
    }
  }

  void a_place_that_cannot_be_written_is_known_before_the_first_step() {
    const Plan plan = plan_of(system_preset("tiny_lm_fsdp"), {2});
    bool stepped = false;
    try {
      train_in_threads(
          plan, 1, {}, [&](const StepMessage&) { stepped = true; }, "/nowhere/parameters");
      QFAIL("trained");
    } catch (const Failure& failure) {
      QCOMPARE(to_string(failure.errors().front().place), std::string("/nowhere/parameters"));
    }
    QVERIFY(!stepped);
  }
};

REGISTER_TEST(GatheredParametersTest)

}  // namespace gathered_parameters_test

#include "gathered_parameters_test.moc"
