#include "gui/run/run_reader.h"

#include <QPromise>
#include <QThreadPool>
#include <algorithm>

#include "engine/session/recorded_run.h"

namespace shardscope {
namespace {

ReadRun read_record(const std::string& folder) {
  try {
    auto record = std::make_shared<RunRecord>();
    RecordedRun(folder).replay([&](const Message& message) { record->add(message); });
    record->is_over = true;
    return {record, {}};
  } catch (const Failure& failure) {
    return {nullptr, QString::fromUtf8(failure.what())};
  }
}

}  // namespace

RunReader::RunReader(QObject* parent) : QObject(parent) {
  connect(&watcher_, &QFutureWatcherBase::finished, this, &RunReader::receive);
}

void RunReader::want(const StoredRun& run, bool again) {
  if (run.id == reading_ || (known_.contains(run.id) && !again)) return;
  if (std::ranges::count(wanted_, run.id, &StoredRun::id)) return;
  wanted_.push_back(run);
  if (reading_.isEmpty()) begin();
}

const ReadRun* RunReader::find(const QString& id) const {
  const auto found = known_.find(id);
  return found == known_.end() ? nullptr : &found->second;
}

void RunReader::begin() {
  if (wanted_.empty()) return;
  const StoredRun run = wanted_.front();
  wanted_.pop_front();
  reading_ = run.id;
  auto promise = std::make_shared<QPromise<ReadRun>>();
  watcher_.setFuture(promise->future());
  promise->start();
  QThreadPool::globalInstance()->start([promise, folder = run.record.toStdString()] {
    promise->addResult(read_record(folder));
    promise->finish();
  });
}

void RunReader::receive() {
  const QString id = std::exchange(reading_, {});
  known_[id] = watcher_.result();
  begin();
  emit read(id);
}

}  // namespace shardscope
