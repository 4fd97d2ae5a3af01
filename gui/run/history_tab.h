#pragma once

#include <QLabel>
#include <QPushButton>
#include <QTableWidget>
#include <QWidget>
#include <optional>
#include <vector>

#include "gui/run/run_control.h"
#include "gui/run/run_curves.h"
#include "gui/run/run_reader.h"

namespace shardscope {

// The last runs of the file, newest first: how each ended and how far it came. Those that are ticked are laid over the
// curves of the run at hand; one that goes on without a window can be attached to.
class HistoryTab : public QWidget {
  Q_OBJECT
 public:
  explicit HistoryTab(RunControl& run, QWidget* parent = nullptr);
  // Lists the runs anew, those of RunControl::store().
  void refresh();
  // A run of the file that goes on and is not watched.
  const std::optional<StoredRun>& running() const { return running_; }
  bool is_busy() const { return reader_->is_busy(); }

 signals:
  void pastChanged(const std::vector<PastRun>& runs);
  void runningChanged();
  void attachWanted(const StoredRun& run);

 protected:
  void showEvent(QShowEvent* event) override;

 private:
  const StoredRun* selected() const;
  bool is_ticked(int row) const;
  void show_row(int row);
  void show_selected();
  void tell_past();
  void remove_selected();

  RunControl& run_;
  QTableWidget* table_;
  QPushButton *attach_, *remove_;
  QLabel* empty_;
  RunReader* reader_;
  std::vector<StoredRun> runs_;
  std::optional<StoredRun> running_;
  bool was_active_ = false;
};

}  // namespace shardscope
