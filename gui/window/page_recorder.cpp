#include "gui/window/page_recorder.h"

#include <QPainter>

#include "engine/base/error.h"
#include "gui/export/picture_page.h"
#include "gui/look/appearance.h"
#include "gui/look/in_picture.h"
#include "gui/run/run_curves.h"

namespace shardscope {
namespace {

constexpr int settled_looks = 3;  // what the last news changed is laid out a turn after it
constexpr QSize smallest(640, 400);

}  // namespace

PageRecorder::PageRecorder(Workspace& workspace, const QString& page, QSize size, TraceChoice trace,
                           const Centre* shown, QObject* parent)
    : QObject(parent), workspace_(workspace) {
  if (page == "run") page_ = std::make_unique<RunCurves>(workspace.run);
  else take_page(page, trace, shown);
  mark_as_picture(*page_);
  page_->setParent(&shell_);
  page_->resize(size.expandedTo(smallest));
  page_->show();
  shell_.setAttribute(Qt::WA_DontShowOnScreen);
  shell_.show();
  timer_.setInterval(30);
  connect(&timer_, &QTimer::timeout, this, &PageRecorder::look);
  timer_.start();
}

void PageRecorder::take_page(const QString& page, TraceChoice trace, const Centre* shown) {
  centre_ = std::make_unique<Centre>(workspace_);
  if (!page.isEmpty() && !centre_->show_page(page))
    throw Failure(Error{"unknown_page", centre_->no_page(page, {"run"}).toStdString(), "", ""});
  for (TraceBox* box : centre_->findChildren<TraceBox*>()) box->setCurrentIndex(box->findData(int(trace)));
  drawn_ = centre_->current_page();
  drawn_->begin_picture(shown ? shown->find_page(page) : nullptr);
  take_shown(drawn_->tabs() ? *drawn_->tabs() : *centre_->pages());
}

void PageRecorder::take_shown(QTabWidget& pages) {
  page_.reset(pages.currentWidget());
  pages.removeTab(pages.currentIndex());
}

void PageRecorder::look() {
  const bool is_busy = workspace_.planner.is_busy() || (centre_ && !(centre_->is_settled() && drawn_->is_settled()));
  settled_ = is_busy || fit_picture(*page_) ? 0 : settled_ + 1;
  if (settled_ < settled_looks) return;
  timer_.stop();
  QPicture picture;
  QPainter painter(&picture);
  painter.fillRect(page_->rect(), theme().base);
  page_->render(&painter);
  painter.end();
  const QSize size = page_->size();
  shell_.hide();
  emit recorded(picture, size);
}

}  // namespace shardscope
