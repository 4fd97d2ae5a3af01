#pragma once

#include <QAction>
#include <QBoxLayout>
#include <QCheckBox>
#include <QProgressBar>
#include <QPushButton>
#include <QSortFilterProxyModel>
#include <QSplitter>
#include <QTableView>
#include <QToolButton>

#include "engine/export/export_kind.h"
#include "gui/compare/pinned_plans.h"
#include "gui/look/empty_note.h"
#include "gui/look/footer_note.h"
#include "gui/look/line_label.h"
#include "gui/search/found_chart.h"
#include "gui/search/found_model.h"
#include "gui/search/search_form.h"
#include "gui/workspace/page.h"
#include "gui/workspace/workspace.h"

namespace shardscope {

// The strategies of the document's model on so many devices, searched in the background: a chart of step time against
// memory that fills while one looks, and a table, with one selection. Nothing else in the window changes until one is
// taken, which is one undoable edit, or pinned for the page Compare. What was found of another run file than the
// document is, its strategy aside, is marked as out of date and cannot be taken.
class SearchPage : public QWidget, public Page {
  Q_OBJECT
 public:
  SearchPage(Workspace& workspace, PinnedPlans& pins, QWidget* parent = nullptr);

  void start();
  void start_on(int64_t devices);
  const StrategySearch& search() const { return search_; }
  bool is_settled() const override;
  void begin_picture(const Page* seen) override;  // of what was found
  // What was found as files, for File > Export; empty while nothing was.
  std::vector<ExportKind> export_kinds() const;

 signals:
  void reported(const QString& what);

 protected:
  void resizeEvent(QResizeEvent* event) override;
  void showEvent(QShowEvent* event) override;

 private:
  struct PlannedCandidate {
    std::shared_ptr<const Plan> plan;
    std::shared_ptr<const PlanIndex> index;
    QString title, fault;
  };

  void make_table();
  QLayout* make_bar();
  QLayout* make_foot();
  void show_form(bool shows);
  void make_actions();
  void show_state();
  void show_note();
  void show_detail(std::optional<int> row);
  void fit_form();
  void follow_document();
  void choose(int row);
  void pin(int row);
  void take(int row);
  void take_plan(PlannedCandidate planned);
  std::optional<int> current() const;
  RunConfig run_of_row(int row) const;

  Workspace& workspace_;
  PinnedPlans& pins_;
  StrategySearch search_;
  SearchForm* form_;
  FoundModel* model_;
  QSortFilterProxyModel* sorted_;
  QToolButton* numbers_;
  QPushButton *start_, *take_, *pin_;
  QProgressBar* progress_;
  QCheckBox* front_only_;
  QSplitter* split_;
  FoundChart* chart_;
  QTableView* table_;
  LineLabel* detail_;
  FooterNote* note_;
  EmptyNote* none_;
  QAction *take_action_, *pin_action_;
  int64_t mesh_devices_ = 0;
  bool is_old_ = false, is_split_ = false;
  Background<PlannedCandidate> planning_;
};

}  // namespace shardscope
