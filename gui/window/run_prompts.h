#pragma once

#include <QWidget>
#include <functional>

#include "gui/workspace/workspace.h"

namespace shardscope {

// What the window asks before a run begins or ends.
class RunPrompts : public QObject {
  Q_OBJECT
 public:
  RunPrompts(Workspace& workspace, QWidget& window);

  // Asks where the ranks would need more memory than there is.
  bool may_exceed_memory();
  // True where no run is left for this window to watch: it has none, has ended it, or lets it go on. A run that
  // `is_recorded` in the file's history may go on, as may one that was started elsewhere.
  bool may_end_run(bool is_recorded);
  // Asks where others watch it, too.
  void stop();
  void detach();

 signals:
  void reported(const QString& text);

 private:
  bool ends();  // false where the window is to stay
  // Acts where the run ends while `context` is there.
  void when_ended(QObject& context, const std::function<void()>& act);

  Workspace& workspace_;
  QWidget& window_;
};

}  // namespace shardscope
