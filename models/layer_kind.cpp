#include "models/layer_kind.h"

#include <fmt/format.h>

#include "models/layer_list.h"

namespace shardscope {

int LayersBefore::find(const std::string& name) const {
  std::vector<std::string> known{listed_example};
  if (name == listed_example) return -1;
  for (int i = 0; i < count(); ++i) {
    if (layer(i).name == name) return i;
    if (!layer(i).name.empty()) known.push_back(layer(i).name);
  }
  throw Failure(Error{"unknown_name", "no layer before this one is called '" + name + "'", "", name_hint(name, known)});
}

int LayersBefore::find_joinable(const Words& words, const ListedLayer& layer, const std::string& name) const {
  const int other = find(name);
  if (value(other).kind == layer.before.kind && value(other).maker == layer.before.maker) return other;
  fail_layer(fmt::format("'{}' is of two arrays, or of rows that one dispatch has sent; '{}' is another thing",
                         words[0], name),
             "\"combine\" makes an array of rows");
}

void require_alone(const Words& words) {
  if (words.size() != 1) fail_layer("'" + words[0] + "' takes nothing", "write \"" + words[0] + "\"");
}

}  // namespace shardscope
