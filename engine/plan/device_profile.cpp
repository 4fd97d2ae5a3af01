#include "engine/plan/device_profile.h"

#include <algorithm>

namespace shardscope {

int DeviceProfile::threads_per_rank(int ranks) const { return std::max(1, static_cast<int>(cores) / ranks); }

}  // namespace shardscope
