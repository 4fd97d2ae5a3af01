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
    const QByteArray go_there =
        "folder=\"" + folder_.path().toUtf8() + "\"\nmkdir -p \"$folder/$host\"\nexport TMPDIR=\"$folder/$host\"\n";
    write_script("launcher",
                 "host=$1\nshift\ncommand=$*\n" + go_there +
                     "[ -e \"$folder/$host.program\" ] && command=\"'$folder/$host.program' ${command#* }\"\n"
                     "exec sh -c \"exec $command\"\n");
    write_script("srun",
                 "while [ \"$1\" != --nodelist ]; do shift; done\nhost=$2\nshift 2\n" + go_there + "exec \"$@\"\n");
  }

  QString launcher() const { return folder_.filePath("launcher"); }
  QStringList options(const QString& hosts) const { return QStringList{"--hosts", hosts} + ways(); }
  QStringList ways() const { return {"--launcher", launcher(), "--interface", "lo"}; }
  // With which a run is inside an allocation of Slurm, whose srun knows these hosts.
  QProcessEnvironment allocation(const QString& nodes, const QString& tasks) const {
    QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
    environment.insert("PATH", folder_.path() + ":" + environment.value("PATH"));
    environment.insert("SLURM_JOB_ID", "7");
    environment.insert("SLURM_JOB_NODELIST", nodes);
    environment.insert("SLURM_TASKS_PER_NODE", tasks);
    return environment;
  }
  // What is called on this host in the place of shardrun.
  QString program_of(const QString& host) const { return folder_.filePath(host + ".program"); }
  // What runs have left of their sessions.
  QStringList left() const {
    QStringList found;
    for (const QString& host : QDir(folder_.path()).entryList(QDir::Dirs | QDir::NoDotAndDotDot)) {
      for (const QString& name : QDir(folder_.filePath(host)).entryList(QDir::Dirs | QDir::NoDotAndDotDot)) {
        if (name.startsWith("shardscope-run-")) found += host + "/" + name;
      }
    }
    return found;
  }

 private:
  void write_script(const QString& name, const QByteArray& text) const {
    QFile file(folder_.filePath(name));
    if (!file.open(QIODevice::WriteOnly)) qFatal("cannot write the script");
    file.write("#!/bin/sh\n" + text);
    file.setPermissions(QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
  }

  QTemporaryDir folder_;
};

}  // namespace shardscope
