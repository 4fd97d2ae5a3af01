#include <algorithm>
#include <iterator>

#include "engine/base/error.h"
#include "engine/data/kinds.h"

namespace shardscope {

namespace {

class Ones : public DataSource {
 public:
  explicit Ones(const DataRequest& request) : request_(request) {}

  void fill(const std::string& name, const Box& box, int64_t, std::span<std::byte> bytes) const override {
    if (!request_.find(name)) throw Failure({"data_kind", "there is no input '" + name + "'", "data.kind", ""});
    std::fill_n(reinterpret_cast<float*>(bytes.data()), element_count(box.size), name == "targets" ? 0.0f : 1.0f);
  }
  bool same_every_step() const override { return true; }

 private:
  DataRequest request_;
};

std::vector<DataInput> ones_inputs(const DataRequest& request) {
  std::vector<DataInput> given;
  std::ranges::copy_if(request.inputs, std::back_inserter(given),
                       [](const DataInput& input) { return input.type.dtype == DType::f32; });
  return given;
}

}  // namespace

DataKind ones_data() {
  return {"ones",
          "inputs of 1 and targets of 0: the squared error is the mean of the output's squares",
          {{"batch_size", int64_t{32}, true, 1, 1e7, "rows in a step, over all devices"},
           {"seed", int64_t{0}, false, 0, 9.2e18, "taken, and without effect"}},
          ones_inputs,
          [](const OptionList&, const DataRequest& request) -> std::unique_ptr<DataSource> {
            return std::make_unique<Ones>(request);
          }};
}

}  // namespace shardscope
