#pragma once

#include <optional>
#include <vector>

#include "engine/machine/topology.h"
#include "viz/paint/picture_rect.h"

namespace shardscope {

// Where a machine is drawn: the unit of the outermost level holds boxes of the units below, and so on down to devices.
struct MachinePicture {
  struct Box {
    int level = 0;  // of the machine
    int unit = 0;
    PictureRect place;
    PictureRect caption;              // its upper edge
    int parts = 0;                    // units of the level below, or devices, in it
    int drawn = 0;                    // of them; the others are left out
    std::optional<PictureRect> rest;  // where it says so
  };
  struct Cell {
    int device = 0;
    PictureRect place;
  };

  std::vector<Box> boxes;  // each behind the one that it is in
  std::vector<Cell> devices;
};

// Of the parts of a box at most so many are drawn: of other units; of devices as many as have `room_of_device` pixels
// of width and height each, between these two.
inline constexpr int most_units_of_unit = 8, least_devices_of_unit = 16, most_devices_of_unit = 256;
inline constexpr double room_of_device = 30;

// In pixels, in `place`; captions are so high. Where parts are left out, `focus`, a device, is not.
//
// Example: 32 hosts of 8: the box of the network, in it 8 places: 7 hosts of 8 devices each, and "25 more".
MachinePicture machine_picture(const Topology& topology, const PictureRect& place, double caption,
                               std::optional<int> focus = {});

}  // namespace shardscope
