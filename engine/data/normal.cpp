#include "engine/base/random.h"
#include "engine/data/kinds.h"
#include "engine/mesh/box_runs.h"

namespace shardscope {

namespace {

class Normal : public DataSource {
 public:
  Normal(int64_t seed, const DataRequest& request) : key_(key_from_seed(seed)), request_(request) {}

  void fill(const std::string& name, const Box& box, int64_t step, std::span<std::byte> bytes) const override {
    const DataInput* input = request_.find(name);
    if (!input) throw Failure({"data_kind", "there is no input '" + name + "'", "data.kind", ""});
    const auto index = static_cast<uint64_t>(input - request_.inputs.data());
    const Key key = split(fold_in(key_, static_cast<uint32_t>(step)), index);
    auto* out = reinterpret_cast<float*>(bytes.data());
    const BoxRuns runs(input->type.shape, box);
    runs.for_each([&](int64_t from, int64_t to) {
      fill_normal(key, static_cast<uint64_t>(from), {out + to, static_cast<size_t>(runs.run_length())});
    });
  }

  bool same_every_step() const override { return false; }

 private:
  Key key_;
  DataRequest request_;
};

std::vector<DataInput> normal_inputs(const DataRequest& request) {
  std::vector<DataInput> given;
  for (const DataInput& input : request.inputs) {
    if (input.type.dtype == DType::f32) given.push_back(input);
  }
  return given;
}

std::unique_ptr<DataSource> make_normal(const OptionList& options, const DataRequest& request) {
  return std::make_unique<Normal>(integer_option(options, "seed"), request);
}

}  // namespace

DataKind normal_data() {
  return {"normal",
          "inputs and targets of f32, drawn anew for every step",
          {{"batch_size", int64_t{64}, true, 1, 1e7, "rows in a step, over all devices"},
           {"seed", int64_t{0}, false, 0, 9.2e18, "of the inputs"}},
          normal_inputs,
          make_normal};
}

}  // namespace shardscope
