#include "engine/worker/synthetic_lm.h"

#include <algorithm>

#include "engine/base/random.h"

namespace shardscope {

namespace {

class SyntheticLm : public DataSource {
 public:
  SyntheticLm(int64_t seed, int64_t sequence, int64_t vocabulary)
      : key_(key_from_seed(seed)), sequence_(sequence), vocabulary_(static_cast<int32_t>(vocabulary)) {}

  void fill(const std::string& name, const Box& box, int32_t* out) const override {
    if (name != "tokens" && name != "labels") {
      throw Failure({"data", "synthetic_lm makes no input '" + name + "'", "data.kind", "it makes tokens and labels"});
    }
    const int64_t shift = name == "labels" ? 1 : 0;
    const int64_t columns = box.size[1];
    for (int64_t row = 0; row < box.size[0]; ++row, out += columns) {
      const int64_t first = box.start[1] + shift;
      const int64_t drawn = std::min(columns, sequence_ - first);
      const uint64_t index = static_cast<uint64_t>((box.start[0] + row) * sequence_ + first);
      fill_randint(key_, index, 0, vocabulary_, {out, static_cast<size_t>(drawn)});
      std::fill(out + drawn, out + columns, 0);
    }
  }

 private:
  Key key_;
  int64_t sequence_;
  int32_t vocabulary_;
};

}  // namespace

std::unique_ptr<DataSource> make_synthetic_lm(int64_t seed, const Shape& batch, int64_t vocabulary) {
  return std::make_unique<SyntheticLm>(seed, batch.at(1), vocabulary);
}

}  // namespace shardscope
