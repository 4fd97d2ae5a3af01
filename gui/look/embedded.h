#pragma once

namespace shardscope {

// Makes the files of resources/shardscope.qrc readable under ":/". Cheap to call again.
void load_embedded_files();

}  // namespace shardscope
