#pragma once

#include <QObject>
#include <memory>

#include "gui/background/background.h"
#include "gui/window/files.h"
#include "gui/workspace/workspace.h"

namespace shardscope {

// Run > Attach to a socket: watches a run that was started elsewhere. What it says of itself (run file, machine)
// becomes the document and its plan, unless they are those that are shown; so measured stands beside planned.
class SocketWatch : public QObject {
  Q_OBJECT
 public:
  // `window`: what the dialogs belong to.
  SocketWatch(Workspace& workspace, Files& files, QWidget& window);

  void choose();
  // Without effect but a fault where nobody answers there.
  void attach(const QString& path);

 signals:
  void attached();
  void reported(const QString& what);
  void faulty(const std::vector<Error>& errors);

 private:
  // What a run says of itself, read.
  struct Reported {
    RunConfig config;
    std::vector<Error> errors;
  };
  static Reported read(const HelloMessage& hello, const std::string& path);

  void take_hello();
  void take_message(Reported reported);
  void take_plan();

  Workspace& workspace_;
  Files& files_;
  QWidget& window_;
  QString path_;
  std::shared_ptr<const RunConfig> being_planned_;  // of the run
  Background<Reported> reading_{[this](Reported reported) { take_message(std::move(reported)); }};
};

}  // namespace shardscope
