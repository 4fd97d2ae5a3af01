#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/error.h"

namespace shardscope {

// What is done where an output file exists already.
enum class Existing : uint8_t { refuse, append, overwrite };

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using OutputFile = std::unique_ptr<std::FILE, CloseFile>;

// Throws Failure (unwritable_file) at the path, with the system's words for the error number.
[[noreturn]] void fail_to_write(const std::string& path, int error);
// Writes all of the text, closes the file; `path` is the one that a person gave. Both throw as fail_to_write().
void put(std::FILE* file, std::string_view text, const std::string& path);
void close_file(OutputFile file, const std::string& path);

// Makes a file of the text where none is yet, whole or not at all: it is written beside its name, and gets that when it
// is done. A pipe, a device or standard output takes the text. Throws as fail_to_write(), or file_exists: what is there
// stays, also what came meanwhile.
void write_new_file(const std::string& path, std::string_view text);

// A pipe, a terminal, /dev/null, standard output ("-"): what is written to is not kept there.
bool is_stream(const std::string& path);

// What open_output() throws of what is at the path, without opening it.
void check_output(const std::string& path, Existing existing, const std::vector<std::string>& inputs);
// The same before long work, whose file is written at its end: its folder must be one that can be written to, too.
void check_late_output(const std::string& path, Existing existing, const std::vector<std::string>& inputs);

// Where a path leads: absolute, without links, also where nothing is there; the path where that is not known.
std::filesystem::path true_path(const std::string& path);
// Throws Failure (output_twice) where two outputs of a call, with "-", are one place; devices may be.
void require_different(const std::vector<std::string>& outputs);

// A file that is there whole or not at all: written under the name PATH.part, which has room for `bytes` from the
// start, and given its own name when it is done. What somebody has put at that name meanwhile is neither kept nor
// removed.
class WholeFile {
 public:
  // As open_output, for regular files. Nothing is appended. PATH.part must not exist either; where `existing` allows a
  // file to be replaced, one that nobody writes has another name (PATH.part.2) while this lives.
  WholeFile(std::string path, Existing existing, const std::vector<std::string>& inputs, int64_t bytes);
  ~WholeFile();  // what was not kept is removed
  WholeFile(const WholeFile&) = delete;
  WholeFile& operator=(const WholeFile&) = delete;

  static std::string part_of(const std::string& path) { return path + ".part"; }
  const std::string& part() const { return part_; }
  std::FILE* file() const { return file_.get(); }  // that part, which nobody else writes until keep()
  // Where `existing` allows it, what stands at the path is lost. Throws Failure: unwritable_file, or file_exists, and
  // what was written stays at PATH.part.
  void keep();

 private:
  // A file that was at PATH.part, under another name until this goes.
  struct SetAside {
    explicit SetAside(const std::string& part, const std::string& path);  // nothing where there is none
    ~SetAside();
    std::string from, to;
  };

  std::string path_, part_;
  std::unique_ptr<SetAside> aside_;
  OutputFile file_;
  bool replaces_ = false;
};

// The first of NAME, NAME.2, NAME.3, ... that nothing has.
std::string free_name(const std::string& name);

// Whether `path` is still a name of the open file; removes it then.
bool is_name_of(std::FILE* file, const std::string& path);
void remove_if_same(std::FILE* file, const std::string& path);

// Opens a file to write. What is there is never lost unasked: a regular file that exists is refused, appended to or
// emptied, as `existing` says; a symbolic link is not followed; and a file that is one of `inputs` (under whatever
// name), or that another run writes to, is never written to. Pipes and devices are written to as they are, as is
// standard output, which "-" names whatever it is. Throws Failure: unwritable_file, file_exists, output_is_input.
OutputFile open_output(const std::string& path, Existing existing, const std::vector<std::string>& inputs);

// Ends the last line of a regular file that is added to where that was cut off: by a full disk, or the end of who wrote
// it. True where it was. Throws as fail_to_write().
bool end_cut_line(std::FILE* file, const std::string& path);

}  // namespace shardscope
