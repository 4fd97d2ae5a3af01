#include "engine/data/token_windows.h"

#include <fmt/format.h>

#include "engine/base/error.h"
#include "engine/base/random.h"
#include "engine/data/token_rows.h"

namespace shardscope {

namespace {

class TokenWindows : public DataSource {
 public:
  TokenWindows(std::unique_ptr<TokenStore> store, TokenRange range, const DataInput& tokens,
               std::optional<int64_t> seed)
      : store_(std::move(store)),
        range_(range),
        rows_(tokens.type.shape[0]),
        columns_(tokens.type.shape[1]),
        limit_(tokens.limit),
        seed_(seed) {}

  void fill(const std::string& name, const Box& box, int64_t step, std::span<std::byte> bytes) const override {
    require_token_input(name);
    store_->begin_step();
    auto* out = reinterpret_cast<int32_t*>(bytes.data());
    std::vector<int64_t> read(static_cast<size_t>(box.size[1]));
    for (int64_t row = box.start[0]; row < box.start[0] + box.size[0]; ++row) {
      const int64_t first = beginning(step, row) + box.start[1] + (name == "labels" ? 1 : 0);
      store_->read(first, read);
      for (size_t i = 0; i < read.size(); ++i) {
        if (read[i] >= limit_) refuse(first + static_cast<int64_t>(i), read[i]);
        *out++ = static_cast<int32_t>(read[i]);
      }
    }
  }

  bool same_every_step() const override { return false; }

 private:
  int64_t beginning(int64_t step, int64_t row) const {
    if (!seed_) {
      const int64_t windows = (range_.size() - 1) / columns_;
      return range_.begin + columns_ * ((step * rows_ + row) % windows);
    }
    const Key key = fold_in(key_from_seed(*seed_), static_cast<uint32_t>(step));
    const auto index = 2 * static_cast<uint64_t>(row);
    const uint64_t bits = uint64_t{random_bits(key, index)} << 32 | random_bits(key, index + 1);
    __extension__ using Wide = unsigned __int128;
    return range_.begin + static_cast<int64_t>(Wide{bits} * static_cast<uint64_t>(range_.size() - columns_) >> 64);
  }

  [[noreturn]] void refuse(int64_t position, int64_t token) const {
    throw Failure(
        {"token_range",
         fmt::format("{} is {}, beyond the model's vocabulary of {}", store_->place_of(position), token, limit_),
         "data.path", fmt::format("a vocabulary of at least {}, or other data", token + 1)});
  }

  std::unique_ptr<TokenStore> store_;
  TokenRange range_;
  int64_t rows_, columns_, limit_;
  std::optional<int64_t> seed_;
};

}  // namespace

std::unique_ptr<DataSource> make_token_windows(std::unique_ptr<TokenStore> store, TokenRange range,
                                               const DataInput& tokens, std::optional<int64_t> seed) {
  return std::make_unique<TokenWindows>(std::move(store), range, tokens, seed);
}

}  // namespace shardscope
