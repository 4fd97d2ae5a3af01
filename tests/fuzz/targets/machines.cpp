#include <cstdlib>

#include "tests/fuzz/mutate.h"
#include "tests/fuzz/program_call.h"
#include "tests/fuzz/targets/targets.h"

namespace shardscope::fuzz {

// A machine for which a small model is planned.
Target machines() {
  Target target;
  target.name = "machines";
  target.corpus = corpus_files("machines");
  target.mutate = [](const std::string& input, Random& random) { return mutant_of_json(input, random); };
  target.run = [](const std::string& input) {
    ::setenv("SHARDSCOPE_PROFILE", file_with(input, "machine.json").c_str(), 1);
    Answer answer = call_program({"plan", SHARDSCOPE_SOURCE_DIR "/presets/mintext_mlp.json"}, "machine.json");
    ::unsetenv("SHARDSCOPE_PROFILE");
    return answer;
  };
  return target;
}

}  // namespace shardscope::fuzz
