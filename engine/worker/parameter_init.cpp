#include "engine/worker/parameter_init.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "engine/mesh/box_runs.h"

namespace shardscope {

namespace {

void scale(std::span<float> values, float factor) {
  for (float& value : values) value *= factor;
}

}  // namespace

void fill_initial(const Initializer& initializer, Key root, const Box& box, const Shape& shape, float* out) {
  const BoxRuns runs(shape, box);
  if (initializer.kind == Initializer::Kind::zeros || initializer.kind == Initializer::Kind::ones) {
    const float value = initializer.kind == Initializer::Kind::ones ? 1.0f : 0.0f;
    std::fill_n(out, runs.run_count() * runs.run_length(), value);
    return;
  }
  const Key key = linen_key(root, initializer.key_path, initializer.key_counter);
  const float variance = 1.0f / static_cast<float>(initializer.fan_in);
  const bool lecun = initializer.kind == Initializer::Kind::lecun_normal;
  const float deviation = lecun ? std::sqrt(variance) / 0.87962566103423978f : static_cast<float>(initializer.stddev);
  runs.for_each([&](int64_t index, int64_t offset) {
    const std::span<float> run(out + offset, static_cast<size_t>(runs.run_length()));
    const uint64_t first = static_cast<uint64_t>(index);
    if (lecun) {
      fill_truncated_normal(key, first, -2, 2, run);
    } else {
      fill_normal(key, first, run);
    }
    scale(run, deviation);
  });
}

StoredBytes initialize_stored(const Plan& plan, int device, const Executor& executor) {
  StoredBytes written;
  const Key root = key_from_seed(plan.config.seed);
  for (size_t i = 0; i < plan.parameters.size(); ++i) {
    const ParameterPlan& parameter = plan.parameters[i];
    const Box box = shard_box(parameter.sharding, plan.mesh, parameter.shape, device);
    const std::span<std::byte> memory = executor.value(parameter.value);
    const int64_t bytes = element_count(box.size) * byte_size(parameter.dtype);
    if (parameter.dtype != DType::f32 || static_cast<int64_t>(memory.size()) != bytes) {
      throw Failure({"plan", "a parameter's memory is not its shard", plan.graph->parameters.at(i).path.back(), ""});
    }
    fill_initial(plan.graph->parameters.at(i).initializer, root, box, parameter.shape,
                 reinterpret_cast<float*>(memory.data()));
    written.parameters += bytes;
    for (int state : parameter.state_values) {
      const std::span<std::byte> zeros = executor.value(state);
      std::memset(zeros.data(), 0, zeros.size());
      written.optimizer += static_cast<int64_t>(zeros.size());
    }
  }
  return written;
}

}  // namespace shardscope
