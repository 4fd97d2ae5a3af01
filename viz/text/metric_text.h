#pragma once

#include <string>
#include <string_view>

namespace shardscope {

// How a metric is shown. The last word of its name tells what it measures: "aux_loss" is a loss as "loss" is, and
// metrics that measure the same share a scale.
std::string_view metric_kind(std::string_view name);
// "aux_loss" -> "Aux loss"
std::string metric_label(std::string_view name);
// True for accuracies: shares of 1, shown in percent.
bool is_share(std::string_view name);
// "7.5672"; a share "0.12%"; a count of tokens "12".
std::string metric_text(std::string_view name, double value);

}  // namespace shardscope
