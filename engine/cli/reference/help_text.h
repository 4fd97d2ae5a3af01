#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace shardscope {

// What a command's help says besides its options. Text is plain; `code` stands between backquotes, and a path such as
// docs/hosts.md is a link where documents have links.
class HelpText {
 public:
  struct Table {
    std::string title;
    std::vector<std::pair<std::string, std::string>> rows;  // a term (code), and what it means
  };
  struct Example {
    std::string command, purpose;
  };

  HelpText& paragraph(std::string text);
  HelpText& table(std::string title, std::vector<std::pair<std::string, std::string>> rows);
  HelpText& example(std::string command, std::string purpose);
  // What a shell may offer for an option's value ("--to") where the option itself does not list it.
  HelpText& values(std::string option, std::vector<std::string> values);

  const std::vector<std::string>& paragraphs() const { return paragraphs_; }
  const std::vector<Table>& tables() const { return tables_; }
  const std::vector<Example>& examples() const { return examples_; }
  const std::vector<std::string>& values_of(const std::string& option) const;

 private:
  std::vector<std::string> paragraphs_;
  std::vector<Table> tables_;
  std::vector<Example> examples_;
  std::map<std::string, std::vector<std::string>> values_;
};

}  // namespace shardscope
