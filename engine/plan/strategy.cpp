#include "engine/plan/strategy.h"

#include <algorithm>

namespace shardscope {

namespace {

SelectedStrategy data_parallel(int64_t devices, bool divided) {
  return {"data_parallel", devices, 1, 1, {devices}, {"data"}, divided};
}

SelectedStrategy tensor_parallel(int64_t devices) {
  return {"tensor_parallel", 1, devices, 1, {1, devices}, {"data", "model"}};
}

}  // namespace

SelectedStrategy select_parallelism_strategy(double model_params, int64_t available_devices, double device_memory_gb,
                                             double factor) {
  const auto gigabytes = [&](double parameters) { return parameters * document_bytes * factor / 1e9; };
  if (gigabytes(model_params) <= device_memory_gb) return data_parallel(available_devices, false);
  if (gigabytes(model_params / static_cast<double>(available_devices)) <= device_memory_gb) {
    return data_parallel(available_devices, true);
  }
  constexpr int64_t tensor = 4;
  if (available_devices <= 8 || available_devices % tensor != 0) return tensor_parallel(available_devices);
  const int64_t remaining = available_devices / tensor, data = std::max<int64_t>(1, remaining / 2);
  const int64_t pipeline = remaining / data;
  return {"hybrid_3d", data, tensor, pipeline, {data, tensor, pipeline}, {"data", "model", "pipeline"}};
}

std::vector<Strategy> common_strategies(int64_t devices) {
  std::vector<Strategy> all{{"data parallel", devices}};
  if (devices == 1) return all;
  for (int stage : {1, 2, 3}) all.push_back({"ZeRO-" + std::to_string(stage), devices, 1, 1, stage});
  all.push_back({"tensor parallel", 1, devices});
  all.push_back({"pipeline", 1, 1, devices});
  int64_t tensor = std::min<int64_t>(8, devices);
  while (devices % tensor != 0) --tensor;
  if (tensor > 1 && tensor < devices) all.push_back({"tensor x pipeline", 1, tensor, devices / tensor});
  if (devices % 8 == 0 && devices > 8) {
    for (int stage : {0, 1, 3}) {
      all.push_back({stage == 0 ? "3D" : "3D, ZeRO-" + std::to_string(stage), devices / 8, 4, 2, stage});
    }
  }
  return all;
}

double state_bytes(const Strategy& strategy, double parameters, const StateBytes& bytes) {
  const auto share = [&](double kept, int split_from) {
    return strategy.zero_stage >= split_from ? kept / static_cast<double>(strategy.data) : kept;
  };
  const double each = share(bytes.parameters, 3) + share(bytes.gradients, 2) + share(bytes.optimizer, 1);
  return parameters * each / static_cast<double>(strategy.tensor * strategy.pipeline);
}

}  // namespace shardscope
