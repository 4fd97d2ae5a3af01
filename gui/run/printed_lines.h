#pragma once

#include <QByteArray>
#include <QList>
#include <QString>

namespace shardscope {

// Lines of a file that a run prints into while it is read.
class PrintedLines {
 public:
  explicit PrintedLines(QString file = {}) : file_(std::move(file)) {}  // an empty name: there are none

  // Those that are new and complete; in bounded pieces, but for the last.
  QList<QByteArray> read(bool is_last);

 private:
  QString file_;
  qint64 read_ = 0;     // bytes
  QByteArray unended_;  // of a line
};

}  // namespace shardscope
