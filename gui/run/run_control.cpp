#include "gui/run/run_control.h"

#include <signal.h>

#include <QFile>
#include <QFileInfo>
#include <algorithm>
#include <utility>

#include "engine/config/write.h"
#include "engine/machine/machine_file.h"
#include "gui/document/text.h"
#include "gui/run/known_message.h"

namespace shardscope {
namespace {

using namespace run_phase;

constexpr int announce_interval_ms = 80;
constexpr int leave_ms = 10000;                     // for the answer of a run that is to be left
constexpr int terminate_ms = 3000, kill_ms = 8000;  // after a run was asked to end at once
constexpr int clearing_ms = 200, most_clearings = 50;
constexpr qint64 most_errors = 1 << 20;  // bytes of shardrun's own

RunControl::State state_at(RunEnd end) {
  return end == RunEnd::finished ? RunControl::State::finished
         : end == RunEnd::failed ? RunControl::State::failed
                                 : RunControl::State::stopped;
}

QString failure_text(const FailureMessage& failure) {
  QString text = qt(failure.message);
  const auto add = [&](const QString& fact, const QString& with_fact) {
    if (!fact.isEmpty() && !text.contains(fact)) text = with_fact;
  };
  if (failure.rank >= 0)
    add(RunControl::tr("rank %1").arg(failure.rank), RunControl::tr("rank %1: %2").arg(failure.rank).arg(text));
  add(qt(failure.signal), text + RunControl::tr(" (%1)").arg(qt(failure.signal)));
  add(qt(failure.last_op), text + RunControl::tr(", last op %1").arg(qt(failure.last_op)));
  return text;
}

}  // namespace

RunControl::RunControl(QString program, QObject* parent) : QObject(parent), program_(std::move(program)) {
  clear_timer_.setInterval(clearing_ms);
  announce_timer_.setSingleShot(true);
  announce_timer_.setInterval(announce_interval_ms);
  leave_timer_.setSingleShot(true);
  leave_timer_.setInterval(leave_ms);
  connect(&announce_timer_, &QTimer::timeout, this, &RunControl::received);
  connect(&announce_timer_, &QTimer::timeout, this, [this] { take_printed(false); });
  connect(&clear_timer_, &QTimer::timeout, this, &RunControl::clear_away);
  connect(&leave_timer_, &QTimer::timeout, this, [this] { emit leaveAnswered(false); });
  connect(&connection_, &RunConnection::connected, this, [this] {
    if (is<Stopping>()) ask_to_end();  // what was asked for while nothing was connected may not have been received
  });
  connect(&connection_, &RunConnection::read, this, &RunControl::take_read);
  connect(&connection_, &RunConnection::broken, this, &RunControl::refuse_connection);
  connect(&connection_, &RunConnection::ended, this, &RunControl::connection_ended);
  connect(&connection_, &RunConnection::absent, this, &RunControl::run_absent);
  connect(&connection_, &RunConnection::refused, this, &RunControl::run_gone);
  connect(&reader_, &RunReader::read, this, &RunControl::take_record);
}

RunControl::~RunControl() {
  connection_.disconnect(this);
  if (process_) {
    process_->disconnect(this);
    signal(SIGTERM);
    signal(SIGCONT);
    let_go(std::move(process_));
  }
  clear_away();
}

RunControl::State RunControl::state() const {
  if (const auto* ending = std::get_if<Ending>(&phase_)) return state_at(ending->end);
  if (const auto* over = std::get_if<Over>(&phase_)) return state_at(over->end);
  return is<Idle>()       ? State::idle
         : is<Starting>() ? State::starting
         : is<Stopping>() ? State::stopping
                          : State::running;
}

bool RunControl::is_active() const { return !is<Idle>() && !is<Over>(); }

void RunControl::enter(RunPhase phase) {
  phase_ = phase;
  emit stateChanged();
}

QString RunControl::state_text() const {
  const auto done = static_cast<qint64>(record_.completed());
  const auto total = static_cast<qint64>(plan_ ? plan_->training.steps : stored_.steps);
  const int again = record_.restarts.empty() ? 0 : record_.restarts.back().restart;
  const QString restarts =
      again ? tr(" (restart %1: %2)").arg(again).arg(qt(record_.restarts.back().failure.message)) : "";
  switch (state()) {
    case State::idle: return tr("not started");
    case State::starting:
      return attached_ || !plan_ ? tr("looking for the run")
                                 : tr("starting %1").arg(counted_text(plan_->mesh.device_count(), "rank"));
    case State::running:
      if (is_paused()) return tr("paused after step %1; Resume (F6) lets it go on").arg(done) + restarts;
      return (!done   ? tr("first step")
              : total ? tr("training: step %1 of %2").arg(done).arg(total)
                      : tr("training: step %1").arg(done)) +
             restarts;
    case State::stopping:
      return std::get<Stopping>(phase_).at_once ? tr("ending at once")
                                                : tr("stopping after this step; Stop again ends the run at once");
    case State::finished: return tr("finished: %1").arg(counted_text(done, "step"));
    case State::stopped: return tr("stopped after %1").arg(counted_text(done, "step"));
    case State::failed: break;
  }
  return record_.failure ? failure_text(*record_.failure) : tr("the run failed");
}

void RunControl::begin(std::shared_ptr<const Plan> plan, const StoredRun& stored, bool attached) {
  connection_.close();
  plan_ = std::move(plan);
  record_ = {};
  fit_.clear();
  stored_ = stored;
  attached_ = attached;
  printed_ = PrintedLines(stored_.directory.isEmpty() ? QString() : stored_.file(run_files::output));
  enter(Starting{});
  emit received();
}

void RunControl::start(std::shared_ptr<const Plan> plan, const QString& checkpoint, bool allow_changed_data) {
  if (is_active()) return;
  directory_ = std::make_unique<RunDirectory>();
  if (!directory_->fault().isEmpty()) {
    begin(std::move(plan), {}, false);
    return fail(directory_->fault());
  }
  const StoredRun stored = store_.add(*plan, directory_->path() + '/' + run_files::socket, directory_->path());
  begin(std::move(plan), stored, false);
  try {
    replace_file(stored_.file(run_files::config).toStdString(), plan_->run_file);
    save_machine(plan_->machine, stored_.file(run_files::machine).toStdString());
  } catch (const Failure& failure) {
    return fail(QString::fromUtf8(failure.what()));
  }
  connection_.look_for(stored_.socket);
  start_process(train_process(program_, *plan_, stored_, {checkpoints_, checkpoint, allow_changed_data}));
}

void RunControl::start_process(TrainProcess process) {
  process_ = std::move(process);
  connect(process_.get(), &QProcess::finished, this, [this] {
    if (is_paused()) enter(Running{});
    connection_.stop_looking();
    if (connection_.is_drained()) finish();
  });
  connect(process_.get(), &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
    if (error == QProcess::FailedToStart)
      fail(tr("%1 could not be started: %2").arg(QFileInfo(program_).fileName(), process_->errorString()));
  });
  process_->start(QIODevice::ReadOnly);
}

