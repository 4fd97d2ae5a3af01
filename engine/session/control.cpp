#include "engine/session/control.h"

#include <atomic>
#include <cstdint>

#include "engine/base/error.h"

namespace shardscope {

namespace {

using ControlWord = std::atomic<uint32_t>;
static_assert(ControlWord::is_always_lock_free);

std::string control_path(const std::string& session_directory) { return session_directory + "/control"; }

}  // namespace

Control Control::create(const std::string& session_directory) {
  return Control(MappedFile::create(control_path(session_directory), sizeof(ControlWord)));
}

Control Control::open(const std::string& session_directory) {
  std::string path = control_path(session_directory);
  MappedFile file = MappedFile::open(path, MappedFile::Access::read_write);
  if (file.size() != sizeof(ControlWord))
    throw Failure(Error{"session_file", "is not a control file", in_file(path), ""});
  return Control(std::move(file));
}

void Control::request_stop() noexcept { static_cast<ControlWord*>(file_.data())->store(1, std::memory_order_release); }

bool Control::stop_requested() const noexcept {
  return static_cast<const ControlWord*>(file_.data())->load(std::memory_order_acquire) != 0;
}

}  // namespace shardscope
