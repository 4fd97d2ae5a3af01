#include "gui/window/centre.h"

#include <QCoreApplication>
#include <QTabBar>
#include <QVBoxLayout>
#include <algorithm>
#include <utility>

#include "engine/base/error.h"
#include "gui/document/text.h"
#include "gui/help/guide.h"
#include "gui/look/main_widget.h"
#include "gui/look/steady_tabs.h"
#include "gui/pages/layout_page.h"
#include "gui/planning/later_iteration.h"
#include "gui/window/page_list.h"

namespace shardscope {
namespace {

constexpr int narrowest = 280;  // whatever the fonts

}  // namespace

Centre::Centre(Workspace& workspace, QWidget* parent)
    : QWidget(parent), workspace_(workspace), pins_(workspace), pages_(new SteadyTabs(this)) {
  pages_->setObjectName("pages");
  pages_->setDocumentMode(true);
  pages_->setMinimumWidth(narrowest);
  pages_->tabBar()->setExpanding(false);
  for (const PageKind& kind : page_kinds()) {
    QWidget* page = kind.make(workspace, pins_);
    pages_->setTabToolTip(pages_->addTab(page, tr(kind.title)), QCoreApplication::translate("Page", kind.tip));
    set_help_chapter(page, anchor_of(name_of(kind)));
  }
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(0);
  layout->addWidget(pages_, 1);
  connect(&workspace.planner, &Planner::delivered, this, &Centre::paint_later);
}

// The pages before the pins that they show.
Centre::~Centre() { delete pages_; }

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

int Centre::index_of(const QString& name) const {
  const std::vector<PageKind>& kinds = page_kinds();
  const auto found = std::ranges::find_if(
      kinds, [&](const PageKind& kind) { return name_of(kind).compare(name, Qt::CaseInsensitive) == 0; });
  return found == kinds.end() ? -1 : static_cast<int>(found - kinds.begin());
}

Page* Centre::find_page(const QString& name) const { return dynamic_cast<Page*>(pages_->widget(index_of(name))); }

Page* Centre::current_page() const { return dynamic_cast<Page*>(pages_->currentWidget()); }

bool Centre::show_page(const QString& name) {
  const int index = index_of(name);
  if (index >= 0) pages_->setCurrentIndex(index);
  return index >= 0;
}

void Centre::enter_page(const QString& name) {
  if (show_page(name)) give_keyboard(*pages_->currentWidget());
}

QString Centre::no_page(const QString& name, const std::vector<std::string>& more) const {
  std::vector<std::string> names;
  for (const PageKind& kind : page_kinds()) names.push_back(name_of(kind).toLower().toStdString());
  names.insert(names.end(), more.begin(), more.end());
  return tr("there is no page '%1' (%2)").arg(name, qt(name_hint(name.toStdString(), names)));
}

bool Centre::is_settled() const {
  for (int i = 0; i < pages_->count(); ++i) {
    const auto* page = dynamic_cast<const Page*>(pages_->widget(i));
    if (page && !page->is_settled()) return false;
  }
  return !paints_later_;
}

bool Centre::replay_selected() {
  show_page("layout");
  return page<LayoutPage>()->replay_selected();
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
