#include "engine/checkpoint/checkpoint_place.h"

#include <fmt/format.h>

#include "engine/base/error.h"

namespace shardscope {

void require_in_place(const HeldFolder& folder) {
  const auto displaced = folder.displaced();
  if (!displaced) return;
  const std::string hint =
      displaced->now      ? fmt::format("move it back, or go on with --checkpoint {0} --resume {0}", *displaced->now)
      : displaced->exists ? "move it back, or name it where it is now"
                          : "begin again, in a folder that stays";
  throw Failure(Error{"checkpoint_folder_moved", displaced->what, in_file(folder.path()), hint});
}

}  // namespace shardscope
