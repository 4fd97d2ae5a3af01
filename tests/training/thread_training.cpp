#include "tests/training/thread_training.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <omp.h>

#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <thread>

#include "engine/checkpoint/float_types.h"
#include "engine/comm/thread_communicator.h"
#include "engine/mesh/box_runs.h"
#include "engine/runtime/arena.h"

namespace shardscope {

namespace {

class AlignedMemory {
 public:
  explicit AlignedMemory(int64_t bytes)
      : bytes_(static_cast<size_t>(bytes)),
        data_(static_cast<std::byte*>(std::aligned_alloc(Arena::alignment, bytes_))) {
    if (!data_) throw std::bad_alloc();
  }
  std::span<std::byte> span() const { return {data_.get(), bytes_}; }

 private:
  struct Free {
    void operator()(std::byte* data) const { std::free(data); }
  };
  size_t bytes_;
  std::unique_ptr<std::byte, Free> data_;
};

bool is_consequence(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const Failure& failure) {
    return failure.errors().front().code == "comm_aborted";
  } catch (...) {
    return false;
  }
}

void rethrow_first(const std::vector<std::exception_ptr>& errors) {
  std::exception_ptr chosen;
  for (const std::exception_ptr& error : errors) {
    if (error && (!chosen || (is_consequence(chosen) && !is_consequence(error)))) chosen = error;
  }
  if (chosen) std::rethrow_exception(chosen);
}

std::vector<float> gather(const Plan& plan, int program_value, const std::vector<AlignedMemory>& memory, bool& equal) {
  const ProgramValue& value = plan.program.values.at(program_value);
  const int64_t element = byte_size(value.dtype);
  std::vector<std::byte> whole(static_cast<size_t>(element_count(value.shape) * element));
  std::vector<bool> written(static_cast<size_t>(element_count(value.shape)), false);
  for (int device : plan.devices_of_stage(value.stage)) {
    const std::byte* part = memory[device].span().data() + plan.buffer(program_value).offset;
    const BoxRuns runs(value.shape, shard_box(value.sharding, plan.mesh, value.shape, device));
    runs.for_each([&](int64_t to, int64_t from) {
      const auto bytes = static_cast<size_t>(runs.run_length() * element);
      const std::byte* source = part + from * element;
      std::byte* destination = whole.data() + to * element;
      if (written[to]) equal = equal && std::memcmp(destination, source, bytes) == 0;
      std::memcpy(destination, source, bytes);
      std::fill_n(written.begin() + to, runs.run_length(), true);
    });
  }
  std::vector<float> values(written.size());
  cast_floats(value.dtype, whole, DType::f32, std::as_writable_bytes(std::span(values)));
  return values;
}

}  // namespace

ThreadTraining train_in_threads(const Plan& plan, int64_t steps, std::stop_token stop,
                                const std::function<void(const StepMessage&)>& on_step,
                                const std::string& parameter_file, const CheckpointOptions& checkpoints) {
  const int ranks = plan.mesh.device_count();
  ThreadTraining result;
  std::vector<AlignedMemory> memory;
  for (int rank = 0; rank < ranks; ++rank) memory.emplace_back(rank_memory_bytes(plan));
  std::vector<std::unique_ptr<Communicator>> communicators = make_thread_communicators(ranks);
  std::vector<std::exception_ptr> errors(ranks);

  const auto run = [&](int rank) {
    omp_set_num_threads(plan.threads_per_rank);
    TrainHooks hooks;
    hooks.parameter_file = parameter_file;
    hooks.checkpoints = checkpoints;
    if (rank == 0) {
      hooks.stop = stop;
      hooks.on_expert_load = [&](const std::vector<ExpertLoad>& loads) { result.expert_loads.push_back(loads); };
      hooks.on_step = [&](const StepMessage& step) {
        result.steps.push_back(step);
        if (on_step) on_step(step);
      };
    }
    try {
      train(plan, steps, *communicators[rank], memory[rank].span(), hooks);
    } catch (...) {
      errors[rank] = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < ranks; ++rank) threads.emplace_back(run, rank);
  }
  rethrow_first(errors);

  if (!result.steps.empty()) result.ranks = result.steps.back().ranks;
  for (const ParameterPlan& parameter : plan.parameters) {
    const std::string path = fmt::format("{}", fmt::join(parameter.path, "/"));
    result.parameters[path] = gather(plan, parameter.value, memory, result.replicas_equal);
    for (size_t i = 0; i < parameter.state_values.size(); ++i) {
      result.optimizer[parameter.state_names[i] + "/" + path] =
          gather(plan, parameter.state_values[i], memory, result.replicas_equal);
    }
  }
  return result;
}

}  // namespace shardscope
