#include <fmt/format.h>

#include <algorithm>

#include "engine/base/numpy_random.h"
#include "engine/base/plural.h"
#include "engine/data/kinds.h"
#include "engine/data/token_rows.h"

namespace shardscope {

namespace {

// Rows are drawn one after the other; just one batch is kept. Going back begins anew.
class NumpyBatches : public DataSource {
 public:
  NumpyBatches(int64_t seed, int64_t batches, const DataInput& tokens)
      : seed_(static_cast<uint32_t>(seed)),
        batches_(batches),
        sequence_(tokens.type.shape[1]),
        limit_(static_cast<int32_t>(tokens.limit)),
        random_(seed_),
        tokens_(static_cast<size_t>(element_count(tokens.type.shape))) {}

  void fill(const std::string& name, const Box& box, int64_t step, std::span<std::byte> bytes) const override {
    require_token_input(name);
    draw(step % batches_);
    auto* out = reinterpret_cast<int32_t*>(bytes.data());
    const int64_t columns = box.size[1], first = box.start[1] + (name == "labels" ? 1 : 0);
    const int64_t known = std::clamp<int64_t>(sequence_ - first, 0, columns);
    for (int64_t row = box.start[0]; row < box.start[0] + box.size[0]; ++row, out += columns) {
      std::copy_n(tokens_.data() + row * sequence_ + first, known, out);
      std::fill(out + known, out + columns, 0);
    }
  }

  void prepare(int64_t step, const std::function<void()>& on_progress) const override {
    draw(step % batches_, on_progress);
  }

  bool same_every_step() const override { return batches_ == 1; }

 private:
  void draw(
      int64_t batch, const std::function<void()>& on_progress = [] {}) const {
    if (batch < drawn_ - 1) {
      random_ = NumpyRandom(seed_);
      drawn_ = 0;
    }
    for (; drawn_ <= batch; ++drawn_) {
      for (int32_t& token : tokens_) token = random_.integer(limit_);
      on_progress();
    }
  }

  uint32_t seed_;
  int64_t batches_, sequence_;
  int32_t limit_;
  mutable NumpyRandom random_;
  mutable std::vector<int32_t> tokens_;  // of the batch drawn last
  mutable int64_t drawn_ = 0;            // batches
};

std::unique_ptr<DataSource> make_numpy_batches(const OptionList& options, const DataRequest& request) {
  const int64_t batches = integer_option(options, "dataset_size") / integer_option(options, "batch_size");
  return std::make_unique<NumpyBatches>(integer_option(options, "seed"), batches, *request.find("tokens"));
}

std::vector<Error> check_numpy_batches(const OptionList& options) {
  const int64_t rows = integer_option(options, "dataset_size"), batch = integer_option(options, "batch_size");
  if (batch <= rows) return {};
  return {{"out_of_range",
           fmt::format("{} {} less than one batch of {}", counted(rows, "sequence"), plural(rows, "is", "are"), batch),
           "data.dataset_size", fmt::format("at least {}", batch)}};
}

}  // namespace

DataKind numpy_batches_data() {
  return {"numpy_batches",
          "batches of a data set of random tokens, drawn as NumPy draws them",
          {{"batch_size", int64_t{32}, true, 1, 1e7, "sequences in a step, over all devices"},
           {"seed", int64_t{1234}, false, 0, 4294967295, "of the data set"},
           {"dataset_size", int64_t{8192}, false, 1, 1e12, "sequences in the data set"},
           sequence_length_option()},
          token_inputs,
          make_numpy_batches,
          check_numpy_batches};
}

}  // namespace shardscope
