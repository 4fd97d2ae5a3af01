#include "engine/base/error.h"
#include "engine/session/host_report.h"
#include "tests/fuzz/mutate.h"
#include "tests/fuzz/program_call.h"
#include "tests/fuzz/targets/targets.h"

namespace shardscope::fuzz {

namespace {

std::vector<std::string> some_reports() {
  RankReport starting;
  starting.observation.process = starting.observation.entry.process = {4711, 1234567};
  starting.observation.process_state = 'S';
  starting.observation.entry.phase = RankPhase::connecting;
  RankReport training = starting;
  training.rank = 1;
  training.observation.status = RankStatus{};
  training.observation.status->training_step = 17;
  training.steps.resize(3);
  training.traces.resize(2);
  training.load = RankExpertLoad{16, {3, 1, 0}};
  RankReport failed = training;
  failed.rank = 2;
  failed.observation.entry.failed_ns = 5;
  failed.observation.entry.error = "cannot open: Too many open files";
  return {encode({1, false, {}}), encode({2, true, {starting}}), encode({3, false, {starting, training, failed}})};
}

}  // namespace

// What a host tells the launcher of a run, of its ranks.
Target host_reports() {
  Target target;
  target.name = "reports";
  target.corpus = some_reports();
  target.mutate = [](const std::string& input, Random& random) {
    std::string bytes = input;
    for (size_t count = random.size(6); count > 0; --count) mutate(bytes, random);
    return bytes;
  };
  target.run = [](const std::string& input) {
    try {
      const HostReport report = decode_host_report(input);
      return Answer{false, encode(decode_host_report(encode(report))) == encode(report) ? "" : "reads it otherwise"};
    } catch (const Failure& failure) {
      return refusal(failure, "bad_report");
    }
  };
  return target;
}

}  // namespace shardscope::fuzz
