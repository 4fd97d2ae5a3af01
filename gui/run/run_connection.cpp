#include "gui/run/run_connection.h"

#include <QFile>
#include <QSignalBlocker>
#include <utility>

namespace shardscope {
namespace {

constexpr int search_interval_ms = 50;
constexpr qint64 read_ahead = 1 << 20;  // bytes; more waits in the run

}  // namespace

RunConnection::RunConnection()
    : reader_([this](Message message) { give(std::move(message)); }, [this] { emit ended(); },
              [this](const QString& why) { emit broken(why); }) {
  socket_.setReadBufferSize(read_ahead);
  search_.setInterval(search_interval_ms);
  connect(&search_, &QTimer::timeout, this, &RunConnection::look);
  connect(&reader_, &MessageReader::taken, this, &RunConnection::read_socket);
  connect(&socket_, &QLocalSocket::readyRead, this, &RunConnection::read_socket);
  connect(&socket_, &QLocalSocket::connected, this, [this] {
    search_.stop();
    has_greeted_ = has_reported_past_ = false;
    emit connected();
  });
  connect(&socket_, &QLocalSocket::disconnected, this, [this] {
    reader_.feed(socket_.readAll());
    reader_.end();
  });
  const auto report_error = [this](QLocalSocket::LocalSocketError why) {
    if (why == QLocalSocket::ConnectionRefusedError) emit refused();
  };
  connect(&socket_, &QLocalSocket::errorOccurred, this, report_error, Qt::QueuedConnection);
}

RunConnection::~RunConnection() { close(); }

void RunConnection::look_for(const QString& path) {
  path_ = path;
  search_.start();
}

void RunConnection::look() {
  if (!QFile::exists(path_)) return emit absent();
  if (socket_.state() == QLocalSocket::UnconnectedState) socket_.connectToServer(path_);
}

void RunConnection::close() {
  search_.stop();
  const QSignalBlocker block(socket_);
  socket_.abort();
  reader_.forget();
}

bool RunConnection::send(const Request& request) {
  if (socket_.state() != QLocalSocket::ConnectedState) return false;
  socket_.write(QByteArray::fromStdString(to_json_line(request)));
  socket_.flush();
  return true;
}

void RunConnection::read_socket() {
  if (reader_.is_full() || socket_.bytesAvailable() == 0) return;
  if (const QByteArray bytes = socket_.readAll(); !bytes.isEmpty()) reader_.feed(bytes);
}

void RunConnection::give(Message message) {
  const bool is_again = (std::holds_alternative<HelloMessage>(message) && std::exchange(has_greeted_, true)) ||
                        (std::holds_alternative<SnapshotMessage>(message) && std::exchange(has_reported_past_, true));
  if (!is_again) emit read(message);
}

}  // namespace shardscope
