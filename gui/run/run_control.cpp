#include "gui/run/run_control.h"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <QDir>
#include <QElapsedTimer>
#include <QFile>
#include <QFileInfo>
#include <QSignalBlocker>
#include <QThread>
#include <algorithm>
#include <span>
#include <utility>

#include "engine/config/write.h"
#include "engine/machine/machine_file.h"
#include "gui/document/text.h"

namespace shardscope {
namespace {

constexpr int connect_interval_ms = 50;
constexpr int announce_interval_ms = 80;
constexpr int end_patience_ms = 3000;
constexpr int clearing_ms = 200, most_clearings = 50, last_clearing_ms = 1000;
constexpr qint64 read_ahead = 1 << 20;     // bytes; more waits in the run
constexpr qint64 most_printed = 16 << 20;  // bytes of what shardrun prints that are shown at its end

// Each metric has a curve, each rank a row and a choice of lines: those that the run has named at first, and no others.
void keep_named(std::span<StepMessage> steps, const HelloMessage& hello) {
  for (StepMessage& step : steps) {
    std::erase_if(step.metrics, [&](const MetricValue& each) { return !std::ranges::count(hello.metrics, each.name); });
    std::erase_if(step.ranks, [&](const RankMeasurement& each) { return each.rank >= hello.ranks; });
  }
}

void keep_named(std::span<LogMessage> lines, const HelloMessage& hello) {
  for (LogMessage& line : lines)
    if (line.rank >= hello.ranks) line.rank = -1;
}

// False for what is of no rank of the run.
bool keep_named(Message& message, const HelloMessage& hello) {
  if (auto* step = std::get_if<StepMessage>(&message)) {
    keep_named(std::span(step, 1), hello);
  } else if (auto* answer = std::get_if<StepsMessage>(&message)) {
    keep_named(answer->steps, hello);
  } else if (auto* line = std::get_if<LogMessage>(&message)) {
    keep_named(std::span(line, 1), hello);
  } else if (auto* snapshot = std::get_if<SnapshotMessage>(&message)) {
    keep_named(snapshot->past, hello);
    keep_named(snapshot->steps, hello);
    keep_named(snapshot->log, hello);
    std::erase_if(snapshot->ranks, [&](const RankStateMessage& each) { return each.rank >= hello.ranks; });
  }
  const auto* rank = std::get_if<RankStateMessage>(&message);
  return !rank || rank->rank < hello.ranks;
}

}  // namespace

RunControl::RunControl(QString program, QObject* parent)
    : QObject(parent),
      program_(std::move(program)),
      process_(make_process()),
      reader_([this](Message message) { take_message(std::move(message)); }, [this] { connection_ended(); },
              [this](const QString& why) { refuse_connection(why); }) {
  socket_.setReadBufferSize(read_ahead);
  clear_timer_.setInterval(clearing_ms);
  connect_timer_.setInterval(connect_interval_ms);
  announce_timer_.setSingleShot(true);
  announce_timer_.setInterval(announce_interval_ms);
  connect(&announce_timer_, &QTimer::timeout, this, &RunControl::received);
  connect(&connect_timer_, &QTimer::timeout, this, &RunControl::connect_socket);
  connect(&socket_, &QLocalSocket::connected, this, &RunControl::socket_connected);
  connect(&socket_, &QLocalSocket::readyRead, this, &RunControl::read_socket);
  connect(&socket_, &QLocalSocket::disconnected, this, &RunControl::socket_closed);
  connect(&socket_, &QLocalSocket::errorOccurred, this, &RunControl::socket_failed, Qt::QueuedConnection);
  connect(&reader_, &MessageReader::taken, this, &RunControl::read_socket);
  connect(&clear_timer_, &QTimer::timeout, this, &RunControl::clear_away);
  connect(&announce_timer_, &QTimer::timeout, this, [this] { read_output(); });
}

// A run does not outlive the window, however that ends, unless it is asked to (leave); nor does it end with the
// terminal of the window. What it prints goes to files, so that it can go on without a reader.
std::unique_ptr<QProcess> RunControl::make_process() {
  auto process = std::make_unique<QProcess>();
  process->setChildProcessModifier([] {
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    ::setsid();
  });
  connect(process.get(), &QProcess::finished, this, &RunControl::process_ended);
  connect(process.get(), &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
    if (error == QProcess::FailedToStart)
      fail(tr("%1 could not be started: %2").arg(QFileInfo(program_).fileName(), process_->errorString()));
  });
  return process;
}

