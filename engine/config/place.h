#pragma once

#include <optional>
#include <string>
#include <vector>

namespace shardscope {

// Places in a run file, as Place::path and --set write them: "mesh.axes[0].size". A name that holds a character
// with a meaning of its own stands in brackets and quotes: sharding.parameters["layer.0"].kernel.

// Place of a member of the object at `place`; the root's place is "".
std::string member_place(const std::string& place, const std::string& name);
std::string element_place(const std::string& place, size_t index);

// The steps of a place: names, and indices as "[0]". Nothing where it is not a place.
struct PlaceStep {
  std::string name;
  std::optional<size_t> index;
};
std::optional<std::vector<PlaceStep>> split_place(const std::string& place);

}  // namespace shardscope
