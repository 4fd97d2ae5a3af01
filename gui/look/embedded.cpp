#include "gui/look/embedded.h"

#include <QResource>
#include <QtGlobal>

// Q_INIT_RESOURCE names functions of the global namespace.
static void register_files() {
  Q_INIT_RESOURCE(shardscope);
  Q_INIT_RESOURCE(presets);
}

namespace shardscope {

void load_embedded_files() { register_files(); }

}  // namespace shardscope
