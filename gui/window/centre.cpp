#include "gui/window/centre.h"

#include <QTabBar>
#include <QVBoxLayout>

#include "gui/document/text.h"
#include "gui/pages/collectives_page.h"
#include "gui/pages/flow_page.h"
#include "gui/pages/layout_page.h"
#include "gui/pages/memory_page.h"
#include "gui/pages/pipeline_page.h"

namespace shardscope {
namespace {

constexpr int narrowest = 280;  // whatever the fonts

}  // namespace

Centre::Centre(Workspace& workspace, QWidget* parent)
    : QWidget(parent), planner_(workspace.planner), banner_(new QLabel(this)), pages_(new QTabWidget(this)) {
  banner_->setObjectName("banner");
  banner_->setWordWrap(true);
  pages_->setObjectName("pages");
  pages_->setDocumentMode(true);
  pages_->setMinimumWidth(narrowest);
  pages_->tabBar()->setExpanding(false);
  auto* collectives = new CollectivesPage(workspace);
  comparison_ = collectives->comparison();
  add_page(new LayoutPage(workspace), tr("&Layout"), tr("How the selected array lies on the devices."));
  add_page(new FlowPage(workspace), tr("Flo&w"),
           tr("The steps of the program, with the layout of what each computes and every reshard."));
  add_page(new MemoryPage(workspace), tr("&Memory"), tr("What fills each device's memory, and when."));
  add_page(collectives, tr("&Collectives"), tr("Everything the devices exchange in a training step, and why."));
  timeline_ = new TimelinePage(workspace);
  add_page(timeline_, tr("&Timeline"), tr("Where the time of a training step goes."));
  add_page(new PipelinePage(workspace), tr("P&ipeline"),
           tr("The stages of the pipeline, and which microbatch each works on when."));
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(0);
  layout->addWidget(banner_);
  layout->addWidget(pages_, 1);
  connect(&planner_, &Planner::delivered, this, &Centre::refresh_banner);
  refresh_banner();
}

void Centre::add_page(QWidget* page, const QString& title, const QString& tip) {
  pages_->setTabToolTip(pages_->addTab(page, title), tip);
}

void Centre::offer(const QList<QAction*>& actions) {
  for (int i = 0; i < pages_->count(); ++i) {
    QWidget* page = pages_->widget(i);
    if (page->contextMenuPolicy() != Qt::DefaultContextMenu) continue;
    page->setContextMenuPolicy(Qt::ActionsContextMenu);
    page->addActions(actions);
  }
}

bool Centre::show_page(const QString& name) {
  for (int i = 0; i < pages_->count(); ++i)
    if (pages_->tabText(i).remove('&').compare(name, Qt::CaseInsensitive) == 0) {
      pages_->setCurrentIndex(i);
      return true;
    }
  return false;
}

bool Centre::replay_selected() {
  show_page("layout");
  return findChild<LayoutPage*>()->replay_selected();
}

void Centre::refresh_banner() {
  const std::vector<Error>& errors = planner_.errors();
  banner_->setVisible(!errors.empty());
  if (errors.empty()) return;
  const Error& first = errors.front();
  QString text = QString("<b>%1</b>").arg(qt(first.message).toHtmlEscaped());
  if (!first.place.empty()) text.prepend(qt(to_string(first.place)).toHtmlEscaped() + ": ");
  if (!first.hint.empty()) text += " \u2014 " + qt(first.hint).toHtmlEscaped();
  if (errors.size() > 1) text += tr(" (and %1 more)").arg(errors.size() - 1);
  if (planner_.plan()) text += tr("<br>The views show the last good plan.");
  banner_->setText(text);
}

}  // namespace shardscope
