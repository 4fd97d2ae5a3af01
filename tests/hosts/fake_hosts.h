#pragma once

#include <QDir>
#include <QFile>
#include <QTemporaryDir>

#include "tests/cli/program.h"

namespace shardscope {

// Two hosts of one name space each, made of folders: what is launched on host A or B runs here, with its temporary
// files in a folder of its own. Nothing but loopback is needed.
class FakeHosts {
 public:
  FakeHosts() {
    QFile file(launcher());
    if (!file.open(QIODevice::WriteOnly)) qFatal("cannot write the launcher");
    file.write("#!/bin/sh\nmkdir -p \"" + folder_.path().toUtf8() + "/$1\"\nexport TMPDIR=\"" +
               folder_.path().toUtf8() + "/$1\"\nshift\nexec sh -c \"exec $*\"\n");
    file.setPermissions(QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
  }

  QString launcher() const { return folder_.filePath("launcher"); }
  QStringList options(const QString& hosts) const {
    return {"--hosts", hosts, "--launcher", launcher(), "--interface", "lo"};
  }
  // What runs have left of their sessions.
  QStringList left() const {
    QStringList found;
    for (const QString& host : {QString("a"), QString("b"), QString("c")}) {
      for (const QString& name : QDir(folder_.filePath(host)).entryList(QDir::Dirs | QDir::NoDotAndDotDot)) {
        if (name.startsWith("shardscope-run-")) found += host + "/" + name;
      }
    }
    return found;
  }

 private:
  QTemporaryDir folder_;
};

}  // namespace shardscope
