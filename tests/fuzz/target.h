#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tests/fuzz/random.h"

namespace shardscope::fuzz {

// How the program answered an input.
struct Answer {
  bool refused = false;
  std::string fault;  // what is wrong with the answer; empty: nothing
};

// One kind of input that people, files or other programs give. Adding one: a small file in targets/, a line in
// targets.cpp.
struct Target {
  std::string name;
  std::vector<std::string> corpus;  // inputs of which mutants are made
  std::function<std::string(const std::string& input, Random&)> mutate;
  std::function<Answer(const std::string& input)> run;  // may throw: that is a fault too
  int64_t dearness = 1;                                 // of an input: it gets this many times fewer than others
};

std::vector<Target> all_targets();

// An input of several words, of which the program gets each.
inline constexpr char word_end = '\x1e';
std::vector<std::string> words_of(const std::string& input);
std::string input_of(const std::vector<std::string>& words);

// Files of tests/fuzz/corpus/FOLDER, and of presets where asked for.
std::vector<std::string> corpus_files(const std::string& folder);
std::vector<std::string> preset_files();
// Lines of tests/fuzz/corpus/NAME.
std::vector<std::string> corpus_lines(const std::string& name);

}  // namespace shardscope::fuzz
