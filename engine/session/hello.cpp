#include "engine/session/hello.h"

#include "engine/config/write.h"

namespace shardscope {

HelloMessage hello_of(const Plan& plan) {
  return {write_run_config(plan.config), plan.hash,
          plan.mesh.device_count(),      plan_step_names(plan),
          metric_names(plan.metrics),    profile_text(plan.profile)};
}

}  // namespace shardscope
