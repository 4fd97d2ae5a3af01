#include "engine/config/host_list.h"
#include "tests/fuzz/mutate.h"
#include "tests/fuzz/program_call.h"
#include "tests/fuzz/targets/targets.h"

namespace shardscope::fuzz {

namespace {

constexpr int ranks = 8;

std::vector<HostSlots> parse(const std::vector<std::string>& words) {
  if (words[0] == "hostfile") return parse_host_file(words[1], "hosts");
  if (words[0] == "slurm") return parse_slurm_hosts(words[1], words[2]);
  return parse_host_list(words[1]);
}

std::string fault_of(const std::vector<HostRanks>& hosts) {
  int next = 0;
  for (const HostRanks& host : hosts) {
    if (host.first_rank != next || host.ranks < 1) return "places ranks over hosts with gaps";
    if (host.name.empty() || host.name[0] == '-' || host.name.size() > 255) return "takes a name that is none";
    next += host.ranks;
  }
  return next == ranks ? "" : "places too few ranks over hosts";
}

// The first word says what the others are. One in eight is given to the program.
Answer host_list_answer(const std::string& input) {
  std::vector<std::string> words = words_of(input);
  words.resize(3);
  if (std::hash<std::string>()(input) % 8 == 0 && words[0] != "slurm") {
    const bool is_file = words[0] == "hostfile";
    const std::string argument = is_file ? "--hostfile=" + file_with(words[1], "hosts") : "--hosts=" + words[1];
    return call_program({"plan", SHARDSCOPE_SOURCE_DIR "/presets/mintext_mlp.json", argument},
                        is_file ? "hosts" : "--hosts");
  }
  try {
    return {false, fault_of(lay_over_hosts(parse(words), ranks))};
  } catch (const Failure& failure) {
    return refusal(failure, "bad_hosts");
  }
}

// A list of very many hosts, from one part of a list.
std::string many(const std::string& part, Random& random) {
  std::string text;
  const size_t count = random.size(100'000);
  for (size_t i = 0; i < count; ++i) text += part + (random.one_in(2) ? std::to_string(i) : "") + ",";
  return text;
}

}  // namespace

// --hosts, --hostfile and what Slurm says.
Target host_lists() {
  Target target;
  target.name = "--hosts";
  for (const char* list : {"h0:4,h1:4", "h0,h1:2,me@h-2.lan", "10.0.0.1:1,10.0.0.2:7"}) {
    target.corpus.push_back(input_of({"hosts", list}));
  }
  for (const char* file : {"# two\nh0 slots=4 max_slots=8\n\n  h1\tslots=4 # here\r\n", "h0\nh1\nh0 slots=3\n"}) {
    target.corpus.push_back(input_of({"hostfile", file}));
  }
  target.corpus.push_back(input_of({"slurm", "n[01-03,7],login", "4(x2),3,1(x2)"}));
  target.corpus.push_back(input_of({"slurm", "r[1-2]n[8-9]", ""}));
  target.mutate = [](const std::string& input, Random& random) {
    std::vector<std::string> words = words_of(input);
    for (size_t i = 1; i < words.size(); ++i) {
      for (size_t count = random.size(4); count > 0; --count) mutate(words[i], random);
      if (random.one_in(100)) words[i] = many(words[i], random);
    }
    return input_of(words);
  };
  target.run = host_list_answer;
  return target;
}

}  // namespace shardscope::fuzz
