#pragma once

#include <string>
#include <string_view>

namespace shardscope {

// The file name that means standard input, or output.
inline constexpr std::string_view standard_stream = "-";

// "-" for other names of standard output (/dev/stdout): where that is a regular file they cannot be opened as it is.
// Else the path.
std::string output_name(const std::string& path);

// First thing in a main(). Opens /dev/null in the place of each of standard input, output and error that is closed, so
// that no file or socket opened later takes its number and is then written to as if it were that. And files that this
// process makes may be read and written by their owner, whatever the umask.
void set_up_process();

// One line to standard error, made printable(). Where it cannot be written nothing happens.
void say(std::string_view line) noexcept;

// The same of what a person need not know: warnings, notes, summaries. Nothing after be_quiet().
void note(std::string_view line) noexcept;
void be_quiet() noexcept;
bool is_quiet() noexcept;

// A text of lines to standard output, likewise.
void print_lines(std::string_view text) noexcept;
// Writes what is still held; false when something could not be written since the last call, errno saying why.
bool flush_lines() noexcept;

}  // namespace shardscope
