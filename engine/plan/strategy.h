#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace shardscope {

// What `select_parallelism_strategy` of "Model Parallelism" (Workshop) returns.
struct SelectedStrategy {
  std::string strategy;  // "data_parallel", "tensor_parallel", "hybrid_3d"
  int64_t data = 1, tensor = 1, pipeline = 1;
  std::vector<int64_t> mesh_shape;
  std::vector<std::string> mesh_axis_names;
  bool divided = false;  // it says data parallelism because a device's share of the parameters fits
  bool operator==(const SelectedStrategy&) const = default;
};

// That function line by line: a parameter takes `factor` times the 2 bytes of fp16. The document multiplies by 5; its
// comments (parameters 1, gradients 1, Adam 2, activations 2) add up to 6.
inline constexpr double document_factor = 5, commented_factor = 6, document_bytes = 2;
SelectedStrategy select_parallelism_strategy(double model_params, int64_t available_devices, double device_memory_gb,
                                             double factor = document_factor);

// Bytes that Adam keeps of each parameter. In fp16 alone, as the document counts; in mixed precision, where it has its
// moments and a copy of the parameters in f32 (Rajbhandari et al., "ZeRO", 2019: 16 bytes); in f32, as a run here.
struct StateBytes {
  const char* name;
  double parameters, gradients, optimizer;
  double total() const { return parameters + gradients + optimizer; }
};
inline constexpr StateBytes state_bytes_kinds[] = {
    {"fp16, as the document", 2, 2, 4}, {"mixed precision", 2, 2, 12}, {"f32", 4, 4, 8}};

// A way to split a model over devices. Tensor and pipeline parallelism split all states; data parallelism splits what
// its ZeRO stage says.
struct Strategy {
  std::string name;  // "tensor x pipeline"
  int64_t data = 1, tensor = 1, pipeline = 1;
  int zero_stage = 0;

  int64_t devices() const { return data * tensor * pipeline; }
};

// What is common on so many devices: each kind alone, tensor parallelism over at most 8 devices with a pipeline over
// the rest, and the document's hybrid, with and without ZeRO.
std::vector<Strategy> common_strategies(int64_t devices);

// Bytes of parameters, gradients and optimizer state on each device where all split evenly. Activations come on top:
// they depend on batch and rematerialisation.
double state_bytes(const Strategy& strategy, double parameters, const StateBytes& bytes);

}  // namespace shardscope
