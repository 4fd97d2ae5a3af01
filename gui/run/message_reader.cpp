#include "gui/run/message_reader.h"

#include <utility>

#include "engine/base/error.h"

namespace shardscope {

MessageReader::MessageReader(std::function<void(Message)> take, std::function<void()> ended)
    : take_(std::move(take)), ended_(std::move(ended)) {
  pool_.setMaxThreadCount(1);
  connect(this, &MessageReader::arrived, this, &MessageReader::receive, Qt::QueuedConnection);
}

MessageReader::~MessageReader() {
  forget();
  pool_.waitForDone();
}

void MessageReader::read(const QByteArray& bytes, bool is_end) {
  ++reading_;
  bytes_ += bytes.size();
  pool_.start([this, bytes, is_end, number = number_.load()] {
    if (std::exchange(decoded_, number) != number) decoder_ = {};
    std::deque<News> news;
    decode(news, bytes, number);
    if (is_end) decoder_ = {};
    news.push_back({number, {}, bytes.size(), is_end});
    {
      const std::lock_guard lock(mutex_);
      news_.insert(news_.end(), std::make_move_iterator(news.begin()), std::make_move_iterator(news.end()));
    }
    emit arrived();
  });
}

void MessageReader::decode(std::deque<News>& news, const QByteArray& bytes, int number) {
  const auto complain = [&](const Failure& failure) { news.push_back({number, LogMessage{-1, failure.what()}}); };
  try {
    decoder_.feed({bytes.constData(), static_cast<size_t>(bytes.size())});
  } catch (const Failure& failure) {
    complain(failure);
  }
  while (number == number_) {
    try {
      std::optional<Message> message = decoder_.next();
      if (!message) return;
      news.push_back({number, std::move(message)});
    } catch (const Failure& failure) {
      complain(failure);
    }
  }
}

void MessageReader::forget() {
  ++number_;
  reading_ = 0;
  bytes_ = 0;
}

void MessageReader::wait() {
  pool_.waitForDone();
  receive();
}

std::optional<MessageReader::News> MessageReader::next() {
  const std::lock_guard lock(mutex_);
  if (news_.empty()) return std::nullopt;
  News first = std::move(news_.front());
  news_.pop_front();
  return first;
}

void MessageReader::receive() {
  while (std::optional<News> news = next()) {
    if (news->number != number_) continue;
    if (news->message) {
      take_(std::move(*news->message));
      continue;
    }
    --reading_;
    bytes_ -= news->bytes;
    if (news->is_end) ended_();
  }
}

}  // namespace shardscope
