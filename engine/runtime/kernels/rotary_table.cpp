#include "engine/runtime/kernels/rotary_table.h"

#include <cmath>
#include <map>
#include <mutex>
#include <tuple>

namespace shardscope {

namespace {

std::shared_ptr<const RotaryTable> make_table(const std::vector<float>& frequencies, float magnitude, int64_t first,
                                              int64_t count, const Zigzag& order) {
  auto table = std::make_shared<RotaryTable>();
  table->cosines.reserve(static_cast<size_t>(count) * frequencies.size());
  table->sines.reserve(static_cast<size_t>(count) * frequencies.size());
  for (int64_t position = first; position < first + count; ++position) {
    for (float frequency : frequencies) {
      const double angle = frequency * static_cast<float>(order.position(position));
      table->cosines.push_back(static_cast<float>(std::cos(angle)) * magnitude);
      table->sines.push_back(static_cast<float>(std::sin(angle)) * magnitude);
    }
  }
  return table;
}

}  // namespace

std::shared_ptr<const RotaryTable> rotary_table(const std::vector<float>& frequencies, float magnitude, int64_t first,
                                                int64_t count, const Zigzag& order) {
  using Key = std::tuple<std::vector<float>, float, int64_t, int64_t, int64_t, int64_t>;
  static std::mutex mutex;
  static std::map<Key, std::weak_ptr<const RotaryTable>> tables;
  const std::lock_guard lock(mutex);
  std::erase_if(tables, [](const auto& entry) { return entry.second.expired(); });
  std::weak_ptr<const RotaryTable>& known = tables[{frequencies, magnitude, first, count, order.blocks, order.length}];
  std::shared_ptr<const RotaryTable> table = known.lock();
  if (!table) known = table = make_table(frequencies, magnitude, first, count, order);
  return table;
}

}  // namespace shardscope
