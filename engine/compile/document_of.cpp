#include "engine/compile/document_of.h"

#include "engine/config/parse.h"

namespace shardscope {

RunConfig document_of(const Plan& plan) { return parse_run_config(plan.run_file, "the plan's run file"); }

}  // namespace shardscope
