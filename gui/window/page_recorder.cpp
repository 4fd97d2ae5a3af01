#include "gui/window/page_recorder.h"

#include <QPainter>

#include "engine/base/error.h"
#include "gui/look/appearance.h"

namespace shardscope {
namespace {

constexpr int settled_looks = 3;  // what the last news changed is laid out a turn after it

}  // namespace

PageRecorder::PageRecorder(Workspace& workspace, const QString& page, QSize size, TraceChoice trace,
                           const PinnedPlans* pins, QObject* parent)
    : QObject(parent), workspace_(workspace) {
  if (page == "run") show_curves(size);
  else show_page(page, size, trace, pins);
  timer_.setInterval(30);
  connect(&timer_, &QTimer::timeout, this, &PageRecorder::look);
  timer_.start();
}

void PageRecorder::show_page(const QString& page, QSize size, TraceChoice trace, const PinnedPlans* pins) {
  centre_ = std::make_unique<Centre>(workspace_);
  centre_->setAttribute(Qt::WA_DontShowOnScreen);
  if (!page.isEmpty() && !centre_->show_page(page))
    throw Failure(Error{"unknown_page", centre_->no_page(page, {"run"}).toStdString(), "", ""});
  for (TraceBox* box : centre_->findChildren<TraceBox*>()) box->setCurrentIndex(box->findData(int(trace)));
  if (centre_->pages()->currentWidget() == centre_->compare()) {
    if (pins && pins->any()) centre_->compare()->pins().keep_those_of(*pins);
    else centre_->compare()->sweep();
  }
  centre_->resize(size);
  centre_->show();
  const QSize frame = centre_->size() - centre_->pages()->currentWidget()->size();
  centre_->resize(size + frame);
}

void PageRecorder::show_curves(QSize size) {
  curves_ = std::make_unique<RunCurves>(workspace_.run);
  curves_->setAttribute(Qt::WA_DontShowOnScreen);
  curves_->resize(size);
  curves_->show();
}

void PageRecorder::look() {
  settled_ = !workspace_.planner.is_busy() && (!centre_ || centre_->is_settled()) ? settled_ + 1 : 0;
  if (settled_ < settled_looks) return;
  timer_.stop();
  QWidget& page = curves_ ? *curves_ : *centre_->pages()->currentWidget();
  QPicture picture;
  QPainter painter(&picture);
  painter.fillRect(page.rect(), theme().base);
  page.render(&painter);
  painter.end();
  const QSize size = page.size();
  page.window()->hide();
  emit recorded(picture, size);
}

}  // namespace shardscope
