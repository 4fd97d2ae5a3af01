#include "engine/cli/checkpoint_table.h"

#include "engine/base/error.h"
#include "engine/base/printable.h"
#include "engine/base/units.h"
#include "engine/checkpoint/checkpoint_names.h"
#include "engine/checkpoint/checkpoint_reader.h"
#include "engine/cli/text_table.h"

namespace shardscope {

CheckpointTable checkpoint_table(const std::vector<FoundCheckpoint>& found, bool verify) {
  using Align = TextTable::Align;
  TextTable table({{"checkpoint"}, {"step", Align::right}, {"model"}, {"mesh"}, {"size", Align::right}, {"is"}});
  bool all_whole = true;
  for (const FoundCheckpoint& checkpoint : found) {
    const std::string name = step_folder_name(checkpoint.step), step = std::to_string(checkpoint.step);
    try {
      CheckpointReader reader(checkpoint.path);
      if (verify) reader.verify();
      const CheckpointIndex& index = reader.index();
      table.add_row({name, std::to_string(index.step), printable(index.model), printable(index.mesh),
                     bytes_text(static_cast<double>(index.bytes())), verify ? "whole" : "there"});
    } catch (const Failure& failure) {
      const bool is_gone = is_removed(checkpoint.path);
      all_whole &= is_gone;
      table.add_row({name, step, "", "", "",
                     is_gone ? "removed meanwhile" : printable(std::string("damaged: ") + failure.what())});
    }
  }
  return {table.text(), all_whole};
}

}  // namespace shardscope
