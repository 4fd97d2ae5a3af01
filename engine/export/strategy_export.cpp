#include "engine/compile/document_of.h"
#include "engine/export/kinds.h"

namespace shardscope {

ExportKind strategy_export(const StrategyFormat& format) {
  ExportKind kind{format.name,
                  format.what +
                      ", which start the run file's strategy there; what that program cannot express is an error at "
                      "its place",
                  format.extension,
                  {},
                  false,
                  [write = format.write](const ExportSource& source, const ExportChoice&, ExportTarget& target) {
                    const RunConfig config = source.plan ? document_of(*source.plan) : source.config.value();
                    const WrittenStrategy written = write(portable_strategy(config));
                    target.write(written.text);
                    for (const std::string& note : written.notes) target.note(note);
                  }};
  kind.needs_plan = false;
  return kind;
}

}  // namespace shardscope
