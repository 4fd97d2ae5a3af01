#include "engine/cli/document_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/error.h"

namespace shardscope {

std::string with_table(std::string document, const std::string& heading, const std::string& begin,
                       const std::string& table) {
  const size_t none = std::string::npos;
  const size_t chapter = document.find(fmt::format("\n{}\n", heading));
  const size_t next = chapter == none ? none : document.find("\n#", chapter + 2);
  const size_t at = chapter == none ? none : document.find("\n" + begin, chapter);
  if (at == none || at >= next)
    throw Failure(Error{"no_chapter", fmt::format("there is no chapter '{}' with a table", heading),
                        in_file("docs/run-file.md"), fmt::format("the heading, text, and a line '{}'", begin)});
  const size_t end = std::min(document.find("\n\n", at), document.size() - 1);
  return document.replace(at + 1, end - at, table);
}

}  // namespace shardscope
