#include "engine/compile/document_of.h"
#include "engine/export/jax_program.h"
#include "engine/export/kinds.h"

namespace shardscope {

ExportKind jax_export() {
  ExportKind kind{"jax",
                  "a program of JAX that trains the same, or its mesh and specs alone",
                  "py",
                  {"program", "specs"},
                  false,
                  [](const ExportSource& source, const ExportChoice& choice, ExportTarget& target) {
                    const RunConfig config = source.plan ? document_of(*source.plan) : source.config.value();
                    const auto tell = [&target](double share) { target.progress(share); };
                    target.write(choice.page == "specs" ? jax_specs(config, tell) : jax_program(config, tell));
                  }};
  kind.needs_plan = false;
  return kind;
}

}  // namespace shardscope
