#pragma once

#include <QObject>
#include <deque>
#include <memory>

#include "gui/background/background.h"
#include "gui/run/run_record.h"
#include "gui/run/run_store.h"

namespace shardscope {

// What was read of a stored run; without a record where it cannot be read.
struct ReadRun {
  std::shared_ptr<const RunRecord> record;
  QString problem;
};

// Reads the records of stored runs, one after the other on a thread of its own.
class RunReader : public QObject {
  Q_OBJECT
 public:
  explicit RunReader(QObject* parent = nullptr);

  void want(const StoredRun& run);  // once, however often it is said before it is read
  void forget();                    // what was wanted
  bool is_busy() const { return !reading_.isEmpty() || !wanted_.empty(); }

 signals:
  void read(const QString& id, const ReadRun& run);

 private:
  void begin();
  void receive(const ReadRun& run);

  QString reading_;
  std::deque<StoredRun> wanted_;
  WorkerThreads thread_{1};
  Background<ReadRun> job_;
};

}  // namespace shardscope
