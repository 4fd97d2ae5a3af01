#include "engine/worker/predictions.h"

#include <fmt/format.h>

#include <cstring>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "engine/comm/rank_world.h"
#include "engine/runtime/executor.h"
#include "engine/worker/parameter_file.h"
#include "engine/worker/worker.h"

namespace shardscope {

namespace {

std::vector<float> floats(std::span<const std::byte> bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

// Copies what the model gives before later steps write over it.
class OutputCopies : public ExecutionObserver {
 public:
  OutputCopies(const Plan& plan, const Executor& executor, std::map<std::string, ValueId> outputs)
      : plan_(plan), executor_(executor), outputs_(std::move(outputs)) {}

  void begin(int) override {}
  void end(int position, int64_t, int64_t) override {
    for (int value : plan_.instructions()[position].results()) {
      for (const auto& [name, output] : outputs_) {
        if (plan_.program.values[value].graph_value == output) values_[name] = floats(executor_.value(value));
      }
    }
  }
  const std::map<std::string, std::vector<float>>& values() const { return values_; }

 private:
  const Plan& plan_;
  const Executor& executor_;
  std::map<std::string, ValueId> outputs_;
  std::map<std::string, std::vector<float>> values_;
};

void read_parameters(const Plan& plan, const Executor& executor, const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const SafetensorsLayout layout = parameter_layout(plan);
  for (size_t i = 0; i < plan.parameters.size(); ++i) {
    const std::span<std::byte> memory = executor.value(plan.parameters[i].value);
    file.seekg(layout.offset(i));
    file.read(reinterpret_cast<char*>(memory.data()), plan.program.values[plan.parameters[i].value].bytes());
  }
  if (!file) throw Failure(Error{"unreadable_file", "does not hold the run's parameters", in_file(path), ""});
}

ExampleColumn column(const std::string& name, int64_t examples, std::vector<float> values) {
  return {name, static_cast<int64_t>(values.size()) / examples, std::move(values)};
}

}  // namespace

void check_predictions(const TrainingData& data) {
  const DataKind* kind = data.kind;
  if (!kind || kind->examples > 0) return;
  std::string ended;
  for (const DataKind& other : all_data_kinds()) {
    if (other.examples > 0) ended += (ended.empty() ? "" : ", ") + other.name;
  }
  throw Failure(Error{"no_examples", fmt::format("'{}' has no examples to predict one by one", kind->name), "data.kind",
                      "kinds that have: " + ended});
}

Predictions predict(const Plan& plan, const std::string& parameter_file) {
  const Graph& graph = *plan.graph;
  const int64_t examples = plan.training.data.kind->examples;
  std::map<std::string, ValueId> outputs = graph.outputs;
  std::erase_if(outputs, [&](const auto& output) {
    const TensorType& type = graph.type(output.second);
    return type.dtype != DType::f32 || type.shape.empty() || type.shape[0] != examples;
  });

  RankWorld world = make_self_world(rank_memory_bytes(plan));
  Executor executor(plan, 0, world.arena.data(), *world.communicator);
  executor.run(Purpose::initialise, {});
  read_parameters(plan, executor, parameter_file);
  const std::unique_ptr<DataSource> source = make_examples(plan.training.data);
  Predictions result;
  size_t input = 0;
  for (const auto& [name, value] : graph.inputs) {
    const std::span<std::byte> memory = executor.value(plan.input_values[0][input++]);
    const Shape& shape = graph.type(value).shape;
    source->fill(name, {Shape(shape.size()), shape}, 0, memory);
    result.push_back(column(name, examples, floats(memory)));
  }
  OutputCopies copies(plan, executor, outputs);
  executor.run(Purpose::evaluate, {}, {{}, {}, &copies});
  for (const auto& [name, values] : copies.values()) result.push_back(column(name, examples, values));
  return result;
}

std::string json_lines(const Predictions& predictions) {
  std::string text;
  const size_t examples = predictions.empty() ? 0 : predictions[0].values.size() / predictions[0].width;
  for (size_t example = 0; example < examples; ++example) {
    nlohmann::ordered_json line;
    for (const auto& [name, width, values] : predictions) {
      const auto first = values.begin() + static_cast<std::ptrdiff_t>(example) * width;
      line[name] = std::vector<float>(first, first + width);
    }
    text += line.dump() + '\n';
  }
  return text;
}

}  // namespace shardscope
