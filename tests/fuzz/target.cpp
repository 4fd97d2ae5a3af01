#include "tests/fuzz/target.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace shardscope::fuzz {

namespace {

namespace fs = std::filesystem;

std::vector<std::string> texts_in(const fs::path& folder) {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".json") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> texts;
  for (const fs::path& path : paths) {
    std::ifstream file(path, std::ios::binary);
    texts.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return texts;
}

}  // namespace

std::vector<std::string> words_of(const std::string& input) {
  std::vector<std::string> words(1);
  for (char character : input) {
    if (character == word_end) words.emplace_back();
    else if (character != '\0') words.back() += character;
  }
  return words;
}

std::string input_of(const std::vector<std::string>& words) {
  std::string input;
  for (size_t i = 0; i < words.size(); ++i) input += (i ? std::string(1, word_end) : "") + words[i];
  return input;
}

std::vector<std::string> corpus_files(const std::string& folder) {
  return texts_in(fs::path(SHARDSCOPE_SOURCE_DIR "/tests/fuzz/corpus") / folder);
}

std::vector<std::string> preset_files() { return texts_in(SHARDSCOPE_SOURCE_DIR "/presets"); }

std::vector<std::string> corpus_lines(const std::string& name) {
  std::ifstream file(fs::path(SHARDSCOPE_SOURCE_DIR "/tests/fuzz/corpus") / name);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty()) lines.push_back(line);
  }
  return lines;
}

}  // namespace shardscope::fuzz