void RunControl::begin_replay(std::shared_ptr<const Plan> plan) {
  StoredRun nowhere;
  nowhere.work = step_work(*plan);
  begin(std::move(plan), nowhere, false);
}

void RunControl::attach(const StoredRun& run, std::shared_ptr<const Plan> plan) {
  if (is_active()) return;
  begin(std::move(plan), run, true);
  connection_.look_for(stored_.socket);
}

void RunControl::attach(const QString& socket) {
  StoredRun elsewhere;
  elsewhere.socket = socket;
  attach(elsewhere, nullptr);
}

void RunControl::take_plan(std::shared_ptr<const Plan> plan) {
  plan_ = std::move(plan);
  stored_.work = step_work(*plan_);
  emit stateChanged();
  emit received();
}

void RunControl::leave() {
  resume();
  if (attached_ || !process_ || is_kept()) return answer_leave();
  if (connection_.send(Request::keep)) leave_timer_.start();
  else emit leaveAnswered(false);
}

bool RunControl::is_kept() const {
  const LogMessage note{LogMessage::supervisor, std::string(keep_note)};
  return std::ranges::find(record_.log, note) != record_.log.end();
}

// Nobody waits for a process that is left.
void RunControl::answer_leave() {
  leave_timer_.stop();
  if (process_) {
    QFile(stored_.file(run_files::left)).open(QIODevice::WriteOnly);
    process_->disconnect(this);
    let_go(std::move(process_));
    directory_->keep();
    directory_.reset();
  }
  connection_.close();
  if (is_active()) enter(Idle{});
  emit leaveAnswered(true);
}

