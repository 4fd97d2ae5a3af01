#include "engine/runtime/timed_op.h"

#include <algorithm>
#include <chrono>
#include <memory>

#include "engine/ops/registry.h"
#include "engine/runtime/kernels/kernel.h"
#include "engine/runtime/timing.h"

namespace shardscope {

namespace {

class TimedOp {
 public:
  TimedOp(const std::string& op, const Attributes& attributes, const std::vector<TensorType>& operands)
      : attributes_(attributes) {
    const OpDefinition& definition = op_definition(op);
    const std::vector<TensorType> results = definition.infer(attributes_, operands).results;
    flops_ = definition.flops(attributes_, operands, results);
    KernelArguments arguments;
    arguments.attributes = &attributes_;
    for (const TensorType& type : operands) arguments.inputs.push_back(add_array(type));
    for (size_t i = 0; i < results.size(); ++i) {
      const int over = definition.must_be_in_place() ? definition.in_place_operand(static_cast<int>(i)) : -1;
      arguments.outputs.push_back(over < 0 ? add_array(results[i]) : arguments.inputs[static_cast<size_t>(over)]);
    }
    for (const auto* types : {&operands, &results}) {
      for (const TensorType& type : *types) bytes_ += static_cast<double>(type.bytes());
    }
    arguments.workspace_bytes = definition.workspace_bytes(attributes_, operands, results, 1);
    workspace_.resize(static_cast<size_t>(arguments.workspace_bytes) / sizeof(Line) + 1);
    arguments.workspace = workspace_.data();
    kernel_ = make_kernel(op, arguments);
  }

  void run() { kernel_->run({}); }
  double bytes() const { return bytes_; }
  double flops() const { return flops_; }

 private:
  struct alignas(64) Line {
    float values[16];
  };

  TensorView add_array(const TensorType& type) {
    std::vector<Line>& lines = arrays_.emplace_back(static_cast<size_t>(type.bytes()) / sizeof(Line) + 1);
    for (Line& line : lines) std::fill_n(line.values, 16, 0.5f);
    const TensorView view{lines.data(), type.dtype, type.shape, type.shape, Shape(type.shape.size())};
    if (type.dtype == DType::i32) {
      for (int64_t i = 0; i < view.count(); ++i) view.i32()[i] = static_cast<int32_t>(i * 31 % 97);
    }
    return view;
  }

  Attributes attributes_;
  std::vector<std::vector<Line>> arrays_;
  std::vector<Line> workspace_;
  std::unique_ptr<Kernel> kernel_;
  double bytes_ = 0, flops_ = 0;
};

}  // namespace

OpTiming time_op(int cores, double seconds, double apart, const std::string& op, const Attributes& attributes,
                 const std::vector<TensorType>& operands) {
  using Clock = std::chrono::steady_clock;
  constexpr size_t fewest_repetitions = 3, most_repetitions = 20000, most_sets = 256;
  OpTiming timing;
  std::vector<std::vector<double>> of_core(static_cast<size_t>(cores));
  run_on_threads(cores, [&](int core) {
    std::vector<std::unique_ptr<TimedOp>> sets;
    for (double bytes = 0; sets.empty() || (bytes < apart && sets.size() < most_sets); bytes += sets[0]->bytes()) {
      sets.push_back(std::make_unique<TimedOp>(op, attributes, operands));
      sets.back()->run();
    }
    if (core == 0) timing = {{}, sets[0]->bytes(), sets[0]->flops()};
    std::vector<double>& times = of_core[static_cast<size_t>(core)];
    const auto seconds_since = [](Clock::time_point begin) {
      return std::chrono::duration<double>(Clock::now() - begin).count();
    };
    const Clock::time_point begin = Clock::now();
    Clock::time_point used = begin;
    while (times.size() < fewest_repetitions || (times.size() < most_repetitions && seconds_since(begin) < seconds)) {
      TimedOp& set = *sets[times.size() % sets.size()];
      while (seconds_since(used) < seconds_between_uses) continue;
      const double processor_before = processor_seconds();
      const Clock::time_point before = Clock::now();
      set.run();
      const double passed = seconds_since(before);
      times.push_back(std::min(passed, processor_seconds() - processor_before));
      used = Clock::now();
    }
  });
  std::vector<double> all;
  for (const std::vector<double>& times : of_core) all.insert(all.end(), times.begin(), times.end());
  timing.time = timing_of(std::move(all));
  return timing;
}

}  // namespace shardscope
