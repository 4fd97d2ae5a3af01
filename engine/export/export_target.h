#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/output_file.h"

namespace shardscope {

// Where an export goes: a file, or a folder of files, that is there whole or not at all. Everything is written under
// the name PATH.part, which keep() gives its own; without keep() nothing remains of it.
//
// What exists is never lost unasked: a file or folder at the path is refused, or, as `existing` says, written over. Of
// a folder only the files that the export has are written over then, all others stay; where one of them cannot be, none
// is (on file systems that can exchange two files). No input is ever written over, no symbolic link followed, neither
// one to a file nor, inside the folder, one to a folder. A pipe or a device (/dev/stdout), and standard output ("-"),
// take a file's text as it comes.
//
// All throw Failure, located: unwritable_file, file_exists, output_is_input; and Cancelled (engine/compile/compile.h)
// once `stop` is requested.
class ExportTarget {
 public:
  enum class Form : uint8_t { file, folder };

  struct Options {
    Existing existing = Existing::refuse;
    std::vector<std::string> inputs;
    std::stop_token stop;
    std::function<void(double share)> on_progress;  // of the work done, 0 to 1
    std::chrono::milliseconds report_every{100};    // of that, at most
  };

  ExportTarget(std::string path, Form form, Options options);
  ~ExportTarget();
  ExportTarget(const ExportTarget&) = delete;
  ExportTarget& operator=(const ExportTarget&) = delete;

  // The file that is being written, for a program that writes it by itself; the folder.
  const std::string& part() const { return part_; }

  // To the end of the file.
  void write(std::string_view text);
  // A file of the folder; `name` may have folders in it ("data/tokens.bin").
  void add_file(const std::string& name, std::string_view text, bool is_program = false);
  // A copy of a file, however large; `shares` of the work are done before it and behind it.
  void add_copy(const std::string& name, const std::string& from, std::pair<double, double> shares = {0, 1});

  void progress(double share);  // call it often
  void throw_if_cancelled() const;

  void keep();

  // What was written, for a person: bytes of all files.
  int64_t bytes() const { return bytes_; }
  // What else there is to be said at the end, a phrase each: "24 rows".
  void note(std::string text) { notes_.push_back(std::move(text)); }
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  std::string new_file(const std::string& name);  // its place in the part; with the folders above it
  void keep_folder();
  void check_place(const std::string& name) const;
  bool swap_in(const std::string& name);
  void swap_out(const std::string& name);

  std::string path_, part_;
  Form form_;
  Options options_;
  std::unique_ptr<WholeFile> whole_;
  OutputFile stream_;  // a pipe or a device: there is no part
  std::vector<std::string> names_;
  std::vector<std::string> notes_;
  int64_t bytes_ = 0;
  std::chrono::steady_clock::time_point reported_ = std::chrono::steady_clock::now();
};

}  // namespace shardscope
