#include "gui/search/search_page.h"

#include <QHeaderView>
#include <QVBoxLayout>
#include <algorithm>

#include "engine/mesh/device_count.h"
#include "engine/search/conclusion.h"
#include "gui/document/faults.h"
#include "gui/document/text.h"
#include "gui/look/appearance.h"
#include "gui/look/filled_layout.h"
#include "gui/look/in_picture.h"
#include "gui/look/key_help.h"
#include "gui/look/row_table.h"
#include "gui/search/found_files.h"

namespace shardscope {
namespace {

constexpr int beside_from_width = 620;    // the table stands beside the chart, else beneath it
constexpr int numbers_from_height = 480;  // the form is open at first, and while the search runs

class FoundProxy : public QSortFilterProxyModel {
 public:
  FoundProxy(const StrategySearch& search, const QCheckBox& front_only, QWidget* page)
      : QSortFilterProxyModel(page), search_(search), front_only_(front_only), page_(*page) {}
  void renew() { invalidateFilter(); }

 protected:
  bool filterAcceptsRow(int row, const QModelIndex&) const override {
    return (!front_only_.isChecked() && !is_in_picture(page_)) || search_.is_on_front(row);
  }

 private:
  const StrategySearch& search_;
  const QCheckBox& front_only_;
  const QWidget& page_;
};

}  // namespace

SearchPage::SearchPage(Workspace& workspace, PinnedPlans& pins, QWidget* parent)
    : QWidget(parent),
      workspace_(workspace),
      pins_(pins),
      form_(new SearchForm(this)),
      model_(new FoundModel(search_, workspace.document, this)),
      numbers_(new QToolButton(this)),
      start_(new QPushButton(this)),
      take_(new QPushButton(tr("Take"), this)),
      pin_(new QPushButton(tr("Pin"), this)),
      progress_(new QProgressBar(this)),
      front_only_(new QCheckBox(tr("Front only"), this)),
      split_(new QSplitter(this)),
      chart_(new FoundChart(search_, this)),
      table_(new QTableView(this)),
      detail_(new LineLabel(this)),
      note_(new FooterNote(this)),
      none_(new EmptyNote(this)),
      planning_([this](PlannedCandidate planned) { take_plan(std::move(planned)); }) {
  setObjectName("searchPage");
  auto* proxy = new FoundProxy(search_, *front_only_, this);
  sorted_ = proxy;
  make_table();
  make_actions();
  detail_->setObjectName("searchDetail");
  note_->setObjectName("searchNote");
  none_->setObjectName("searchNone");
  split_->addWidget(chart_);
  split_->addWidget(table_);
  split_->setChildrenCollapsible(false);
  split_->setStretchFactor(0, 1);
  split_->setStretchFactor(1, 1);
  filled(tight(new QVBoxLayout(this)), {make_bar(), form_, {split_, 1}, {none_, 1}, make_foot(), note_});

  connect(front_only_, &QCheckBox::toggled, this, [proxy] { proxy->renew(); });
  connect(chart_, &FoundChart::pointed, this, [this](std::optional<int> row) { show_detail(row ? row : current()); });
  connect(chart_, &FoundChart::chosen, this, &SearchPage::choose);
  connect(chart_, &FoundChart::pinWanted, this, &SearchPage::pin);
  connect(chart_, &FoundChart::takeWanted, this, &SearchPage::take);
  connect(form_, &SearchForm::changed, this, &SearchPage::show_state);
  connect(form_, &SearchForm::startWanted, this, [this] {
    if (!search_.is_running()) start();
  });
  show_detail(std::nullopt);
  connect(&search_, &StrategySearch::replaced, this, [this] {
    show_detail(std::nullopt);
    follow_document();
  });
  connect(&search_, &StrategySearch::started, form_, [this] { form_->show_refusals({}); });
  connect(&search_, &StrategySearch::ended, form_, [this] { form_->show_refusals(search_.errors()); });
  for (const auto signal : {&StrategySearch::started, &StrategySearch::ended})
    connect(&search_, signal, this, [this, proxy] {
      proxy->renew();
      show_state();
    });
  connect(&search_, &StrategySearch::advanced, this, [this, proxy] {
    if (front_only_->isChecked()) proxy->renew();
    show_state();
  });
  connect(&workspace.document, &Document::replaced, &search_, &StrategySearch::forget);
  connect(&workspace.document, &Document::configChanged, this, &SearchPage::follow_document);
  connect(&look(), &Look::changed, this, &SearchPage::show_state);
  follow_document();
}

QLayout* SearchPage::make_bar() {
  numbers_->setObjectName("searchNumbers");
  numbers_->setText(tr("What is searched"));
  numbers_->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
  numbers_->setToolTip(tr("Devices, which values each number of a strategy may have, limits and the objective."));
  connect(numbers_, &QToolButton::clicked, this, [this] { show_form(form_->isHidden()); });
  show_form(true);
  start_->setObjectName("searchStart");
  connect(start_, &QPushButton::clicked, this, [this] { search_.is_running() ? search_.stop() : start(); });
  progress_->setTextVisible(false);
  progress_->setMaximumWidth(120);
  progress_->setMaximumHeight(10);
  progress_->setAccessibleName(tr("Candidates that are searched"));
  auto* bar = filled(bordered(new QHBoxLayout, {10, 6, 10, 4}), {numbers_, spacer, progress_, start_});
  return bar;
}

QLayout* SearchPage::make_foot() {
  take_->setObjectName("searchTake");
  take_->setToolTip(tr("The document has the selected strategy (Enter or double click); undo takes it back."));
  connect(take_, &QPushButton::clicked, take_action_, &QAction::trigger);
  pin_->setObjectName("searchPin");
  pin_->setToolTip(tr("Keeps the selected strategy's plan on the page Compare (P, or a click on its point)."));
  connect(pin_, &QPushButton::clicked, pin_action_, &QAction::trigger);
  front_only_->setObjectName("searchFrontOnly");
  front_only_->setToolTip(tr("The table has the front alone."));
  auto* foot = filled(bordered(new QHBoxLayout, {10, 2, 10, 4}), {{detail_, 1}, front_only_, pin_, take_});
  return foot;
}

void SearchPage::show_form(bool shows) {
  form_->setVisible(shows);
  numbers_->setArrowType(shows ? Qt::DownArrow : Qt::RightArrow);
}

void SearchPage::make_table() {
  sorted_->setSourceModel(model_);
  sorted_->setSortRole(FoundModel::sort_role);
  table_->setObjectName("searchTable");
  table_->setAccessibleName(tr("Candidates"));
  table_->setModel(sorted_);
  table_->setSortingEnabled(true);
  table_->sortByColumn(FoundModel::seconds_column, Qt::AscendingOrder);
  table_->setSelectionMode(QAbstractItemView::SingleSelection);
  table_->setWordWrap(false);
  table_->setAlternatingRowColors(true);
  set_row_table(*table_, 24, {54, 76, 80, 300, 64, 70, 64, 110});
  table_->horizontalHeader()->setStretchLastSection(true);
  table_->setMinimumSize(180, 60);
  set_key_help(table_, tr("Search, table"),
               {{tr("Enter"), tr("take the selected strategy")}, {tr("P"), tr("pin its plan")}});
  connect(table_, &QTableView::activated, this,
          [this](const QModelIndex& index) { take(sorted_->mapToSource(index).row()); });
  connect(table_->selectionModel(), &QItemSelectionModel::currentChanged, this, [this] {
    chart_->set_current(current());
    show_detail(current());
    show_state();
  });
}

void SearchPage::make_actions() {
  const auto make = [this](const QString& name, const QString& text, const QKeySequence& key,
                           void (SearchPage::*act)(int)) {
    auto* action = new QAction(text, this);
    action->setObjectName(name);
    action->setShortcut(key);
    action->setShortcutContext(Qt::WidgetShortcut);
    for (QWidget* widget : std::initializer_list<QWidget*>{this, table_, chart_}) widget->addAction(action);
    connect(action, &QAction::triggered, this, [this, act] {
      if (const std::optional<int> row = current()) (this->*act)(*row);
    });
    return action;
  };
  pin_action_ = make("pinCandidate", tr("P&in the selected strategy"), QKeySequence("P"), &SearchPage::pin);
  take_action_ = make("takeCandidate", tr("&Take the selected strategy"), {}, &SearchPage::take);
}

std::optional<int> SearchPage::current() const {
  const QModelIndex index = table_->currentIndex();
  return index.isValid() ? std::optional(sorted_->mapToSource(index).row()) : std::nullopt;
}

void SearchPage::choose(int row) {
  const QModelIndex index = sorted_->mapFromSource(model_->index(row, FoundModel::strategy_column));
  if (index.isValid()) {
    table_->setCurrentIndex(index.siblingAtColumn(FoundModel::seconds_column));
    return;
  }
  front_only_->setChecked(false);  // the table has it then
  if (sorted_->mapFromSource(model_->index(row, 0)).isValid()) choose(row);
}

void SearchPage::start() {
  if (!form_->fault().isEmpty()) {
    show_form(true);
    form_->focus_fault();
    return emit reported(form_->fault());
  }
  if (height() < numbers_from_height) show_form(false);
  search_.start(workspace_.document.config(), form_->wish());
  follow_document();
}

void SearchPage::start_on(int64_t devices) {
  form_->set_devices(devices);
  start();
}

void SearchPage::begin_picture(const Page* seen) {
  if (const auto* page = dynamic_cast<const SearchPage*>(seen)) search_.keep_that_of(page->search_);
  follow_document();
}

bool SearchPage::is_settled() const { return chart_->is_settled(); }

void SearchPage::follow_document() {
  const RunConfig& config = workspace_.document.config();
  const int64_t devices = device_count(config.mesh_axes);
  if (devices != mesh_devices_ && !search_.is_running()) {
    mesh_devices_ = devices;
    form_->set_devices(devices);
  }
  const auto searched_of = [&](const RunConfig& of) {
    return without_strategy(for_devices(of, search_.wish().devices));
  };
  is_old_ = search_.any() && searched_of(search_.config()) != searched_of(config);
  show_state();
}

RunConfig SearchPage::run_of_row(int row) const {
  const RunConfig config = for_devices(workspace_.document.config(), search_.wish().devices);
  return run_of(config, search_.found()[static_cast<size_t>(row)].candidate);
}

void SearchPage::take(int row) {
  if (is_old_) return emit reported(tr("Out of date: search again, then take one."));
  const QString strategy = qt(text_of(search_.found()[static_cast<size_t>(row)].candidate));
  workspace_.document.close_edit();
  workspace_.document.edit(run_of_row(row), tr("strategy %1").arg(strategy));
  emit reported(tr("Took %1; Undo takes it back").arg(strategy));
}

void SearchPage::pin(int row) {
  if (is_old_) return emit reported(tr("Out of date: search again, then pin one."));
  const QString title = qt(text_of(search_.found()[static_cast<size_t>(row)].candidate));
  emit reported(tr("Planning %1").arg(title));
  planning_.make([source = workspace_.planner.source(), config = run_of_row(row), title](const std::stop_token& stop) {
    PlannedCandidate planned;
    planned.title = title;
    try {
      planned.plan = std::make_shared<const Plan>(source.plan(config, stop));
      planned.index = std::make_shared<const PlanIndex>(*planned.plan);
    } catch (const Failure& failure) {
      planned.fault = errors_text(failure.errors());
    } catch (const Cancelled&) {
      // Another one is wanted.
    } catch (const std::exception& fault) {
      planned.fault = QString::fromUtf8(fault.what());
    }
    return planned;
  });
}

void SearchPage::take_plan(PlannedCandidate planned) {
  if (!planned.fault.isEmpty()) return emit reported(planned.fault);
  if (!planned.index) return;
  using Pinning = PinnedPlans::Pinning;
  const Pinning pinning = pins_.pin_found(planned.plan, *planned.index, planned.title);
  emit reported(pinning == Pinning::pinned  ? tr("Pinned %1; the page Compare has it").arg(planned.title)
                : pinning == Pinning::known ? tr("%1 is pinned already").arg(planned.title)
                                            : tr("All places of Compare are taken: let go of a plan there first"));
}

void SearchPage::show_detail(std::optional<int> row) {
  const QString text = row ? found_text(search_.found()[static_cast<size_t>(*row)])
                           : tr("A click on a point pins it, a double click takes it.");
  detail_->setText(text);
  detail_->setToolTip(row ? found_text(search_.found()[static_cast<size_t>(*row)], true) : QString());
}

void SearchPage::show_state() {
  const bool running = search_.is_running(), any = !search_.found().empty();
  const QString fault = form_->fault();
  start_->setText(running ? tr("&Stop") : tr("&Search"));
  start_->setToolTip(running            ? tr("Ends the search; what was found stays.")
                     : !fault.isEmpty() ? fault
                                        : tr("Plans the strategies in the background (Ctrl+Shift+F)."));
  progress_->setVisible(running);
  progress_->setRange(0, static_cast<int>(search_.candidates()));
  progress_->setValue(static_cast<int>(search_.done()));
  split_->setVisible(any);
  detail_->setVisible(any && (current() || !is_in_picture(*this)));
  none_->setVisible(!any);
  front_only_->setVisible(any);
  const bool can = any && current() && !is_old_;
  for (QWidget* button : {take_, pin_}) {
    button->setVisible(any);
    button->setEnabled(can);
  }
  for (QAction* action : {take_action_, pin_action_}) action->setEnabled(can);
  table_->setEnabled(!is_old_);
  if (!any) {
    if (!search_.errors().empty()) {
      none_->setText(tr("<b>This cannot be searched</b><br>%1")
                         .arg(errors_text(search_.errors()).toHtmlEscaped().replace('\n', "<br>")));
    } else if (running) {
      none_->setText(tr("<b>Planning the first candidates\u2026</b>"));
    } else if (const auto& result = search_.result(); result && !search_.is_stopped()) {
      const QString found = qt(conclusion_of(*result, search_.wish().objective)).toHtmlEscaped();
      none_->setText(tr("<b>Nothing was found</b><br>%1").arg(found));
    } else {
      none_->setText(
          tr("<b>How is this model split best?</b><br>Search plans the strategies of as many devices: data, fsdp, "
             "tensor, context, expert and pipeline parallelism, ZeRO, microbatches, recomputation. Nothing else "
             "changes until you take one."));
    }
  }
  show_note();
}

void SearchPage::show_note() {
  note_->set_out_of_date(is_old_);
  const std::optional<SearchResult>& result = search_.result();
  QString text;
  if (!search_.errors().empty()) {
    text =
        !search_.found().empty()
            ? tr("Nothing was searched, and what was found before stays: %1").arg(qt(search_.errors().front().message))
            : tr("Nothing was searched.");
  } else if (is_old_) {
    text =
        tr("Out of date: %1, its machine or hosts have changed since. Search again.").arg(workspace_.document.title());
  } else if (search_.is_running()) {
    text = search_.candidates() == 0 ? tr("Counting candidates\u2026")
                                     : tr("%1 of %2, %3 on the front so far")
                                           .arg(search_.done())
                                           .arg(counted_text(search_.candidates(), "candidate"))
                                           .arg(search_.front().size());
  } else if (result) {
    const SearchSpaceCounts& space = result->space;
    text = tr("%1 of %2: %3 planned, %4 left out by bounds, %5 above a limit. ")
               .arg(counted_text(space.candidates, "candidate"), counted_text(search_.wish().devices, "device"))
               .arg(space.planned)
               .arg(space.too_large + space.too_slow + space.dominated)
               .arg(space.above_limit);
    if (search_.is_stopped()) text += tr("Stopped. ");
    if (search_.any()) text += qt(conclusion_of(*result, search_.wish().objective));
  } else {
    text = tr("No search was made.");
  }
  note_->setText(text);
}

std::vector<ExportKind> SearchPage::export_kinds() const {
  if (!search_.result() || search_.found().empty()) return {};
  std::vector<int> rows;
  for (int row = 0; row < sorted_->rowCount(); ++row)
    rows.push_back(sorted_->mapToSource(sorted_->index(row, 0)).row());
  return found_export_kinds(search_, std::move(rows));
}

void SearchPage::fit_form() {
  form_->setMaximumHeight(std::max(58, height() * 2 / 5));
  const bool is_beside = width() >= beside_from_width && !is_in_picture(*this);
  if (is_beside == (split_->orientation() == Qt::Horizontal) && is_split_) return;
  is_split_ = true;
  split_->setOrientation(is_beside ? Qt::Horizontal : Qt::Vertical);
  split_->setSizes({550, 450});
}

void SearchPage::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  fit_form();
}

void SearchPage::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  if (height() < numbers_from_height && !search_.any()) show_form(false);
  fit_form();
  show_state();
}

}  // namespace shardscope
