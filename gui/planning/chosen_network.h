#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/plan/device_profile.h"

namespace shardscope {

// What this program's runs and plans are made for beside the run file, as a person chose it and as its settings keep
// it. Plans are made by a thread of their own: from any thread.

// The hosts, as they were written ("h0:4,h1:4"); empty: this one alone.
std::string chosen_hosts();
void choose_hosts(std::string list);

// What joins the devices along mesh axes, by their names; the device profile says it of the others.
std::vector<AxisLink> chosen_links();
void choose_links(std::vector<AxisLink> links);

// The profile of a run that is watched from elsewhere: plans are made for it, and for its hosts where they have as many
// devices. Nothing: for this machine, and what was chosen above.
std::optional<DeviceProfile> watched_profile();
void watch_profile(std::optional<DeviceProfile> profile);

// Takes what the settings keep: when the program starts.
void restore_chosen_network();

}  // namespace shardscope
