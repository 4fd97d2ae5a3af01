#include "tests/fuzz/program_call.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "engine/cli/command_line.h"

namespace shardscope::fuzz {

namespace {

constexpr size_t most_said = size_t{1} << 20;

std::string take_text(int file) {
  std::fflush(stdout);
  std::fflush(stderr);
  struct stat status {};
  ::fstat(file, &status);
  std::string text(static_cast<size_t>(status.st_size), '\0');
  const ssize_t got = ::pread(file, text.data(), text.size(), 0);
  text.resize(got > 0 ? static_cast<size_t>(got) : 0);
  ::lseek(file, 0, SEEK_SET);
  [[maybe_unused]] const int cut = ::ftruncate(file, 0);
  return text;
}

// Length of the UTF-8 character at `at`; 0 where there is none.
size_t character_length(const std::string& text, size_t at) {
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const unsigned first = byte(at);
  if (first < 0x80) return 1;
  const size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc2 ? 2 : 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xc0) != 0x80) return 0;
  }
  return first > 0xf4 ? 0 : length;
}

}  // namespace

std::string fault_of_shown_text(const std::string& text) {
  for (size_t at = 0; at < text.size();) {
    const auto byte = static_cast<unsigned char>(text[at]);
    if ((byte < 0x20 && byte != '\n') || byte == 0x7f) return fmt::format("shows the control character {:#04x}", byte);
    const size_t length = character_length(text, at);
    if (length == 0) return fmt::format("shows the byte {:#04x}, which is no UTF-8", byte);
    at += length;
  }
  return "";
}

Answer call_program(const std::vector<std::string>& arguments, const std::string& place) {
  std::vector<std::string> words = {"shardrun"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  const int code = run_command_line(static_cast<int>(words.size()), pointers.data());
  const std::string errors = take_text(STDERR_FILENO), output = take_text(STDOUT_FILENO);
  const Answer refused{true, ""};
  if (code != exit_ok && code != exit_bad_input) return {true, fmt::format("exit code {}: {}", code, errors)};
  if (const std::string fault = fault_of_shown_text(errors); !fault.empty()) return {true, fault + ": " + errors};
  if (errors.size() > most_said) return {true, fmt::format("says {} bytes", errors.size())};
  if (code == exit_ok) return {false, fault_of_shown_text(output)};
  if (errors.find(place) == std::string::npos) return {true, "does not say '" + place + "': " + errors};
  return refused;
}

Answer refusal(const Failure& failure, const std::string& code) {
  for (const Error& error : failure.errors()) {
    if (error.code != code) return {true, fmt::format("says {} instead of {}: {}", error.code, code, failure.what())};
  }
  return {true, fault_of_shown_text(failure.what())};
}

std::string file_with(const std::string& text, const std::string& name) {
  std::ofstream(name, std::ios::binary) << text;
  return name;
}

}  // namespace shardscope::fuzz
