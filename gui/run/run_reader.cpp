#include "gui/run/run_reader.h"

#include <algorithm>
#include <utility>

#include "engine/base/cancelled.h"
#include "engine/compile/compile.h"
#include "engine/session/recorded_run.h"

namespace shardscope {
namespace {

ReadRun read_record(const std::string& folder, const std::stop_token& stop) {
  try {
    auto record = std::make_shared<RunRecord>();
    RecordedRun(folder).replay([&](const Message& message) {
      throw_if_stopped(stop);
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

RunReader::RunReader(QObject* parent) : QObject(parent), job_([this](const ReadRun& run) { receive(run); }, thread_) {}

void RunReader::want(const StoredRun& run) {
  if (run.id == reading_ || std::ranges::count(wanted_, run.id, &StoredRun::id)) return;
  wanted_.push_back(run);
  if (reading_.isEmpty()) begin();
}

void RunReader::forget() {
  wanted_.clear();
  reading_.clear();
  job_.cancel();
}

void RunReader::begin() {
  if (wanted_.empty()) return;
  const StoredRun run = wanted_.front();
  wanted_.pop_front();
  reading_ = run.id;
  job_.make([folder = run.record.toStdString()](const std::stop_token& stop) { return read_record(folder, stop); });
}

void RunReader::receive(const ReadRun& run) {
  const QString id = std::exchange(reading_, {});
  begin();
  emit read(id, run);
}

}  // namespace shardscope
