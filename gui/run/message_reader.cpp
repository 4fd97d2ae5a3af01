#include "gui/run/message_reader.h"

#include <QElapsedTimer>
#include <utility>

#include "engine/base/error.h"
#include "gui/planning/later_iteration.h"

namespace shardscope {
namespace {

constexpr int turn_ms = 6;

}  // namespace

MessageReader::MessageReader(std::function<void(Message)> take, std::function<void()> ended,
                             std::function<void(const QString&)> broken)
    : take_(std::move(take)), ended_(std::move(ended)), broken_(std::move(broken)) {
  connect(this, &MessageReader::arrived, this, &MessageReader::receive, Qt::QueuedConnection);
}

MessageReader::~MessageReader() {
  forget();
  thread_.wait();
}

void MessageReader::read(const QByteArray& bytes, bool is_end) {
  ++reading_;
  bytes_ += bytes.size();
  thread_.start([this, bytes, is_end, number = number_.load()] {
    const bool is_another = std::exchange(decoded_, number) != number;
    std::deque<News> news;
    const auto begin_anew = [this] {
      decoder_ = MessageDecoder();
      bad_lines_ = 0;
      is_broken_ = false;
    };
    if (is_another) begin_anew();
    if (!is_broken_) decode(news, bytes, number);
    if (is_end) begin_anew();
    news.push_back({number, {}, bytes.size(), is_end});
    {
      const std::lock_guard lock(mutex_);
      news_.insert(news_.end(), std::make_move_iterator(news.begin()), std::make_move_iterator(news.end()));
    }
    if (!is_announced_.exchange(true)) emit arrived();
  });
}

void MessageReader::decode(std::deque<News>& news, const QByteArray& bytes, int number) {
  const auto abandon = [&](const QString& why) {
    is_broken_ = true;
    decoder_ = MessageDecoder();
    news.push_back({number, {}, 0, false, why});
  };
  QString too_long;
  try {
    decoder_.feed({bytes.constData(), static_cast<size_t>(bytes.size())});
  } catch (const Failure& failure) {
    too_long = QString::fromUtf8(failure.what());
  }
  while (number == number_) {
    try {
      std::optional<Message> message = decoder_.next();
      if (!message) break;
      news.push_back({number, std::move(message)});
    } catch (const Failure& failure) {
      news.push_back({number, LogMessage{-1, failure.what()}});
      if (++bad_lines_ > most_bad_lines)
        return abandon(tr("run socket: more than %1 lines are no messages of a run").arg(most_bad_lines));
    }
  }
  if (!too_long.isEmpty()) abandon(too_long);
}

void MessageReader::forget() {
  ++number_;
  reading_ = 0;
  bytes_ = 0;
}

std::optional<MessageReader::News> MessageReader::next() {
  const std::lock_guard lock(mutex_);
  if (news_.empty()) return std::nullopt;
  News first = std::move(news_.front());
  news_.pop_front();
  return first;
}

void MessageReader::receive() {
  is_announced_ = false;
  if (!gives_out_later_) give_out();
}

void MessageReader::give_out() {
  QElapsedTimer since;
  since.start();
  bool has_taken = false;
  int given = 0;
  while (std::optional<News> news = next()) {
    if (news->number != number_) continue;
    ++given;
    if (news->message) {
      take_(std::move(*news->message));
    } else if (!news->fault.isEmpty()) {
      broken_(news->fault);
    } else {
      --reading_;
      bytes_ -= news->bytes;
      has_taken = true;
      if (news->is_end) ended_();
    }
    if (given < most_a_turn && since.elapsed() < turn_ms) continue;
    gives_out_later_ = true;
    in_later_iteration(this, [this] {
      gives_out_later_ = false;
      give_out();
    });
    break;
  }
  if (has_taken) emit taken();
}

}  // namespace shardscope
