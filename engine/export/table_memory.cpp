#include "engine/base/align.h"
#include "engine/export/table_pages.h"
#include "engine/plan/packing.h"

namespace shardscope {

namespace {

// Each buffer of each stage's arena: the sum of bytes over those at the peak is what is alive there.
void write_memory_table(const ExportSource& source, const ExportChoice&, TableWriter& table) {
  const Plan& plan = *source.plan;
  table.headings({"stage", "buffer", "category", "bytes", "offset", "slots", "persistent", "first_position",
                  "last_position", "at_peak"});
  for (int stage = 0; stage < plan.program.stages; ++stage) {
    const ArenaLayout& arena = plan.arenas[static_cast<size_t>(stage)];
    const int peak = live_peak(arena.buffers, arena.length).position;
    for (const Buffer& buffer : arena.buffers) {
      const auto index = static_cast<double>(&buffer - arena.buffers.data());
      table.progress(stage + index / static_cast<double>(arena.buffers.size()), plan.program.stages);
      table.row(stage, plan.buffer_name(buffer, stage), name(buffer.category), round_up(buffer.bytes), buffer.offset,
                buffer.slot_count, buffer.persistent ? "yes" : "no", buffer.first, buffer.last,
                buffer.first <= peak && peak <= buffer.last ? "yes" : "no");
    }
  }
}

}  // namespace

TablePage memory_table() { return {"memory", write_memory_table}; }

}  // namespace shardscope