RunControl::~RunControl() {
  disconnect(process_.get(), nullptr, this, nullptr);
  disconnect(&socket_, nullptr, this, nullptr);
  reader_.forget();
  end_now();
  QElapsedTimer since;
  since.start();
  for (clear_away(); !to_clear_.empty() && since.elapsed() < last_clearing_ms; clear_away()) QThread::msleep(20);
}

bool RunControl::is_active() const {
  return state_ == State::starting || state_ == State::running || state_ == State::stopping ||
         process_->state() != QProcess::NotRunning || process_ended_;
}

QString RunControl::state_text() const {
  const auto done = static_cast<qint64>(record_.completed());
  const auto total = static_cast<qint64>(plan_ ? plan_->training.steps : stored_.steps);
  const int again = record_.restarts.empty() ? 0 : record_.restarts.back().restart;
  const QString restarts =
      again ? tr(" (restart %1: %2)").arg(again).arg(qt(record_.restarts.back().failure.message)) : "";
  switch (state_) {
    case State::idle: return tr("not started");
    case State::starting:
      return attached_ || !plan_ ? tr("looking for the run")
                                 : tr("starting %1").arg(counted_text(plan_->mesh.device_count(), "rank"));
    case State::running:
      if (paused_) return tr("paused after step %1; Resume (F6) lets it go on").arg(done) + restarts;
      return (!done   ? tr("first step")
              : total ? tr("training: step %1 of %2").arg(done).arg(total)
                      : tr("training: step %1").arg(done)) +
             restarts;
    case State::stopping:
      return kill_requested_ ? tr("ending at once") : tr("stopping after this step; Stop again ends the run at once");
    case State::finished: return tr("finished: %1").arg(counted_text(done, "step"));
    case State::stopped: return tr("stopped after %1").arg(counted_text(done, "step"));
    case State::failed: break;
  }
  if (!record_.failure) return tr("the run failed");
  const FailureMessage& failure = *record_.failure;
  QString text = qt(failure.message);
  if (failure.rank >= 0 && !text.contains(tr("rank %1").arg(failure.rank)))
    text = tr("rank %1: %2").arg(failure.rank).arg(text);
  if (!failure.signal.empty() && !text.contains(qt(failure.signal))) text += tr(" (%1)").arg(qt(failure.signal));
  if (!failure.last_op.empty() && !text.contains(qt(failure.last_op)))
    text += tr(", last op %1").arg(qt(failure.last_op));
  return text;
}

QStringList RunControl::checkpoint_arguments(const QString& checkpoint) const {
  QStringList arguments;
  if (!checkpoints_.folder.isEmpty()) {
    arguments << "--checkpoint" << checkpoints_.folder << "--keep" << QString::number(checkpoints_.keep);
    if (checkpoints_.save_every > 0) arguments << "--save-every" << QString::number(checkpoints_.save_every);
  }
  if (!checkpoint.isEmpty()) arguments << "--resume" << checkpoint;
  if (checkpoints_.max_restarts > 0) arguments << "--max-restarts" << QString::number(checkpoints_.max_restarts);
  return arguments;
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
  const QString config = file(run_files::config), machine = file(run_files::machine);
  try {
    replace_file(config.toStdString(), plan_->run_file);
    save_machine(plan_->machine, machine.toStdString());
  } catch (const Failure& failure) {
    return fail(QString::fromUtf8(failure.what()));
  }
  QStringList arguments{"train", config, "--socket", stored_.socket, "--machine", machine};
  if (plan_->trains()) arguments << checkpoint_arguments(checkpoint);
  if (allow_changed_data) arguments << "--allow-changed-data";
  if (has_fit(*plan_)) arguments << "--predictions" << file(run_files::predictions);
  if (!stored_.record.isEmpty()) arguments << "--record" << stored_.record;
  process_->setStandardInputFile(QProcess::nullDevice());
  process_->setStandardOutputFile(file(run_files::output));
  process_->setStandardErrorFile(file(run_files::errors));
  connect_timer_.start();
  process_->start(program_, arguments, QIODevice::ReadOnly);
}

