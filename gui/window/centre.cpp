#include "gui/window/centre.h"

#include <QTabBar>
#include <QVBoxLayout>
#include <utility>

#include "engine/base/error.h"
#include "gui/document/text.h"
#include "gui/help/guide.h"
#include "gui/look/steady_tabs.h"
#include "gui/pages/collectives_page.h"
#include "gui/pages/layout_page.h"
#include "gui/pages/machine_page.h"
#include "gui/pages/pipeline_page.h"
#include "gui/planning/later_iteration.h"

namespace shardscope {
namespace {

constexpr int narrowest = 280;  // whatever the fonts

}  // namespace

Centre::Centre(Workspace& workspace, QWidget* parent)
    : QWidget(parent), workspace_(workspace), pages_(new SteadyTabs(this)) {
  pages_->setObjectName("pages");
  pages_->setDocumentMode(true);
  pages_->setMinimumWidth(narrowest);
  pages_->tabBar()->setExpanding(false);
  auto* collectives = new CollectivesPage(workspace);
  comparison_ = collectives->comparison();
  add_page(new LayoutPage(workspace), tr("&Layout"), tr("How the selected array is sharded over the devices."));
  flow_ = new FlowPage(workspace);
  add_page(flow_, tr("Flo&w"),
           tr("The instructions of the program, with the layout of what each computes and every reshard."));
  memory_ = new MemoryPage(workspace);
  add_page(memory_, tr("&Memory"), tr("What fills each device's memory, and when."));
  add_page(collectives, tr("&Collectives"), tr("Everything the devices exchange in a training step, and why."));
  timeline_ = new TimelinePage(workspace);
  add_page(timeline_, tr("&Timeline"), tr("Where the time of a training step goes."));
  add_page(new PipelinePage(workspace), tr("P&ipeline"),
           tr("The stages of the pipeline, and which microbatch each works on when."));
  compare_ = new ComparePage(workspace);
  add_page(compare_, tr("Comp&are"), tr("Plans beside each other: those you pinned, and all meshes of these devices."));
  add_page(new MachinePage(workspace), tr("Machi&ne"),
           tr("The machine that plans are made for, and what each mesh axis moves over which of its links."));
  search_ = new SearchPage(workspace, compare_->pins());
  add_page(search_, tr("&Search"), tr("The strategies of this model: step time against memory, and which is best."));
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(0);
  layout->addWidget(pages_, 1);
  connect(&workspace.planner, &Planner::delivered, this, &Centre::paint_later);
}

void Centre::add_page(QWidget* page, const QString& title, const QString& tip) {
  pages_->setTabToolTip(pages_->addTab(page, title), tip);
  set_help_chapter(page, anchor_of(QString(title).remove('&')));
}

// A new plan is reported to the panels first: they and the page are painted in an event-loop iteration each.
void Centre::paint_later() {
  if (std::exchange(paints_later_, true)) return;
  pages_->setUpdatesEnabled(false);
  in_later_iteration(this, [this] {
    paints_later_ = false;
    pages_->setUpdatesEnabled(true);
  });
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

QString Centre::no_page(const QString& name, const std::vector<std::string>& more) const {
  std::vector<std::string> names;
  for (int i = 0; i < pages_->count(); ++i) names.push_back(pages_->tabText(i).remove('&').toLower().toStdString());
  names.insert(names.end(), more.begin(), more.end());
  return tr("there is no page '%1' (%2)").arg(name, qt(name_hint(name.toStdString(), names)));
}

bool Centre::is_settled() const {
  return !paints_later_ && flow_->canvas()->is_settled() && memory_->curve()->is_settled() && !comparison_->is_busy() &&
         !timeline_->is_busy() && !compare_->is_busy() && search_->is_settled();
}

bool Centre::replay_selected() {
  show_page("layout");
  return findChild<LayoutPage*>()->replay_selected();
}

void Centre::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  if (strip_) strip_->fit_to(size());
}

void Centre::show_problems(LegalSizes& sizes) {
  strip_ = new ProblemStrip(workspace_, sizes, this);
  connect(strip_, &ProblemStrip::allWanted, this, &Centre::problemsWanted);
}

}  // namespace shardscope
