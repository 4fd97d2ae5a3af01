#pragma once

#include <QObject>
#include <QPicture>
#include <QTimer>
#include <memory>

#include "gui/window/centre.h"

namespace shardscope {

// Paints a page of a workspace as it would be in a window of its own, without showing it: as drawing commands, which
// a file of any form can be made of. Pages that are still being made are waited for.
class PageRecorder : public QObject {
  Q_OBJECT
 public:
  // `page` as Centre::show_page() takes it, which throws Failure where there is none; `size` of the page, which is as
  // large as it needs where that is more.
  PageRecorder(Workspace& workspace, const QString& page, QSize size, QObject* parent = nullptr);

 signals:
  void recorded(const QPicture& picture, QSize size);  // once

 private:
  void look();

  Workspace& workspace_;
  std::unique_ptr<Centre> centre_;
  QTimer timer_;
  int settled_ = 0;  // how often it was found settled
};

}  // namespace shardscope
