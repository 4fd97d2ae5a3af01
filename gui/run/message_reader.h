#pragma once

#include <QByteArray>
#include <QObject>
#include <atomic>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>

#include "engine/session/messages.h"
#include "gui/background/worker_threads.h"

namespace shardscope {

// What a client reads of a run: bytes of its socket in, messages out in their order. They are parsed on a thread of
// its own, for a trace may have a million events, and are given out for some milliseconds in each event-loop iteration,
// at most most_a_turn of them. A line that cannot be read becomes a line of the log. A connection that sends a line
// beyond message_limits, or most_bad_lines, is broken: nothing more of it is read.
class MessageReader : public QObject {
  Q_OBJECT
 public:
  static constexpr int most_bad_lines = 20;
  static constexpr int most_a_turn = 4096;  // messages, given out in one event-loop iteration

  // All are called in the thread of the owner; `ended` behind the last message of a connection, `broken` with the
  // reason in place of what follows.
  MessageReader(std::function<void(Message)> take, std::function<void()> ended,
                std::function<void(const QString&)> broken);
  ~MessageReader() override;

  void feed(const QByteArray& bytes) { read(bytes, false); }
  // What is fed from now on is of another connection.
  void end() { read({}, true); }
  // Nothing of what was fed is reported any more.
  void forget();

  bool is_busy() const { return reading_ > 0; }
  bool is_full() const { return bytes_ > most_bytes; }  // whoever feeds should wait for taken()

 signals:
  void arrived();  // by the thread
  void taken();    // some of what was fed is given out

 private:
  static constexpr qsizetype most_bytes = 8 << 20;
  struct News {
    int number;
    std::optional<Message> message;  // none: what was fed at once is read
    qsizetype bytes = 0;
    bool is_end = false;
    QString fault = {};  // why the connection is broken
  };

  void read(const QByteArray& bytes, bool is_end);
  void decode(std::deque<News>& news, const QByteArray& bytes, int number);
  void receive();
  void give_out();
  std::optional<News> next();

  std::function<void(Message)> take_;
  std::function<void()> ended_;
  std::function<void(const QString&)> broken_;
  std::atomic<int> number_ = 0;  // of what is to be reported; what has another one is dropped
  int reading_ = 0;
  qsizetype bytes_ = 0;
  bool gives_out_later_ = false;

  std::atomic<bool> is_announced_ = false;  // arrived() is on its way
  std::mutex mutex_;                        // guards news_
  std::deque<News> news_;

  MessageDecoder decoder_;  // of the thread, as what follows
  int decoded_ = 0;         // number of what is in it
  int bad_lines_ = 0;       // of this connection
  bool is_broken_ = false;
  WorkerThreads thread_{1};  // last: ends before the rest goes
};

}  // namespace shardscope