void RunControl::begin(std::shared_ptr<const Plan> plan, const StoredRun& stored, bool attached) {
  drop_connection();
  plan_ = std::move(plan);
  record_ = {};
  fit_.clear();
  output_.clear();
  output_read_ = 0;
  stored_ = stored;
  attached_ = attached;
  stop_requested_ = kill_requested_ = process_ended_ = paused_ = false;
  set_state(State::starting);
  emit received();
}

void RunControl::begin_replay(std::shared_ptr<const Plan> plan) {
  StoredRun nowhere;
  nowhere.work = step_work(*plan);
  begin(std::move(plan), nowhere, false);
}

void RunControl::attach(const StoredRun& run, std::shared_ptr<const Plan> plan) {
  if (is_active()) return;
  begin(std::move(plan), run, true);
  connect_timer_.start();
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

// Nobody waits for a process that is left, so it is not destroyed: that would end it.
bool RunControl::leave() {
  if (!is_active()) return true;
  resume();
  if (!attached_) {
    QElapsedTimer since;
    since.start();
    const auto is_kept = [this] {
      const LogMessage note{LogMessage::supervisor, std::string(keep_note)};
      return std::ranges::find(record_.log, note) != record_.log.end();
    };
    if (!send(Request::keep)) return false;
    while (!is_kept() && socket_.state() == QLocalSocket::ConnectedState && since.elapsed() < end_patience_ms) {
      socket_.waitForReadyRead(100);
      reader_.wait();
    }
    if (!is_kept()) return !is_active();
    QFile(file(run_files::left)).open(QIODevice::WriteOnly);
    disconnect(process_.get(), nullptr, this, nullptr);
    static auto& left = *new std::vector<std::unique_ptr<QProcess>>;  // whose end would end the run
    left.push_back(std::move(process_));
    process_ = make_process();
    directory_->keep();
    directory_.reset();
  }
  connect_timer_.stop();
  drop_connection();
  set_state(State::idle);
  return true;
}

bool RunControl::can_pause() const {
  return state_ == State::running && !attached_ && process_->state() == QProcess::Running;
}

// As Ctrl-Z and fg do it to shardrun.
void RunControl::toggle_pause() {
  if (!can_pause()) return;
  if (paused_) return resume();
  paused_ = ::kill(static_cast<pid_t>(process_->processId()), SIGTSTP) == 0;
  emit stateChanged();
}

void RunControl::resume() {
  if (!std::exchange(paused_, false)) return;
  if (process_->state() == QProcess::Running) ::kill(static_cast<pid_t>(process_->processId()), SIGCONT);
  emit stateChanged();
}

void RunControl::stop() {
  if (!is_active()) return;
  resume();
  kill_requested_ = std::exchange(stop_requested_, true);
  if (!ask_to_end() && process_->state() == QProcess::Running)
    ::kill(static_cast<pid_t>(process_->processId()), kill_requested_ ? SIGTERM : SIGINT);
  if (state_ == State::stopping) emit stateChanged();
  else set_state(State::stopping);
}

bool RunControl::ask_to_end() { return send(kill_requested_ ? Request::kill : Request::stop); }

bool RunControl::send(const Request& request) {
  if (socket_.state() != QLocalSocket::ConnectedState) return false;
  socket_.write(QByteArray::fromStdString(to_json_line(request)));
  socket_.flush();
  return true;
}

void RunControl::ask_for_missing() {
  if (const auto missing = record_.missing()) send(Request::steps(missing->first, missing->second));
}

void RunControl::look_at(RunRecord::StepRange steps) {
  const bool is_asking = record_.missing().has_value();
  record_.look_at(steps);
  if (!is_asking) ask_for_missing();
}

void RunControl::end_now() {
  connect_timer_.stop();
  resume();
  if (process_->state() != QProcess::NotRunning) {
    if (!send(Request::kill)) process_->terminate();
    if (!process_->waitForFinished(end_patience_ms)) {
      process_->terminate();
      if (!process_->waitForFinished(end_patience_ms)) {
        process_->kill();
        process_->waitForFinished(end_patience_ms);
      }
    }
  }
  if (attached_ && stop_requested_) {
    if (is_active()) send(Request::kill);
    if (is_active() && socket_.state() == QLocalSocket::ConnectedState) socket_.waitForDisconnected(end_patience_ms);
    if (stored_.is_left()) to_clear_.emplace_back(stored_, most_clearings);
  }
  socket_.abort();
  reader_.wait();
  connect_timer_.stop();
  directory_.reset();
}

void RunControl::receive(Message message) {
  take(std::move(message));
  emit received();
}

// A run says once in a connection what it is of and what has been: to take that in may take a moment.
void RunControl::take_message(Message message) {
  const bool is_again = (std::holds_alternative<HelloMessage>(message) && has_greeted_) ||
                        (std::holds_alternative<SnapshotMessage>(message) && has_reported_past_);
  if (is_again) return;
  has_reported_past_ = has_reported_past_ || std::holds_alternative<SnapshotMessage>(message);
  if (!record_.hello || keep_named(message, *record_.hello)) take(std::move(message));
}

// A run of this window goes on, and is ended by its process alone.
void RunControl::refuse_connection(const QString& why) {
  if (attached_) return fail(tr("%1: %2").arg(stored_.socket, why));
  drop_connection();
  connect_timer_.stop();
  record_.add(LogMessage{-1, tr("%1; nothing more of it is read").arg(why).toStdString()});
  emit received();
  if (process_ended_) finish();
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
  if (is_elsewhere() && !has_greeted_ && !is_hello) return fail(no_run_text());
  const bool is_first_hello = is_hello && !record_.hello;
  record_.add(std::move(message));
  has_greeted_ = has_greeted_ || is_hello;
  if (is_hello && attached_ && plan_ && record_.hello->plan_hash != plan_->hash) plan_.reset();
  if (is_first_hello && is_elsewhere() && !plan_) emit greeted();
  if (is_running && state_ == State::starting) set_state(State::running);
  if (is_end) {
    const RunEnd end = record_.finished->end;
    set_state(end == RunEnd::finished ? State::finished : end == RunEnd::failed ? State::failed : State::stopped);
  } else if (reports_steps) {
    ask_for_missing();
  }
  if (!announce_timer_.isActive()) announce_timer_.start();
}

void RunControl::set_state(State state) {
  if (state_ == state) return;
  state_ = state;
  emit stateChanged();
}

void RunControl::connect_socket() {
  if (is_elsewhere() && !QFile::exists(stored_.socket)) return fail(tr("%1: the run has ended").arg(stored_.socket));
  if (attached_ && !QFile::exists(stored_.socket)) return fail(tr("the run has ended; its record is in the history"));
  if (socket_.state() == QLocalSocket::UnconnectedState && QFile::exists(stored_.socket))
    socket_.connectToServer(stored_.socket);
}

// What was asked for while nothing was connected may not have been received.
void RunControl::socket_connected() {
  connect_timer_.stop();
  has_greeted_ = has_reported_past_ = false;
  if (stop_requested_) ask_to_end();
}

// A run that is killed leaves its socket, at which nobody answers; one that begins may not answer yet.
void RunControl::socket_failed(QLocalSocket::LocalSocketError why) {
  if (attached_ && why == QLocalSocket::ConnectionRefusedError && is_active())
    fail(is_elsewhere() ? tr("%1: nobody answers; the run is gone").arg(stored_.socket)
                        : tr("the run is gone, without an end; what it recorded is in the history"));
}

void RunControl::read_socket() {
  if (reader_.is_full() || socket_.bytesAvailable() == 0) return;
  if (const QByteArray bytes = socket_.readAll(); !bytes.isEmpty()) reader_.feed(bytes);
}

void RunControl::read_output(bool is_last) {
  QFile printed(file(run_files::output));
  if (stored_.directory.isEmpty() || !printed.open(QIODevice::ReadOnly) || !printed.seek(output_read_)) return;
  const QByteArray more = printed.read(is_last ? most_printed : read_ahead);
  output_read_ += more.size();
  output_ += more;
  if (output_.size() > 2 * most_printed) output_.remove(0, most_printed);  // of a line without end
  const qsizetype last = output_.lastIndexOf('\n');
  if (last < 0) return;
  for (const QByteArray& line : output_.left(last).split('\n')) take(LogMessage{-1, line.toStdString()});
  output_.remove(0, last + 1);
}

void RunControl::socket_closed() {
  reader_.feed(socket_.readAll());
  reader_.end();
}

// While the run goes on a client that fell behind is sent away and comes again: it is sent all that it has missed.
void RunControl::connection_ended() {
  if (process_ended_ || (attached_ && record_.finished)) return finish();
  if (is_elsewhere() && !has_greeted_) return fail(no_run_text());
  if (attached_ || process_->state() == QProcess::Running) connect_timer_.start();
}

// What it has sent is read to its end.
void RunControl::process_ended() {
  process_ended_ = true;
  paused_ = false;
  connect_timer_.stop();
  if (socket_.state() == QLocalSocket::UnconnectedState && !reader_.is_busy()) finish();
}

void RunControl::finish() {
  process_ended_ = false;
  read_output(true);
  if (!stored_.directory.isEmpty()) fit_ = read_fit(file(run_files::predictions));
  QFile errors(file(run_files::errors));
  // What the ranks say comes over the socket; shardrun's own words matter where it ends without any.
  const QString said = !is_elsewhere() && errors.open(QIODevice::ReadOnly)
                           ? QString::fromUtf8(errors.read(read_ahead)).trimmed()
                           : QString();
  close_run();
  record_.is_over = true;
  if (!is_active()) {
    emit stateChanged();
    emit received();
    return;
  }
  const bool ended_well = process_->exitStatus() == QProcess::NormalExit && process_->exitCode() == 0;
  if (ended_well || stop_requested_) {
    set_state(stop_requested_ ? State::stopped : State::finished);
    emit received();
    return;
  }
  const QString how = process_->exitStatus() == QProcess::CrashExit
                          ? tr("shardrun was killed")
                          : tr("shardrun ended with code %1").arg(process_->exitCode());
  for (const QString& line : said.split('\n', Qt::SkipEmptyParts)) record_.add(LogMessage{-1, line.toStdString()});
  fail(said.isEmpty() ? how : how + ": " + said.section('\n', -1));
}

void RunControl::fail(const QString& message) {
  if (state_ == State::failed) return;
  connect_timer_.stop();
  if (attached_) close_run();
  record_.is_over = true;
  if (!record_.failure) record_.failure = FailureMessage{-1, "", "", message.toStdString()};
  record_.add(LogMessage{-1, message.toStdString()});
  set_state(State::failed);
  emit received();
}

void RunControl::close_run() {
  connect_timer_.stop();
  drop_connection();
  directory_.reset();
  if (!attached_ || !stored_.is_left()) return;
  to_clear_.emplace_back(stored_, most_clearings);
  clear_away();
}

void RunControl::drop_connection() {
  const QSignalBlocker block(socket_);
  socket_.abort();
  reader_.forget();
}

void RunControl::clear_away() {
  std::erase_if(to_clear_, [](auto& left) { return remove_left(left.first) || --left.second == 0; });
  if (to_clear_.empty()) clear_timer_.stop();
  else clear_timer_.start();
}

}  // namespace shardscope
