#pragma once

#include <string>

#include "engine/session/messages.h"

namespace shardscope {

// A message on its way to several listeners: its line (to_json_line) is made once, when the first asks for it.
class ReportedMessage {
 public:
  ReportedMessage(const Message& message) : message_(message) {}  // which outlives this
  ReportedMessage(const ReportedMessage&) = delete;
  ReportedMessage& operator=(const ReportedMessage&) = delete;

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
