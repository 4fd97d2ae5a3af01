#pragma once

#include <string>

namespace shardscope {

// The hosts of this program's runs, as a person wrote them ("h0:4,h1:4"; empty: this one alone). Plans are made for
// them, by a thread of their own. From any thread.
std::string chosen_hosts();
void choose_hosts(std::string list);

}  // namespace shardscope
