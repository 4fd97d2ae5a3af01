#include "gui/window/page_recorder.h"

#include <QPainter>

#include "engine/base/error.h"
#include "gui/look/appearance.h"

namespace shardscope {
namespace {

constexpr int settled_looks = 3;  // what the last news changed is laid out a turn after it

}  // namespace

PageRecorder::PageRecorder(Workspace& workspace, const QString& page, QSize size, QObject* parent)
    : QObject(parent), workspace_(workspace), centre_(std::make_unique<Centre>(workspace)) {
  centre_->setAttribute(Qt::WA_DontShowOnScreen);
  if (!page.isEmpty() && !centre_->show_page(page))
    throw Failure(Error{"unknown_page", "there is no page " + page.toStdString(), "",
                        "pages: layout, flow, memory, collectives, timeline, pipeline"});
  centre_->resize(size);
  centre_->show();
  const QSize frame = centre_->size() - centre_->pages()->currentWidget()->size();
  centre_->resize(size + frame);
  timer_.setInterval(30);
  connect(&timer_, &QTimer::timeout, this, &PageRecorder::look);
  timer_.start();
}

void PageRecorder::look() {
  settled_ = !workspace_.planner.is_busy() && centre_->is_settled() ? settled_ + 1 : 0;
  if (settled_ < settled_looks) return;
  timer_.stop();
  QWidget& page = *centre_->pages()->currentWidget();
  QPicture picture;
  QPainter painter(&picture);
  painter.fillRect(page.rect(), theme().base);
  page.render(&painter);
  painter.end();
  const QSize size = page.size();
  centre_->hide();
  emit recorded(picture, size);
}

}  // namespace shardscope
