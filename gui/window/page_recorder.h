#pragma once

#include <QObject>
#include <QPicture>
#include <QTimer>
#include <memory>

#include "gui/window/centre.h"

namespace shardscope {

// Paints a page of a workspace without showing it: as drawing commands, which a file of any form can be made of. It is
// the content of the page, all of it and without controls (gui/export/picture_page.h). Pages that are still being made
// are waited for. Of Compare it is the pinned plans, and without any all meshes of the devices; "run" is the curves of
// the run; of Search what was found.
class PageRecorder : public QObject {
  Q_OBJECT
 public:
  // `page` as Centre::show_page() takes it, which throws Failure where there is none; `size`: the least of the picture,
  // which is as large as its content needs; `trace`: of the recorded steps the one that is shown; `shown`: whose pins
  // and whose search; may be null.
  PageRecorder(Workspace& workspace, const QString& page, QSize size, TraceChoice trace = TraceChoice::median,
               const Centre* shown = nullptr, QObject* parent = nullptr);

  const QWidget& page() const { return *page_; }

 signals:
  void recorded(const QPicture& picture, QSize size);  // once

 private:
  void take_page(const QString& page, TraceChoice trace, const Centre* shown);
  void take_shown(QTabWidget& pages);
  void look();

  Workspace& workspace_;
  std::unique_ptr<Centre> centre_;  // none for the curves of the run
  QWidget shell_;                   // the window of the page, which only the picture sees whole
  Page* drawn_ = nullptr;           // of the centre
  std::unique_ptr<QWidget> page_;   // its widget, or its tab in front, taken out of there
  QTimer timer_;
  int settled_ = 0;  // how often it was found settled
};

}  // namespace shardscope
