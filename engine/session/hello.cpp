#include "engine/session/hello.h"

#include "engine/machine/machine_file.h"

namespace shardscope {

HelloMessage hello_of(const Plan& plan) {
  return {plan.run_file,
          plan.hash,
          plan.mesh.device_count(),
          plan_step_names(plan),
          metric_names(plan.metrics),
          machine_text(plan.machine)};
}

}  // namespace shardscope
