#include <array>
#include <limits>
#include <mutex>
#include <numeric>
#include <optional>

#include "engine/base/error.h"
#include "engine/base/numpy_random.h"
#include "engine/data/kinds.h"

namespace shardscope {

namespace {

constexpr int points = 100;

// Choices are drawn one after the other, so the generator stands behind the step that was last asked for, and starts
// again where an earlier one is asked for.
class Quadratic : public DataSource {
 public:
  // `batch` points in a step; where there is none, all in their order.
  Quadratic(uint32_t seed, std::optional<int64_t> batch) : start_(seed), batch_(batch) {
    constexpr double low = -2, high = 2, gap = (high - low) / (points - 1);
    for (int i = 0; i < points; ++i) {
      const double x = i == points - 1 ? high : i * gap + low;
      x_[i] = static_cast<float>(x);
      y_[i] = static_cast<float>(0.8 * (x * x) + 0.1 + start_.normal(0, 0.1));
    }
    random_ = start_;
  }

  void fill(const std::string& name, const Box& box, int64_t step, std::span<std::byte> bytes) const override {
    if (name != "inputs" && name != "targets") {
      throw Failure({"data_kind", "there is no input '" + name + "'", "data.kind", "there are inputs and targets"});
    }
    const std::scoped_lock lock(mutex_);
    choose(step);
    const std::array<float, points>& values = name == "inputs" ? x_ : y_;
    auto* out = reinterpret_cast<float*>(bytes.data());
    for (int64_t row = 0; row < box.size[0]; ++row) {
      if (box.size[1] > 0) out[row] = values[chosen_[static_cast<size_t>(box.start[0] + row)]];
    }
  }
  bool same_every_step() const override { return !batch_; }

 private:
  void choose(int64_t step) const {
    if (!batch_) {
      chosen_.resize(points);
      std::iota(chosen_.begin(), chosen_.end(), 0);
      return;
    }
    if (step < next_ - 1) {
      random_ = start_;
      next_ = 0;
    }
    chosen_.resize(static_cast<size_t>(*batch_));
    for (; next_ <= step; ++next_) {
      for (int& index : chosen_) index = random_.integer(points);
    }
  }

  std::array<float, points> x_{}, y_{};
  NumpyRandom start_;  // behind the noise
  std::optional<int64_t> batch_;
  mutable std::mutex mutex_;
  mutable NumpyRandom random_{0};
  mutable int64_t next_ = 0;  // the step after that of chosen_
  mutable std::vector<int> chosen_;
};

std::unique_ptr<DataSource> make_quadratic(const OptionList& options, std::optional<int64_t> batch) {
  return std::make_unique<Quadratic>(static_cast<uint32_t>(integer_option(options, "seed")), batch);
}

std::vector<DataInput> quadratic_inputs(const DataRequest& request) {
  const DataInput* inputs = request.find("inputs");
  if (!inputs || inputs->type.shape.size() != 2) return {};
  const TensorType column{{inputs->type.shape[0], 1}, DType::f32};
  return {{"inputs", column}, {"targets", column}};
}

}  // namespace

DataKind quadratic_data() {
  constexpr double largest_seed = std::numeric_limits<uint32_t>::max();
  DataKind kind{"quadratic",
                "points of a noisy parabola, drawn as NumPy draws them: data with an end",
                {{"batch_size", int64_t{32}, true, 1, 1e7, "points in a step, over all devices"},
                 {"seed", int64_t{0}, false, 0, largest_seed, "of the noise and of the points chosen"}},
                quadratic_inputs,
                [](const OptionList& options, const DataRequest& request) {
                  return make_quadratic(options, request.find("inputs")->type.shape[0]);
                }};
  kind.examples = points;
  kind.make_all = [](const OptionList& options, const DataRequest&) { return make_quadratic(options, std::nullopt); };
  return kind;
}

}  // namespace shardscope