bool RunControl::can_pause() const {
  return (is<Running>() || is<Paused>()) && process_ && process_->state() == QProcess::Running;
}

void RunControl::signal(int signal) {
  if (process_ && process_->state() != QProcess::NotRunning) ::kill(static_cast<pid_t>(process_->processId()), signal);
}

// As Ctrl-Z and fg do it to shardrun.
void RunControl::toggle_pause() {
  if (is_paused()) return resume();
  if (!can_pause()) return;
  signal(SIGTSTP);
  enter(Paused{});
}

void RunControl::resume() {
  if (!is_paused()) return;
  signal(SIGCONT);
  enter(Running{});
}

void RunControl::stop() {
  resume();
  if (auto* ending = std::get_if<Ending>(&phase_)) {
    if (std::exchange(ending->is_asked, true)) force_end();
    return;
  }
  if (!is_active()) return;
  const bool at_once = is<Stopping>();
  if (at_once && std::get<Stopping>(phase_).at_once) return;
  enter(Stopping{at_once});
  if (!ask_to_end()) signal(at_once ? SIGTERM : SIGINT);
  if (at_once) force_end();
}

bool RunControl::ask_to_end() {
  return connection_.send(std::get<Stopping>(phase_).at_once ? Request::kill : Request::stop);
}

// What has no process here can only be left.
void RunControl::force_end() {
  if (!process_) {
    QTimer::singleShot(terminate_ms, this, [this] {
      if (is<Stopping>() && std::get<Stopping>(phase_).at_once && !process_) leave();
    });
    return;
  }
  QTimer::singleShot(terminate_ms, process_.get(), &QProcess::terminate);
  QTimer::singleShot(kill_ms, process_.get(), &QProcess::kill);
}

void RunControl::end_now() {
  if (attached_) return leave();
  stop();
  stop();
}

void RunControl::ask_for_missing() {
  if (const auto missing = record_.missing()) connection_.send(Request::steps(missing->first, missing->second));
}

void RunControl::look_at(RunRecord::StepRange steps) {
  const bool is_asking = record_.missing().has_value();
  record_.look_at(steps);
  if (!is_asking) ask_for_missing();
}

void RunControl::receive(Message message) {
  take(std::move(message));
  emit received();
}

void RunControl::take_read(Message& message) {
  if (is_elsewhere() && !connection_.has_greeted()) return fail(no_run_text());
  if (!record_.hello || keep_known(message, *record_.hello)) take(std::move(message));
}

// A run of this window goes on, and is ended by its process alone.
void RunControl::refuse_connection(const QString& why) {
  if (attached_) return fail(tr("%1: %2").arg(stored_.socket, why));
  connection_.close();
  record_.add(LogMessage{-1, tr("%1; nothing more of it is read").arg(why).toStdString()});
  emit received();
  if (process_ && process_->state() == QProcess::NotRunning) finish();
}

QString RunControl::no_run_text() const {
  return tr("%1: what answers here is no run, or one of another build of Shardscope").arg(stored_.socket);
}

void RunControl::take(Message message) {
  const bool reports_steps =
      std::holds_alternative<SnapshotMessage>(message) || std::holds_alternative<StepsMessage>(message);
  const auto* rank = std::get_if<RankStateMessage>(&message);
  const bool is_running = std::holds_alternative<StepMessage>(message) || (rank && rank->state == RankState::running);
  const bool is_end = std::holds_alternative<FinishedMessage>(message);
  const bool is_hello = std::holds_alternative<HelloMessage>(message);
  const bool is_first_hello = is_hello && !record_.hello;
  record_.add(std::move(message));
  if (is_hello && attached_ && plan_ && record_.hello->plan_hash != plan_->hash) plan_.reset();
  if (is_first_hello && is_elsewhere() && !plan_) emit greeted();
  if (is_running && is<Starting>()) enter(Running{});
  if (is_end && (process_ || !connection_.is_drained())) enter(Ending{record_.finished->end});
  else if (is_end) enter(Over{record_.finished->end});
  if (reports_steps) ask_for_missing();
  if (leave_timer_.isActive() && is_kept()) return answer_leave();
  if (!announce_timer_.isActive()) announce_timer_.start();
}

