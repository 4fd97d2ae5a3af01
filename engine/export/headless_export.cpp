#include "engine/export/headless.h"
#include "engine/export/kinds.h"

namespace shardscope {

namespace {

template <Launch launch>
void write_folder(const ExportSource& source, const ExportChoice&, ExportTarget& target) {
  write_headless(source, launch, target);
}

}  // namespace

ExportKind headless_export() {
  return {"headless", "a folder that trains the plan elsewhere: by mpirun, or on one machine",
          "",         {},
          false,      write_folder<Launch::headless>};
}

ExportKind slurm_export() {
  return {"slurm", "the same with a batch script for Slurm", "", {}, false, write_folder<Launch::slurm>};
}

}  // namespace shardscope
