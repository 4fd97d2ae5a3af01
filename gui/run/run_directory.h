#pragma once

#include <QString>
#include <memory>

#include "engine/base/held_folder.h"

namespace shardscope {

// The folder that is made for a run of this window, held open. With this it goes, and what a run has written in it
// (run_files); what else is in it stays, and it then, too. No link is followed, and where somebody has moved it, it
// stays as it is, and so does what has taken its place.
class RunDirectory {
 public:
  RunDirectory();
  ~RunDirectory();
  RunDirectory(const RunDirectory&) = delete;
  RunDirectory& operator=(const RunDirectory&) = delete;

  const QString& path() const { return path_; }
  const QString& fault() const { return fault_; }  // why there is none; empty: there is one
  void keep() { held_.reset(); }                   // it stays

 private:
  QString path_, fault_;
  std::unique_ptr<const HeldFolder> held_;
};

// Removes likewise what was made for a run; false where something is left.
bool remove_run_directory(const QString& path);

}  // namespace shardscope
