#pragma once

#include <QObject>
#include <QPicture>
#include <QTimer>
#include <memory>

#include "gui/run/run_curves.h"
#include "gui/window/centre.h"

namespace shardscope {

// Paints a page of a workspace as it would be in a window of its own, without showing it: as drawing commands, which
// a file of any form can be made of. Pages that are still being made are waited for. Of Compare it is the pinned plans,
// and without any all meshes of the devices; "run" is the curves of the run.
class PageRecorder : public QObject {
  Q_OBJECT
 public:
  // `page` as Centre::show_page() takes it, which throws Failure where there is none; `size` of the page, which is as
  // large as it needs where that is more; `trace`: of the recorded steps the one that is shown; `pins` may be null.
  PageRecorder(Workspace& workspace, const QString& page, QSize size, TraceChoice trace = TraceChoice::median,
               const PinnedPlans* pins = nullptr, QObject* parent = nullptr);

 signals:
  void recorded(const QPicture& picture, QSize size);  // once

 private:
  void show_page(const QString& page, QSize size, TraceChoice trace, const PinnedPlans* pins);
  void show_curves(QSize size);
  void look();

  Workspace& workspace_;
  std::unique_ptr<Centre> centre_;
  std::unique_ptr<RunCurves> curves_;  // in its place
  QTimer timer_;
  int settled_ = 0;  // how often it was found settled
};

}  // namespace shardscope
