#include "gui/run/run_reader.h"

#include <QPromise>
#include <algorithm>
#include <utility>

#include "engine/compile/compile.h"
#include "engine/session/recorded_run.h"

namespace shardscope {
namespace {

ReadRun read_record(const std::string& folder, const std::stop_token& stop) {
  try {
    auto record = std::make_shared<RunRecord>();
    RecordedRun(folder).replay([&](const Message& message) {
      if (stop.stop_requested()) throw Cancelled();
      record->add(message);
    });
    record->is_over = true;
    return {record, {}};
  } catch (const Failure& failure) {
    return {nullptr, QString::fromUtf8(failure.what())};
  } catch (const Cancelled&) {
    return {};
  }
}

}  // namespace

RunReader::RunReader(QObject* parent) : QObject(parent) {
  pool_.setMaxThreadCount(1);
  connect(&watcher_, &QFutureWatcherBase::finished, this, &RunReader::receive);
}

RunReader::~RunReader() { forget(); }

void RunReader::want(const StoredRun& run) {
  if (run.id == reading_ || std::ranges::count(wanted_, run.id, &StoredRun::id)) return;
  wanted_.push_back(run);
  if (reading_.isEmpty()) begin();
}

void RunReader::forget() {
  wanted_.clear();
  stop_.request_stop();
}

void RunReader::begin() {
  if (wanted_.empty()) return;
  const StoredRun run = wanted_.front();
  wanted_.pop_front();
  reading_ = run.id;
  stop_ = std::stop_source();
  auto promise = std::make_shared<QPromise<ReadRun>>();
  watcher_.setFuture(promise->future());
  promise->start();
  pool_.start([promise, folder = run.record.toStdString(), stop = stop_.get_token()] {
    promise->addResult(read_record(folder, stop));
    promise->finish();
  });
}

void RunReader::receive() {
  const QString id = std::exchange(reading_, {});
  const ReadRun run = watcher_.result();
  const bool is_wanted = !stop_.stop_requested();
  begin();
  if (is_wanted) emit read(id, run);
}

}  // namespace shardscope
