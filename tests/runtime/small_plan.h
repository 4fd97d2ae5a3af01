#pragma once

#include <algorithm>
#include <exception>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "engine/base/align.h"
#include "engine/comm/thread_communicator.h"
#include "engine/mesh/box_runs.h"
#include "engine/mesh/reshard.h"
#include "engine/plan/plan.h"
#include "engine/runtime/executor.h"

namespace shardscope {

// A plan made by hand, with every value in its own buffer, and the arenas of its devices.
class SmallPlan {
 public:
  explicit SmallPlan(Mesh mesh) {
    plan.mesh = std::move(mesh);
    plan.graph = graph;
    plan.program.tasks.emplace_back().name = "forward";
    plan.arenas[0].workspace.tasks.emplace_back();
  }

  int add_value(const Shape& shape, const Sharding& sharding) {
    ProgramValue value;
    value.shape = shape;
    value.sharding = sharding;
    value.local_shape = local_shape(sharding, plan.mesh, shape);
    plan.arenas[0].buffer_of.push_back(add_buffer(value.bytes()));
    plan.program.values.push_back(value);
    return static_cast<int>(plan.program.values.size()) - 1;
  }

  int add_buffer(int64_t bytes) {
    Buffer buffer;
    buffer.bytes = bytes;
    buffer.offset = plan.arenas[0].bytes;
    plan.arenas[0].bytes += round_up(bytes);
    plan.arenas[0].buffers.push_back(buffer);
    return static_cast<int>(plan.arenas[0].buffers.size()) - 1;
  }

  Instruction& add(std::variant<Compute, Slice, CollectiveStart, CollectiveDone, Send, Receive> body) {
    std::vector<AxisList>& groups = plan.program.groups;
    instructions().push_back({Phase::forward, no_id, std::move(body)});
    const Instruction& added = instructions().back();
    if (added.as<CollectiveStart>() && std::ranges::find(groups, added.axes()) == groups.end())
      groups.push_back(added.axes());
    plan.arenas[0].workspace.tasks[0].push_back(-1);
    return instructions().back();
  }

  Instruction& compute(std::vector<int> operands, std::vector<int> results) {
    return add(Compute{std::move(operands), std::move(results)});
  }

  Instruction& slice(std::vector<int> operands, std::vector<int> results) {
    std::vector<MovedArray> moved(operands.size());
    return add(Slice{std::move(operands), std::move(results), std::move(moved), {}});
  }

  // Its start, with its done behind it.
  Instruction& collective(InstructionKind kind, std::vector<int> operands, std::vector<int> results, AxisList axes) {
    std::vector<MovedArray> moved(operands.size());
    const int start = static_cast<int>(instructions().size());
    add(CollectiveStart{kind, std::move(operands), results, std::move(moved), axes, group_size(axes, plan.mesh)});
    add(CollectiveDone{kind, start, std::move(results)});
    return instructions()[static_cast<size_t>(start)];
  }

  std::vector<Instruction>& instructions() { return plan.program.tasks[0].instructions; }

  // Instructions that turn values of one layout (all the same shape and layout) into new ones of another, as one
  // bucket.
  std::vector<int> add_reshard(std::vector<int> values, const Sharding& to) {
    const Sharding from = plan.program.values[values[0]].sharding;
    for (const ReshardStep& hop : reshard_path(from, to, plan.mesh)) {
      std::vector<int> next;
      for (int value : values) next.push_back(add_value(Shape(plan.program.values[value].shape), hop.result));
      if (hop.kind == InstructionKind::slice) {
        slice(values, next);
      } else {
        CollectiveStart& made = *collective(hop.kind, values, next, hop.axes).as<CollectiveStart>();
        for (MovedArray& array : made.moved) array.split_dim = hop.split_dim, array.concat_dim = hop.concat_dim;
        made.reduction = hop.reduction;
      }
      values = next;
    }
    return values;
  }

  void allocate() {
    plan.program.sequences = {make_sequence(Purpose::train_step, {{0}}, plan.program.tasks)};
    arenas.assign(plan.mesh.device_count(), std::vector<Line>(plan.arenas[0].bytes / line_bytes));
  }

  std::byte* arena(int device) { return reinterpret_cast<std::byte*>(arenas[device].data()); }

  std::span<float> part(int device, int value) {
    const ProgramValue& v = plan.program.values[value];
    return {reinterpret_cast<float*>(arena(device) + plan.buffer(value).offset),
            static_cast<size_t>(element_count(v.local_shape))};
  }

  Box box(int device, int value) const {
    const ProgramValue& v = plan.program.values[value];
    return shard_box(v.sharding, plan.mesh, v.shape, device);
  }

  // A device's part of a whole array.
  std::vector<float> cut(const std::vector<float>& whole, int device, int value) const {
    const BoxRuns runs(plan.program.values[value].shape, box(device, value));
    std::vector<float> out(runs.run_count() * runs.run_length());
    runs.for_each(
        [&](int64_t from, int64_t to) { std::copy_n(whole.begin() + from, runs.run_length(), out.begin() + to); });
    return out;
  }

  void fill(const std::vector<float>& whole, int value) {
    for (int device = 0; device < plan.mesh.device_count(); ++device) {
      const std::vector<float> own = cut(whole, device, value);
      std::copy(own.begin(), own.end(), part(device, value).begin());
    }
  }

  // Runs `steps` training steps on every device, as threads. Rethrows the first error that is more than
  // another device's abort.
  void run(int64_t steps = 1, std::vector<ExecutionObserver*> observers = {}) {
    const int count = plan.mesh.device_count();
    auto communicators = make_thread_communicators(count);
    std::vector<std::exception_ptr> errors(count);
    {
      std::vector<std::jthread> threads;
      for (int device = 0; device < count; ++device) {
        threads.emplace_back([&, device] {
          try {
            Executor executor(plan, device, arena(device), *communicators[device],
                              observers.empty() ? nullptr : observers[device]);
            for (int64_t step = 0; step < steps; ++step) executor.run(Purpose::train_step, {step});
          } catch (...) {
            errors[device] = std::current_exception();
            communicators[device]->abort();
          }
        });
      }
    }
    std::exception_ptr last;
    for (const std::exception_ptr& error : errors) {
      if (!error) continue;
      last = error;
      try {
        std::rethrow_exception(error);
      } catch (const Failure& failure) {
        if (failure.errors()[0].code != "comm_aborted") throw;
      }
    }
    if (last) std::rethrow_exception(last);
  }

  struct alignas(64) Line {
    std::byte bytes[64];
  };

  std::shared_ptr<Graph> graph = std::make_shared<Graph>();
  Plan plan;
  std::vector<std::vector<Line>> arenas;
};

}  // namespace shardscope
