#include "tests/test_program.h"

#include <cstdio>
#include <map>
#include <string>
#include <string_view>

namespace shardscope::tests {

namespace {

struct Registry {
  std::map<std::string, RunTest, std::less<>> tests;
  RunTest program = nullptr;
};

Registry& registry() {
  static Registry all;
  return all;
}

std::string stem(std::string_view path) {
  path.remove_prefix(path.rfind('/') + 1);
  return std::string(path.substr(0, path.rfind('.')));
}

}  // namespace

bool register_test(RunTest run, std::source_location file) {
  return registry().tests.emplace(stem(file.file_name()), run).second;
}

bool register_program(RunTest run) {
  registry().program = run;
  return true;
}

}  // namespace shardscope::tests

int main(int argc, char** argv) {
  const auto& [tests, program] = shardscope::tests::registry();
  const auto test = argc > 1 ? tests.find(argv[1]) : tests.end();
  if (test != tests.end()) {
    argv[1] = argv[0];
    return test->second(argc - 1, argv + 1);
  }
  if (program && argc > 1) return program(argc, argv);
  std::fprintf(stderr, "usage: %s TEST [arguments of Qt Test]; tests:\n", argv[0]);
  for (const auto& [name, run] : tests) std::fprintf(stderr, "  %s\n", name.c_str());
  return 2;
}
