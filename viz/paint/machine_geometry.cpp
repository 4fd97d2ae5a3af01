#include "viz/paint/machine_geometry.h"

#include <algorithm>
#include <cmath>

namespace shardscope {

namespace {

constexpr double part_gap = 4, box_margin = 6;
constexpr double widest_part = 2.5;  // of a part, width / height

// The columns with which so many parts fill a place with the largest of them.
int best_columns(int parts, const PictureRect& place) {
  int best = 1;
  double largest = -1;
  for (int columns = 1; columns <= parts; ++columns) {
    const int rows = (parts + columns - 1) / columns;
    const double width = place.width / columns, height = place.height / rows;
    const double side = std::min(width / widest_part, height);
    if (side > largest) {
      largest = side;
      best = columns;
    }
  }
  return best;
}

PictureRect part_place(int part, int parts, int columns, const PictureRect& place) {
  const int rows = (parts + columns - 1) / columns;
  const double width = (place.width - part_gap * (columns - 1)) / columns,
               height = (place.height - part_gap * (rows - 1)) / rows;
  return {place.x + (part % columns) * (width + part_gap), place.y + (part / columns) * (height + part_gap),
          std::max(0.0, width), std::max(0.0, height)};
}

int most_devices_in(const PictureRect& place) {
  const double devices = std::floor(place.width / room_of_device) * std::floor(place.height / room_of_device);
  return static_cast<int>(std::clamp<double>(devices, least_devices_of_unit, most_devices_of_unit));
}

class BoxPlacer {
 public:
  BoxPlacer(const Topology& topology, double caption, std::optional<int> focus)
      : topology_(topology), caption_(caption), focus_(focus) {}

  // `devices`: those of the unit.
  void add(int level, const std::vector<int>& devices, const PictureRect& place) {
    if (level < 0) {
      picture_.devices.push_back({devices.front(), place});
      return;
    }
    std::vector<std::vector<int>> parts;
    for (int device : devices) {
      if (parts.empty() || topology_.unit(level - 1, parts.back().front()) != topology_.unit(level - 1, device))
        parts.emplace_back();
      parts.back().push_back(device);
    }
    const PictureRect inside = {place.x + box_margin, place.y + caption_, place.width - 2 * box_margin,
                                place.height - caption_ - box_margin};
    const int count = static_cast<int>(parts.size());
    const int places = std::min(count, level == 0 ? most_devices_in(inside) : most_units_of_unit);
    const int drawn = places < count ? places - 1 : count;
    const int columns = best_columns(places, inside);
    MachinePicture::Box& box = picture_.boxes.emplace_back();
    box = {level, topology_.unit(level, devices.front()),
           place, {place.x + box_margin, place.y, place.width - 2 * box_margin, caption_},
           count, drawn,
           {}};
    if (drawn < count) {
      box.rest = part_place(places - 1, places, columns, inside);
      const auto focused = focus_ ? std::ranges::find_if(parts,
                                                         [&](const std::vector<int>& part) {
                                                           return topology_.unit(level - 1, part.front()) ==
                                                                  topology_.unit(level - 1, *focus_);
                                                         })
                                  : parts.end();
      if (focused != parts.end() && focused - parts.begin() >= drawn)
        std::iter_swap(parts.begin() + drawn - 1, focused);
    }
    for (int part = 0; part < drawn; ++part)
      add(level - 1, parts[static_cast<size_t>(part)], part_place(part, places, columns, inside));
  }

  MachinePicture take() { return std::move(picture_); }

 private:
  const Topology& topology_;
  double caption_;
  std::optional<int> focus_;
  MachinePicture picture_;
};

}  // namespace

MachinePicture machine_picture(const Topology& topology, const PictureRect& place, double caption,
                               std::optional<int> focus) {
  std::vector<int> devices(static_cast<size_t>(topology.device_count()));
  for (size_t i = 0; i < devices.size(); ++i) devices[i] = static_cast<int>(i);
  BoxPlacer drawing(topology, caption, focus && *focus < topology.device_count() ? focus : std::nullopt);
  drawing.add(topology.level_count() - 1, devices, place);
  return drawing.take();
}

}  // namespace shardscope
