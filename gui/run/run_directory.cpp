#include "gui/run/run_directory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <QTemporaryDir>
#include <cerrno>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/error.h"
#include "gui/run/run_store.h"

namespace shardscope {
namespace {

constexpr const char* code = "run_directory";

std::unique_ptr<const HeldFolder> hold(const QString& path) {
  const int folder = ::open(path.toUtf8().constData(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (folder < 0) return nullptr;
  return std::make_unique<const HeldFolder>(folder, path.toStdString(), code);
}

bool is_of_a_run(const std::string& name) {
  for (const char* own :
       {run_files::config, run_files::machine, run_files::output, run_files::errors, run_files::socket})
    if (name == own) return true;
  return name.starts_with(run_files::predictions);
}

bool is_in_place(const HeldFolder& folder) {
  struct stat there {};
  return ::lstat(folder.path().c_str(), &there) == 0 && FolderIdentity{there.st_dev, there.st_ino} == folder.identity();
}

// The mark of a run that was left goes last: by it the rest is found again.
bool remove(const HeldFolder& folder) {
  if (!is_in_place(folder)) return true;
  for (const std::string& name : folder.names())
    if (is_of_a_run(name)) ::unlinkat(folder.descriptor(), name.c_str(), 0);
  if (folder.names() == std::vector<std::string>{run_files::left}) ::unlinkat(folder.descriptor(), run_files::left, 0);
  return !is_in_place(folder) || ::rmdir(folder.path().c_str()) == 0;
}

}  // namespace

RunDirectory::RunDirectory() {
  QTemporaryDir made;
  made.setAutoRemove(false);
  path_ = made.path();
  if (made.isValid()) held_ = hold(path_);
  if (!held_) fault_ = made.isValid() ? qt_error_string(errno) : made.errorString();
}

RunDirectory::~RunDirectory() {
  try {
    if (held_) remove(*held_);
  } catch (const Failure&) {  // it stays
  }
}

bool remove_run_directory(const QString& path) {
  try {
    const std::unique_ptr<const HeldFolder> folder = hold(path);
    return folder ? remove(*folder) : errno == ENOENT || errno == ENOTDIR || errno == ELOOP;
  } catch (const Failure&) {
    return false;
  }
}

}  // namespace shardscope
