#include "gui/run/socket_errors.h"

#include <sys/stat.h>

#include <QFile>
#include <QLocalSocket>

namespace shardscope {

std::vector<Error> socket_errors(const QString& path) {
  const auto error = [&](const char* code, const std::string& what, const std::string& hint) {
    return std::vector{Error{code, what, in_file(path.toStdString()), hint}};
  };
  const std::string origin = "the path that shardrun train --socket was given, or that ssh -L forwards from here";
  struct stat there {};
  if (path.isEmpty() || ::stat(QFile::encodeName(path), &there) != 0)
    return error("no_socket", "there is no such file", origin);
  if (!S_ISSOCK(there.st_mode)) return error("no_socket", "this is no socket", origin);
  QLocalSocket socket;
  socket.connectToServer(path);
  if (socket.state() != QLocalSocket::UnconnectedState) return {};
  if (socket.error() == QLocalSocket::ConnectionRefusedError)
    return error("nobody_answers", "nobody answers", "the run has ended, without taking its socket with it");
  return error("nobody_answers", "cannot connect: " + socket.errorString().toStdString(), "");
}

}  // namespace shardscope
