#include "engine/base/replace_file.h"

#include "engine/base/output_file.h"

namespace shardscope {

void replace_file(const std::string& path, std::string_view text) {
  WholeFile file(path, Existing::overwrite, {}, static_cast<int64_t>(text.size()));
  put(file.file(), text, path);
  file.keep();
}

}  // namespace shardscope
