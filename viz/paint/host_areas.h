#pragma once

#include <vector>

#include "viz/paint/mesh_geometry.h"

namespace shardscope {

// Where a host's devices lie in the picture of a mesh, in cells. They need not fill a rectangle.
struct HostArea {
  struct Line {
    double x1 = 0, y1 = 0, x2 = 0, y2 = 0;
  };

  int host = 0;
  int devices = 0;
  std::vector<Line> border;  // wherever the next device is of another host, or there is none
  PictureRect room;          // the largest rectangle of its devices alone, for its name
};

// `host_of`: by device. Example: 4 x 2 devices, of which host 0 has the first three: its border goes around device 3.
std::vector<HostArea> host_areas(const MeshPicture& picture, const std::vector<int>& host_of);

}  // namespace shardscope