void RunControl::take_printed(bool is_last) {
  for (const QByteArray& line : printed_.read(is_last)) take(LogMessage{-1, line.toStdString()});
}

void RunControl::run_absent() {
  if (!attached_) return;
  if (is_elsewhere()) return fail(tr("%1: the run has ended").arg(stored_.socket));
  connection_.stop_looking();
  reader_.want(stored_);
}

// A run does not wait for long until clients have taken its last messages; all of them are in its record.
void RunControl::take_record(const QString& id, const ReadRun& read) {
  if (id != stored_.id || !is_active()) return;
  if (!read.record || !read.record->finished) return fail(tr("the run has ended; its record is in the history"));
  record_ = *read.record;
  enter(Ending{record_.finished->end});
  finish();
}

// A run that is killed leaves its socket, at which nobody answers; one that begins may not answer yet.
void RunControl::run_gone() {
  if (attached_)
    fail(is_elsewhere() ? tr("%1: nobody answers; the run is gone").arg(stored_.socket)
                        : tr("the run is gone, without an end; what it recorded is in the history"));
}

// While the run goes on a client that fell behind is sent away and comes again: it is sent all that it has missed.
void RunControl::connection_ended() {
  const bool has_ended = attached_ ? is<Ending>() : process_ && process_->state() == QProcess::NotRunning;
  if (has_ended) return finish();
  if (is_elsewhere() && !connection_.has_greeted()) return fail(no_run_text());
  if (is_active()) connection_.look_for(stored_.socket);
}

void RunControl::finish() {
  take_printed(true);
  if (!stored_.directory.isEmpty()) fit_ = read_fit(stored_.file(run_files::predictions));
  if (const auto* ending = std::get_if<Ending>(&phase_)) return close_run(ending->end);
  const bool ended_well = process_->exitStatus() == QProcess::NormalExit && process_->exitCode() == 0;
  if (is<Stopping>() || ended_well) return close_run(is<Stopping>() ? RunEnd::stopped : RunEnd::finished);
  // What the ranks say comes over the socket; shardrun's own words matter where it ends without any.
  QFile errors(stored_.file(run_files::errors));
  const QString said =
      errors.open(QIODevice::ReadOnly) ? QString::fromUtf8(errors.read(most_errors)).trimmed() : QString();
  const QString how = process_->exitStatus() == QProcess::CrashExit
                          ? tr("shardrun was killed")
                          : tr("shardrun ended with code %1").arg(process_->exitCode());
  for (const QString& line : said.split('\n', Qt::SkipEmptyParts)) record_.add(LogMessage{-1, line.toStdString()});
  fail(said.isEmpty() ? how : how + ": " + said.section('\n', -1));
}

void RunControl::fail(const QString& message) {
  if (!is_active()) return;
  if (const auto* ending = std::get_if<Ending>(&phase_)) return close_run(ending->end);
  if (!record_.failure) record_.failure = FailureMessage{-1, "", "", message.toStdString()};
  record_.add(LogMessage{-1, message.toStdString()});
  close_run(RunEnd::failed);
}

void RunControl::close_run(RunEnd end) {
  connection_.close();
  process_.reset();
  directory_.reset();
  if (attached_ && stored_.is_left()) {
    to_clear_.emplace_back(stored_, most_clearings);
    clear_away();
  }
  record_.is_over = true;
  enter(Over{end});
  if (leave_timer_.isActive()) answer_leave();
  emit received();
}

void RunControl::clear_away() {
  std::erase_if(to_clear_, [](auto& left) { return remove_left(left.first) || --left.second == 0; });
  if (to_clear_.empty()) clear_timer_.stop();
  else clear_timer_.start();
}

}  // namespace shardscope
