#include "engine/data/token_rows.h"

#include <algorithm>
#include <limits>

#include "engine/base/error.h"
#include "engine/base/random.h"

namespace shardscope {

namespace {

class TokenRows : public DataSource {
 public:
  TokenRows(int64_t seed, const DataInput& tokens, LastLabel last)
      : key_(key_from_seed(seed)),
        sequence_(tokens.type.shape[1]),
        limit_(static_cast<int32_t>(tokens.limit)),
        last_(last) {}

  void fill(const std::string& name, const Box& box, int64_t, std::span<std::byte> bytes) const override {
    require_token_input(name);
    auto* out = reinterpret_cast<int32_t*>(bytes.data());
    const int64_t columns = box.size[1];
    const int64_t first = box.start[1] + (name == "labels" ? 1 : 0);
    const int64_t drawn = std::clamp<int64_t>(sequence_ - first, 0, columns);
    for (int64_t row = box.start[0]; row < box.start[0] + box.size[0]; ++row, out += columns) {
      draw(row, first, {out, static_cast<size_t>(drawn)});
      if (drawn == columns) continue;
      out[drawn] = 0;
      if (last_ == LastLabel::first_token) draw(row, 0, {out + drawn, 1});
    }
  }

  bool same_every_step() const override { return true; }

 private:
  void draw(int64_t row, int64_t column, std::span<int32_t> out) const {
    fill_randint(key_, static_cast<uint64_t>(row * sequence_ + column), 0, limit_, out);
  }

  Key key_;
  int64_t sequence_;
  int32_t limit_;
  LastLabel last_;
};

}  // namespace

OptionDefinition sequence_length_option() {
  return {"sequence_length", int64_t{0}, false, 0, 1e7, "tokens in a row; 0: as many as the model says"};
}

int64_t sequence_length(const OptionList& options) {
  const OptionValue* value = find_option(options, "sequence_length");
  return value ? std::get<int64_t>(*value) : 0;
}

void require_token_input(const std::string& name) {
  if (name == "tokens" || name == "labels") return;
  throw Failure({"data_kind", "there is no input '" + name + "'", "data.kind", "there are tokens and labels"});
}

std::vector<DataInput> token_inputs(const DataRequest& request) {
  const DataInput* tokens = request.find("tokens");
  if (!tokens || tokens->type.dtype != DType::i32 || tokens->type.shape.size() != 2) return {};
  if (tokens->limit < 1 || tokens->limit > std::numeric_limits<int32_t>::max()) return {};
  DataInput labels = *tokens;
  labels.name = "labels";
  return {*tokens, labels};
}

std::unique_ptr<DataSource> make_token_rows(int64_t seed, const DataInput& tokens, LastLabel last) {
  return std::make_unique<TokenRows>(seed, tokens, last);
}

}  // namespace shardscope
