#pragma once

#include <string>

namespace shardscope {

// Where something is wrong; what is not known is empty. A plain string is the place of a value in the run file, where
// most faults lie. As people read it:
//   Place("mesh.axes[0].size")                    mesh.axes[0].size
//   in_file("x.json", 12, 0, "mesh")              x.json:12: mesh
//   in_file("x.json", 3, 7)                       x.json:3:7
//   at_argument("--set model.num_layers=0")       --set model.num_layers=0
//   on_rank(2)                                    rank 2
//   at_name("Dense_0/dot")                        Dense_0/dot
struct Place {
  std::string file;          // a file, folder or socket
  int line = 0, column = 0;  // in it, from 1; without a file, in a text that was typed
  std::string argument;      // of the command line
  int rank = -1;
  std::string step;  // of the plan, in words
  std::string name;  // of what has no path: an op, a value, a buffer
  std::string path;  // of a value in the run file, see engine/config/place.h

  Place() = default;
  Place(std::string path) : path(std::move(path)) {}
  Place(const char* path) : path(path) {}

  bool empty() const { return *this == Place(); }
  bool operator==(const Place&) const = default;
};

Place in_file(std::string file, int line = 0, int column = 0, std::string path = {});
Place at_argument(std::string argument);
Place on_rank(int rank);
Place at_name(std::string name);

std::string to_string(const Place& place);

// Whether the value of the run file at `path` is the one at `outer` ("mesh.axes[0]") or is in it
// ("mesh.axes[0].size").
bool is_inside(const std::string& path, const std::string& outer);

}  // namespace shardscope
