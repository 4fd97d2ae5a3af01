#pragma once

namespace shardscope {

// Makes the files of resources/shardscope.qrc and the presets readable under ":/". Cheap to call again.
void load_embedded_files();

}  // namespace shardscope
