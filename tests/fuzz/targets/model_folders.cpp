#include <filesystem>

#include "engine/checkpoint/weights_folder.h"
#include "tests/fuzz/mutate.h"
#include "tests/fuzz/program_call.h"
#include "tests/fuzz/targets/targets.h"

namespace shardscope::fuzz {

// The description of a model of Hugging Face, of a small size; one in eight is planned, too.
Target model_configs() {
  Target target;
  target.name = "model configs";
  target.corpus = corpus_files("model_configs");
  target.mutate = [](const std::string& input, Random& random) { return mutant_of_json(input, random); };
  target.run = [](const std::string& input) {
    const bool plans = std::hash<std::string>()(input) % 8 == 0;
    const std::string path = std::filesystem::absolute(file_with(input, "config.json")).string();
    Answer answer = call_program({plans ? "plan" : "validate", SHARDSCOPE_SOURCE_DIR "/presets/llama_tiny.json",
                                  "--set", "model.path=" + path, "--set", "data.sequence_length=16"},
                                 "config.json");
    if (answer.fault.find("data.sequence_length: 16 positions") != std::string::npos) return Answer{true, ""};
    return answer;
  };
  return target;
}

// Which file of a folder of weights has which array.
Target weight_indexes() {
  Target target;
  target.name = "weight indexes";
  target.corpus = {R"({"metadata": {"total_size": 8}, "weight_map": {"a.weight": "one.safetensors"}})",
                   R"({"weight_map": {"a.weight": "one.safetensors", "b.weight": "two.safetensors"}})"};
  target.mutate = [](const std::string& input, Random& random) { return mutant_of_json(input, random); };
  target.run = [](const std::string& input) {
    const std::string header = R"({"a.weight":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
    std::string length(sizeof(uint64_t), '\0');
    length[0] = static_cast<char>(header.size());
    file_with(length + header + std::string(8, '\0'), "one.safetensors");
    file_with(input, "model.safetensors.index.json");
    try {
      const WeightsFolder folder(".");
      for (const std::string& name : folder.names()) {
        if (name != "a.weight") return Answer{false, "believes in " + name};
      }
      return Answer{};
    } catch (const Failure& failure) {
      const std::string& code = failure.errors().front().code;
      return refusal(failure, code == "missing_file" ? code : "unreadable_file");
    }
  };
  return target;
}

}  // namespace shardscope::fuzz
