#pragma once

#include <QLocalSocket>
#include <QObject>
#include <QTimer>

#include "gui/run/message_reader.h"

namespace shardscope {

// The connection to a run by its socket: looked for until somebody answers there, and again, while it is wanted, where
// the run sends a client away that fell behind.
class RunConnection : public QObject {
  Q_OBJECT
 public:
  RunConnection();
  ~RunConnection() override;

  void look_for(const QString& path);
  void stop_looking() { search_.stop(); }
  void close();                       // nothing more is read or looked for
  bool send(const Request& request);  // false without a connection
  // There is no connection, and all that was read is given out.
  bool is_drained() const { return socket_.state() == QLocalSocket::UnconnectedState && !reader_.is_busy(); }
  bool has_greeted() const { return has_greeted_; }  // in this connection

 signals:
  void absent();   // there is no such file
  void refused();  // there is, and nobody answers
  void connected();
  void read(Message& message);      // may be moved from
  void broken(const QString& why);  // nothing more of this connection is read
  void ended();                     // and all of it is given out

 private:
  void look();
  void read_socket();
  // What a run is of and what has been it says once in a connection: to take that in may take a moment.
  void give(Message message);

  QString path_;
  QLocalSocket socket_;
  MessageReader reader_;
  QTimer search_;
  bool has_greeted_ = false, has_reported_past_ = false;  // in this connection
};

}  // namespace shardscope
