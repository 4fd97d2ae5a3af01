#pragma once

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

namespace shardscope {

// What is done where an output file exists already.
enum class Existing : uint8_t { refuse, append, overwrite };

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using OutputFile = std::unique_ptr<std::FILE, CloseFile>;

// Opens a file to write. What is there is never lost unasked: a regular file that exists is refused, appended to or
// emptied, as `existing` says; a symbolic link is not followed; and a file that is one of `inputs` (under whatever
// name) is never written to. Pipes and devices are written to as they are. Throws Failure: unwritable_file,
// file_exists, output_is_input.
OutputFile open_output(const std::string& path, Existing existing, const std::vector<std::string>& inputs);

}  // namespace shardscope
