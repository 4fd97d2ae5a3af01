#pragma once

#include <QByteArray>
#include <QObject>
#include <QThreadPool>
#include <atomic>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>

#include "engine/session/messages.h"

namespace shardscope {

// What a watcher reads of a run: bytes of its socket in, messages out in their order. They are parsed on a thread of
// its own, for a trace may have a million events. What cannot be read becomes a line of the log.
class MessageReader : public QObject {
  Q_OBJECT
 public:
  // Both are called in the thread of the owner; `ended` behind the last message of a connection.
  MessageReader(std::function<void(Message)> take, std::function<void()> ended);
  ~MessageReader() override;

  void feed(const QByteArray& bytes) { read(bytes, false); }
  // What is fed from now on is of another connection.
  void end() { read({}, true); }
  // Nothing of what was fed is told any more.
  void forget();
  // Tells what was fed, before it returns.
  void wait();

  bool is_busy() const { return reading_ > 0; }
  bool is_full() const { return bytes_ > most_bytes; }  // whoever feeds should wait for arrived()

 signals:
  void arrived();  // by the thread

 private:
  static constexpr qsizetype most_bytes = 8 << 20;
  struct News {
    int number;
    std::optional<Message> message;  // none: what was fed at once is read
    qsizetype bytes = 0;
    bool is_end = false;
  };

  void read(const QByteArray& bytes, bool is_end);
  void decode(std::deque<News>& news, const QByteArray& bytes, int number);
  void receive();
  std::optional<News> next();

  std::function<void(Message)> take_;
  std::function<void()> ended_;
  std::atomic<int> number_ = 0;  // of what is to be told; what has another one is dropped
  int reading_ = 0;
  qsizetype bytes_ = 0;

  std::mutex mutex_;  // guards news_
  std::deque<News> news_;

  MessageDecoder decoder_;  // of the thread, as what follows
  int decoded_ = 0;         // number of what is in it
  QThreadPool pool_;        // one thread; last: ends before the rest goes
};

}  // namespace shardscope
