#pragma once

#include <cstdint>
#include <string>

namespace shardscope {

// What `shardrun suggest` is asked.
struct SuggestionRequest {
  double parameters = 0;
  int64_t devices = 1;
  double memory_bytes = 0;  // of each device
};

// What the Workshop document's function says of it, what is wrong with that, and what the states of each common
// strategy take; see engine/plan/strategy.h.
std::string suggestion_text(const SuggestionRequest& request);
std::string suggestion_json(const SuggestionRequest& request);

}  // namespace shardscope
