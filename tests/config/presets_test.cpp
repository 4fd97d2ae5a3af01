#include <QTest>
#include <filesystem>
#include <map>
#include <sstream>

#include "engine/config/parse.h"
#include "tests/test_program.h"

namespace presets_test {

using namespace shardscope;

namespace {

RunConfig preset(const std::string& name) {
  return load_run_config(std::filesystem::path(SHARDSCOPE_SOURCE_DIR) / "presets" / (name + ".json"));
}

using Specs = std::map<std::string, std::string>;

// What the config says of the parameters of `like`.
Specs specs(const RunConfig& config, const Specs& like) {
  Specs result;
  for (const auto& [name, spec] : like) {
    std::vector<std::string> path;
    std::istringstream parts(name);
    for (std::string part; std::getline(parts, part, '/');) path.push_back(part);
    const ParameterSpec* found = find_parameter_spec(config.sharding, path);
    result[name] = found ? to_string(found->spec) : "not named";
  }
  return result;
}

// The first configuration of "Experiment with Model Sharding Using Parallax".
Specs first_configuration() {
  Specs result = {{"params/Embed_0/embedding", "PartitionSpec('data', 'model')"},
                  {"params/PositionalEmbedding_0/pos_embedding", "PartitionSpec(None, 'model')"},
                  {"params/Dense_0/kernel", "PartitionSpec('model', None)"},
                  {"params/Dense_0/bias", "PartitionSpec(None,)"}};
  for (const std::string block : {"params/SelfAttentionBlock_0/", "params/SelfAttentionBlock_1/"}) {
    for (const std::string projection : {"key", "query", "value"}) {
      result[block + "SelfAttention_0/" + projection + "/kernel"] = "PartitionSpec(None, 'model', None)";
      result[block + "SelfAttention_0/" + projection + "/bias"] = "PartitionSpec('model', None)";
    }
    result[block + "SelfAttention_0/out/kernel"] = "PartitionSpec('model', None, None)";
    result[block + "SelfAttention_0/out/bias"] = "PartitionSpec('model',)";
    for (const std::string norm : {"LayerNorm_0/", "LayerNorm_1/"}) {
      result[block + norm + "scale"] = result[block + norm + "bias"] = "PartitionSpec('model',)";
    }
    result[block + "MLP_0/Dense_0/kernel"] = "PartitionSpec('model', None)";
    result[block + "MLP_0/Dense_0/bias"] = "PartitionSpec('model',)";
    result[block + "MLP_0/Dense_1/kernel"] = "PartitionSpec(None, 'model')";
    result[block + "MLP_0/Dense_1/bias"] = "PartitionSpec('model',)";
  }
  return result;
}

}  // namespace

class PresetsTest : public QObject {
  Q_OBJECT

 private slots:
  void the_first_preset_has_the_documents_specs() {
    QVERIFY(specs(preset("parallax_decoder"), first_configuration()) == first_configuration());
  }

  void the_second_preset_has_the_documents_five_changes() {
    Specs expected = first_configuration();
    expected["params/Embed_0/embedding"] = "PartitionSpec(None, 'model')";
    expected["params/SelfAttentionBlock_1/MLP_0/Dense_1/kernel"] = "PartitionSpec('data', None)";
    expected["params/SelfAttentionBlock_1/MLP_0/Dense_1/bias"] = "PartitionSpec('data',)";
    expected["params/Dense_0/kernel"] = "PartitionSpec('data', 'model')";
    expected["params/Dense_0/bias"] = "PartitionSpec('data',)";
    QVERIFY(specs(preset("parallax_decoder_2"), expected) == expected);
  }

  void the_presets_differ_in_their_parameters_only() {
    RunConfig first = preset("parallax_decoder"), second = preset("parallax_decoder_2");
    first.sharding.parameters = second.sharding.parameters;
    QVERIFY(first == second);
    QVERIFY(to_string(first.sharding.in) == "PartitionSpec('data', None)" && first.sharding.out == first.sharding.in);
    QVERIFY(first.mesh_axes == (std::vector<MeshAxis>{{"data", 4}, {"model", 2}}));
  }
};

REGISTER_TEST(PresetsTest)

}  // namespace presets_test

#include "presets_test.moc"
