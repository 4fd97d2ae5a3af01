#include "engine/cli/written_run_file.h"

#include "engine/base/output_file.h"
#include "engine/base/standard_streams.h"
#include "engine/compile/file_paths.h"
#include "engine/config/write.h"

namespace shardscope {

void write_run_file(const RunConfig& config, const std::string& out,
                    const std::optional<std::filesystem::path>& printed_folder) {
  if (!is_stream(out)) {
    write_new_file(out, write_run_config(with_relative_paths(config, std::filesystem::path(out).parent_path())));
    return;
  }
  const std::string text = write_run_config(printed_folder ? with_relative_paths(config, *printed_folder) : config);
  if (out == standard_stream) print_lines(text);
  else write_new_file(out, text);
}

void refuse_two_documents(bool as_json, const std::string& out) {
  if (!as_json || out != standard_stream) return;
  throw Failure(Error{"bad_argument", "the result and the run file are a document each, and this would print both",
                      at_argument("--json --write -"), "--write FILE"});
}

}  // namespace shardscope
