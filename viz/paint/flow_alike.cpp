#include "viz/paint/flow_alike.h"

#include <unordered_map>

namespace shardscope {

std::vector<std::string> alike_words(const Plan& plan, int task, int first, int end) {
  const auto layout = [&](int value) {
    const ProgramValue& program_value = plan.program.values[static_cast<size_t>(value)];
    return to_string(program_value.shape) + to_string(program_value.sharding, plan.mesh);
  };
  std::vector<std::string> words;
  std::unordered_map<int, int> made;  // value -> its number in the span
  for (int s = first; s < end; ++s) {
    const Instruction& instruction = plan.program.tasks[static_cast<size_t>(task)].instructions[static_cast<size_t>(s)];
    if (instruction.as<CollectiveDone>()) continue;
    std::string word = std::to_string(static_cast<int>(instruction.kind())) + "," +
                       std::to_string(static_cast<int>(instruction.phase));
    if (instruction.op != no_id) {
      const std::string& name = plan.graph->ops[instruction.op].name;
      word += "," + name.substr(name.rfind('/') + 1);
    }
    for (const AxisIndex axis : instruction.axes()) word += "," + std::to_string(axis);
    for (const int input : instruction.operands()) {
      const auto own = made.find(input);
      word += own == made.end() ? "|" + layout(input) : ">" + std::to_string(own->second);
    }
    for (const int output : instruction.destinations()) {
      made.emplace(output, static_cast<int>(made.size()));
      word += "=" + layout(output);
    }
    words.push_back(std::move(word));
  }
  return words;
}

}  // namespace shardscope
