#include "gui/planning/chosen_hosts.h"

#include <mutex>
#include <utility>

namespace shardscope {

namespace {

std::mutex mutex;
std::string chosen;

}  // namespace

std::string chosen_hosts() {
  const std::lock_guard lock(mutex);
  return chosen;
}

void choose_hosts(std::string list) {
  const std::lock_guard lock(mutex);
  chosen = std::move(list);
}

}  // namespace shardscope
