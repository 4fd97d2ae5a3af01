#include "gui/look/embedded.h"

#include <QResource>
#include <QtGlobal>

// Q_INIT_RESOURCE names a function of the global namespace.
static void register_files() { Q_INIT_RESOURCE(shardscope); }

namespace shardscope {

void load_embedded_files() { register_files(); }

}  // namespace shardscope
