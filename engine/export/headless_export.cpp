#include "engine/export/headless.h"
#include "engine/export/kinds.h"

namespace shardscope {

namespace {

ExportKind folder(const char* name, const char* what, Launch launch) {
  return {name, what, "", {}, false, [launch](const ExportSource& source, const ExportChoice&, ExportTarget& target) {
            write_headless(source, launch, target);
          }};
}

}  // namespace

ExportKind headless_export() {
  return folder("headless", "a folder that trains the plan elsewhere: by mpirun, or on one machine", Launch::headless);
}
ExportKind slurm_export() { return folder("slurm", "the same with a batch script for Slurm", Launch::slurm); }

}  // namespace shardscope
