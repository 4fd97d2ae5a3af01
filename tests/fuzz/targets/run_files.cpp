#include "tests/fuzz/mutate.h"
#include "tests/fuzz/program_call.h"
#include "tests/fuzz/targets/targets.h"

namespace shardscope::fuzz {

// One in eight is planned, too.
Target run_files() {
  Target target;
  target.name = "run files";
  target.corpus = preset_files();
  for (const std::string& text : corpus_files("run_files")) target.corpus.push_back(text);
  target.mutate = [](const std::string& input, Random& random) { return mutant_of_json(input, random); };
  target.run = [](const std::string& input) {
    const bool plans = std::hash<std::string>()(input) % 8 == 0;
    return call_program({plans ? "plan" : "validate", file_with(input, "run.json")}, "run.json");
  };
  return target;
}

}  // namespace shardscope::fuzz
