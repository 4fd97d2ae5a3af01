#pragma once

#include <QFutureWatcher>
#include <QObject>
#include <deque>
#include <map>
#include <memory>

#include "gui/run/run_record.h"
#include "gui/run/run_store.h"

namespace shardscope {

// What was read of a stored run; without a record where it cannot be read.
struct ReadRun {
  std::shared_ptr<const RunRecord> record;
  QString problem;
};

// Reads the records of stored runs, one after the other on another thread, and keeps them.
class RunReader : public QObject {
  Q_OBJECT
 public:
  explicit RunReader(QObject* parent = nullptr);

  // Reads those that are not known yet; one of which more may have come since it was read is read again where `again`.
  void want(const StoredRun& run, bool again = false);
  const ReadRun* find(const QString& id) const;  // null: not read yet
  bool is_busy() const { return !reading_.isEmpty() || !wanted_.empty(); }

 signals:
  void read(const QString& id);

 private:
  void begin();
  void receive();

  QFutureWatcher<ReadRun> watcher_;
  QString reading_;
  std::deque<StoredRun> wanted_;
  std::map<QString, ReadRun> known_;
};

}  // namespace shardscope
