#pragma once

#include <QTest>
#include <cmath>
#include <string>
#include <vector>

#include "engine/mesh/partition_spec.h"
#include "tests/training/thread_training.h"

namespace shardscope {

inline double norm(const std::vector<float>& values) {
  double sum = 0;
  for (float value : values) sum += static_cast<double>(value) * value;
  return std::sqrt(sum);
}

// Law 1. The gradient of an attention key's bias, and of no other parameter, is zero but for rounding, which Adam turns
// into steps of either sign, of the learning rate at most: `is_key_bias` says which elements of which parameter are.
template <class IsKeyBias>
void compare_with_serial(const ThreadTraining& parallel, const ThreadTraining& alone, double learning_rate,
                         IsKeyBias is_key_bias) {
  QCOMPARE(parallel.steps.size(), alone.steps.size());
  const double steps = static_cast<double>(alone.steps.size());
  for (size_t s = 0; s < alone.steps.size(); ++s) {
    double expected = value_of(alone.steps[s].metrics, "loss"), got = value_of(parallel.steps[s].metrics, "loss");
    QVERIFY2(std::abs(got - expected) <= 1e-5 * std::abs(expected),
             qPrintable(QString("step %1: loss %2 instead of %3").arg(s).arg(got, 0, 'g', 9).arg(expected, 0, 'g', 9)));
  }
  for (const auto& [name, values] : alone.parameters) {
    const std::vector<float>& others = parallel.parameters.at(name);
    QCOMPARE(others.size(), values.size());
    std::vector<float> difference(values.size());
    for (size_t i = 0; i < values.size(); ++i) {
      if (is_key_bias(name, i, values.size())) {
        QVERIFY2(std::abs(others[i]) < learning_rate * steps, name.c_str());
      } else {
        difference[i] = others[i] - values[i];
      }
    }
    QVERIFY2(norm(difference) <= 1e-4 * norm(values) + 1e-7,
             qPrintable(QString("%1: off by %2 of its norm").arg(name.c_str()).arg(norm(difference) / norm(values))));
  }
  QVERIFY(parallel.replicas_equal);
}

// Law 5: measured independently of the plan.
inline void compare_with_prediction(const ThreadTraining& training, const Plan& plan) {
  for (const RankMeasurement& rank : training.ranks) {
    const int stage = plan.stage_of(rank.rank);
    int64_t parameter_bytes = 0, optimizer_bytes = 0;
    for (const ParameterPlan& parameter : plan.parameters) {
      if (plan.program.values[parameter.value].stage != stage) continue;
      const Sharding sharding = to_sharding(parameter.spec, plan.mesh, static_cast<int>(parameter.shape.size()));
      const int64_t bytes =
          element_count(local_shape(sharding, plan.mesh, parameter.shape)) * byte_size(parameter.dtype);
      parameter_bytes += bytes;
      for (int state : parameter.state_values) optimizer_bytes += plan.program.values[state].bytes();
    }
    // What a model keeps beside its parameters: buffers.
    for (const ProgramValue& value : plan.program.values) {
      const Value& kept = plan.graph->values[static_cast<size_t>(value.graph_value)];
      if (value.stage != stage || kept.kind != ValueKind::state || !is_source(value, *plan.graph)) continue;
      const State& state = plan.graph->states[static_cast<size_t>(kept.state)];
      if (!state.is_parameter() && !state.is_of_optimizer()) parameter_bytes += value.bytes();
    }
    QCOMPARE(rank.arena_bytes, plan.arena_of(rank.rank).bytes);
    QCOMPARE(rank.wire_bytes, wire_bytes_of(plan, rank.rank));
    QVERIFY(rank.wire_bytes <= plan.pipeline.totals[static_cast<size_t>(stage)].wire_bytes_per_device);
    QCOMPARE(rank.parameter_bytes, parameter_bytes);
    QCOMPARE(rank.optimizer_bytes, optimizer_bytes);
  }
}

}  // namespace shardscope
