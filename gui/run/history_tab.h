#pragma once

#include <QLabel>
#include <QPushButton>
#include <QTableWidget>
#include <QWidget>
#include <map>
#include <optional>
#include <set>
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
  // The newest run of the file that goes on without a window.
  const std::optional<StoredRun>& running() const { return running_; }
  bool is_busy() const { return reader_->is_busy(); }

 signals:
  void pastChanged(const std::vector<PastRun>& runs);
  void runningChanged();
  void attachWanted(const StoredRun& run);

 protected:
  void showEvent(QShowEvent* event) override;

 private:
  // What is known of a stored run; its record while it is ticked.
  struct Known {
    QStringList cells;
    std::shared_ptr<const RunRecord> record;
    bool is_whole = false;  // nothing more comes
    bool is_unreadable = false;
  };

  const StoredRun* selected() const;
  bool is_ticked(int row) const;
  void take(const QString& id, const ReadRun& read);
  void show_row(int row);
  void show_selected();
  void show_past();
  void remove_selected();

  RunControl& run_;
  QTableWidget* table_;
  QPushButton *attach_, *remove_;
  QLabel* empty_;
  RunReader* reader_;
  QString folder_;  // of the history
  std::vector<StoredRun> runs_;
  std::map<QString, Known> known_;
  std::optional<StoredRun> running_;
  std::set<QString> going_on_;  // those that answered, also to another window
  std::set<QString> left_;      // those of them that were left to go on without one
  bool was_active_ = false;
};

}  // namespace shardscope
