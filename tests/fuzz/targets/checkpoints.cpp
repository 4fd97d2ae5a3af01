#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include "engine/base/hash.h"
#include "engine/checkpoint/safetensors.h"
#include "engine/checkpoint/safetensors_reader.h"
#include "tests/checkpoint/made_checkpoint.h"
#include "tests/fuzz/mutate.h"
#include "tests/fuzz/program_call.h"
#include "tests/fuzz/targets/targets.h"

namespace shardscope::fuzz {

namespace {

constexpr const char* checkpoint = "checkpoints/step_000001";
constexpr const char* index_file = "checkpoints/step_000001/index.json";

// The index of a checkpoint that is made at first.
const std::string& index_text() {
  static const std::string text = [] {
    const Mesh mesh({{"data", 2}, {"model", 2}});
    Sharding columns = Sharding::replicated(2);
    columns.dims[1].push_back(1);
    test::make_checkpoint("checkpoints",
                          {{"params/kernel", {{4, 6}, DType::f32}, columns, true},
                           {"params/bias", {{5}, DType::bf16}, Sharding::replicated(1), true},
                           {"optimizer/count", {{}, DType::i32}, Sharding::replicated(0), false}},
                          mesh);
    return test::text_of(index_file);
  }();
  return text;
}

std::string with_hash(const std::string& body, uint64_t hash) {
  return fmt::format("{{\"xxh3\": \"{:016x}\", \"checkpoint\":\n{}}}\n", hash, body);
}

}  // namespace

// What the index of a checkpoint says, with a hash that is right, but for one in eight.
Target checkpoint_indexes() {
  Target target;
  target.name = "checkpoints";
  const std::string& text = index_text();
  const size_t begin = text.find('\n') + 1;
  target.corpus = {text.substr(begin, text.rfind('}') - begin)};
  target.mutate = [](const std::string& input, Random& random) { return mutant_of_json(input, random); };
  target.run = [](const std::string& input) {
    const bool is_wrong = std::hash<std::string>()(input) % 8 == 0;
    test::put_text(index_file, with_hash(input, hash_bytes(input) ^ (is_wrong ? 1 : 0)));
    return call_program({"checkpoint", "list", checkpoint, "--verify"}, checkpoint);
  };
  return target;
}

// Headers of safetensors files that others have written.
Target safetensors() {
  Target target;
  target.name = "safetensors";
  for (const SafetensorsLayout& layout :
       {SafetensorsLayout({{"params/b", {{3}, DType::bf16}}, {"params/a", {{2, 2}, DType::i32}}}),
        SafetensorsLayout({{"x", {{}, DType::f32}}, {"__metadata__", {{0, 7}, DType::f32}}})}) {
    target.corpus.push_back(layout.header().substr(sizeof(uint64_t)));
  }
  target.mutate = [](const std::string& input, Random& random) { return mutant_of_json(input, random); };
  target.run = [](const std::string& input) {
    std::string length(sizeof(uint64_t), '\0');
    for (size_t i = 0; i < length.size(); ++i) length[i] = static_cast<char>(input.size() >> (8 * i));
    if (std::hash<std::string>()(input) % 16 == 0) length[7] = length[3] = '\x7f';
    const size_t bytes = input.find("params/") != std::string::npos ? 22 : 4;  // as the corpus has them
    try {
      SafetensorsReader reader(file_with(length + input + std::string(bytes, 'e'), "arrays"));
      for (const auto& [name, array] : reader.arrays()) {
        if (!array.unreadable.empty()) continue;
        if (array.type.bytes() < 0 || array.type.bytes() > 4 * 64) return Answer{false, "believes in " + name};
        std::vector<std::byte> elements(static_cast<size_t>(array.type.bytes()));
        reader.read(array, elements);
      }
      return Answer{};
    } catch (const Failure& failure) {
      return refusal(failure, "unreadable_file");
    }
  };
  return target;
}

}  // namespace shardscope::fuzz
