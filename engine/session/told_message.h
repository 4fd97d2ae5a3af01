#pragma once

#include <string>

#include "engine/session/messages.h"

namespace shardscope {

// A message on its way to several listeners: its line (to_json_line) is made once, when the first asks for it.
class ToldMessage {
 public:
  ToldMessage(const Message& message) : message_(message) {}  // which outlives this
  ToldMessage(const ToldMessage&) = delete;
  ToldMessage& operator=(const ToldMessage&) = delete;

  operator const Message&() const { return message_; }
  const std::string& line() const {
    if (line_.empty()) line_ = to_json_line(message_);
    return line_;
  }

 private:
  const Message& message_;
  mutable std::string line_;
};

}  // namespace shardscope
