#include "engine/session/hello.h"

#include "engine/config/write.h"
#include "engine/machine/machine_file.h"

namespace shardscope {

HelloMessage hello_of(const Plan& plan) {
  return {write_run_config(plan.config), plan.hash,
          plan.mesh.device_count(),      plan_step_names(plan),
          metric_names(plan.metrics),    machine_text(plan.machine)};
}

}  // namespace shardscope
