#include "tests/fuzz/mutate.h"
#include "tests/fuzz/program_call.h"
#include "tests/fuzz/targets/targets.h"

namespace shardscope::fuzz {

namespace {

std::string mutant_of_assignment(const std::string& assignment, const std::vector<std::string>& others,
                                 Random& random) {
  const size_t equals = assignment.find('=');
  std::string path = assignment.substr(0, equals), value = assignment.substr(equals + 1);
  if (random.one_in(3)) mutate(path, random);
  if (random.one_in(8)) path = random.of(others).substr(0, random.of(others).find('='));
  if (random.one_in(2)) value = mutant_of_json(value, random);
  if (random.one_in(4)) value = odd_scalar(random);
  std::string text = path + "=" + value;
  if (random.one_in(8)) mutate(text, random);
  return text;
}

}  // namespace

// Up to three --set for one preset.
Target assignments() {
  Target target;
  target.name = "--set";
  target.corpus = corpus_lines("assignments");
  target.mutate = [lines = target.corpus](const std::string& input, Random& random) {
    std::vector<std::string> words = {mutant_of_assignment(input, lines, random)};
    while (words.size() < 3 && random.one_in(3)) words.push_back(mutant_of_assignment(random.of(lines), lines, random));
    return input_of(words);
  };
  target.run = [](const std::string& input) {
    std::vector<std::string> arguments = {"validate", SHARDSCOPE_SOURCE_DIR "/presets/parallax_decoder.json"};
    for (const std::string& word : words_of(input)) arguments.push_back("--set=" + word);
    return call_program(arguments, "--set");
  };
  return target;
}

}  // namespace shardscope::fuzz
