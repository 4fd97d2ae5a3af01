#pragma once

#include <memory>
#include <vector>

#include "gui/look/legend.h"
#include "gui/workspace/array_facts.h"
#include "viz/paint/layout_geometry.h"
#include "viz/paint/mesh_painter.h"

namespace shardscope {

// What the page Layout shows: an array of a plan, cut into its shards, and the mesh.
struct LayoutScene {
  std::shared_ptr<const Plan> plan;
  ArrayFacts facts;
  LayoutPicture array;
  std::shared_ptr<const MeshPicture> mesh;
  std::vector<int> host_of;  // by device; empty: one host has all
};

// In a line beneath the title: shape, layout, bytes and copies.
QString facts_text(const LayoutScene& scene);
// Which dimensions go down and across the picture of the array, with their sizes.
QString rows_text(const LayoutScene& scene);
QString columns_text(const LayoutScene& scene);
// What the fills, ticks, hatches and numbers mean.
std::vector<LegendEntry> layout_legend(const LayoutScene& scene);
// What a device holds, and with whom; `on_mesh`: said of the device, else of its shard.
QString device_tip(const LayoutScene& scene, int device, bool on_mesh);

}  // namespace shardscope
