#include "engine/checkpoint/checkpoint_removal.h"

#include "engine/checkpoint/checkpoint_names.h"

namespace shardscope {

Remains remove_checkpoint(const FileCalls& calls, const HeldFolder& in, const std::string& name) {
  Remains remains;
  const std::optional<struct stat> status = in.status(name);
  if (!status) return {true, {}};
  if (!S_ISDIR(status->st_mode)) return {false, {name}};
  bool is_held = false;
  {
    const HeldFolder folder = calls.open_folder(in, name);
    for (const std::string& entry : folder.names()) {
      const std::optional<struct stat> file = folder.status(entry);
      if (!file) continue;
      if (is_checkpoint_file(entry) && S_ISREG(file->st_mode)) calls.unlink(folder, entry);
      else if (is_held_by_nfs(entry)) is_held = true;
      else remains.others.push_back(entry);
    }
  }
  if (remains.others.empty() && !is_held) remains.is_gone = calls.remove_empty_folder(in, name);
  return remains;
}

}  // namespace shardscope
