#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/session/messages.h"

namespace shardscope {

// Where the files of a record (engine/session/recorded_run.h) lie.
struct RecordFiles {
  std::string folder;

  std::string header() const { return folder + "/record.json"; }
  std::string run_file() const { return folder + "/run_file.json"; }
  std::string machine() const { return folder + "/machine.json"; }
  std::string former_profile() const { return folder + "/profile.json"; }  // in place of machine(), before 0.2
  std::string messages() const { return folder + "/messages.jsonl"; }
  std::string trace(TraceChoice choice) const { return folder + "/trace_" + std::string(name(choice)) + ".json"; }

  std::vector<std::string> all() const {
    std::vector<std::string> paths{header(), run_file(), machine(), former_profile(), messages()};
    for (TraceChoice choice : trace_choices) paths.push_back(trace(choice));
    return paths;
  }
};

}  // namespace shardscope
