#include "engine/cli/reference/help_text.h"

namespace shardscope {

HelpText& HelpText::paragraph(std::string text) {
  paragraphs_.push_back(std::move(text));
  return *this;
}

HelpText& HelpText::table(std::string title, std::vector<std::pair<std::string, std::string>> rows) {
  tables_.push_back({std::move(title), std::move(rows)});
  return *this;
}

HelpText& HelpText::example(std::string command, std::string purpose) {
  examples_.push_back({std::move(command), std::move(purpose)});
  return *this;
}

HelpText& HelpText::values(std::string option, std::vector<std::string> values) {
  values_[std::move(option)] = std::move(values);
  return *this;
}

const std::vector<std::string>& HelpText::values_of(const std::string& option) const {
  static const std::vector<std::string> none;
  const auto found = values_.find(option);
  return found == values_.end() ? none : found->second;
}

}  // namespace shardscope
