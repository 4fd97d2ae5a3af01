#include "tests/fuzz/mutate.h"
#include "tests/fuzz/program_call.h"
#include "tests/fuzz/targets/targets.h"

namespace shardscope::fuzz {

// --mesh, --shape, --devices and --spec of 'show', as the words of an input.
Target specs() {
  Target target;
  target.name = "--spec";
  for (std::string line : corpus_lines("specs")) {
    for (size_t at; (at = line.find(" | ")) != std::string::npos;) line.replace(at, 3, 1, word_end);
    target.corpus.push_back(line);
  }
  target.mutate = [](const std::string& input, Random& random) {
    std::vector<std::string> words = words_of(input);
    for (size_t i = 0; i + 1 < words.size(); ++i) {
      while (random.one_in(4)) mutate(words[i], random);
    }
    if (!random.one_in(3)) words.back() = mutant_of_json(words.back(), random);
    return input_of(words);
  };
  target.run = [](const std::string& input) {
    std::vector<std::string> words = words_of(input);
    words.resize(4);
    std::vector<std::string> arguments = {"show", "--mesh=" + words[0], "--shape=" + words[1], "--spec=" + words[3]};
    if (!words[2].empty()) arguments.push_back("--devices=" + words[2]);
    return call_program(arguments, "--");
  };
  return target;
}

}  // namespace shardscope::fuzz
