#include "engine/data/kinds.h"
#include "engine/data/token_data.h"
#include "engine/data/token_rows.h"

namespace shardscope {

namespace {

constexpr int text_width = 1;  // byte

}  // namespace

DataKind text_data() {
  DataKind kind{"text", "each byte of a file, or of all files of a folder, is a token", token_data_options(),
                token_inputs, [](const OptionList& options, const DataRequest& request) {
                  return make_token_data(options, request, text_width, false);
                }};
  kind.check = check_token_options;
  kind.make_validation = [](const OptionList& options, const DataRequest& request) {
    return make_token_data(options, request, text_width, true);
  };
  kind.check_files = [](const OptionList& options, const DataRequest& request) {
    return check_token_files(options, request, text_width);
  };
  kind.identify_files = [](const OptionList& options) { return identify_token_files(options, text_width); };
  return kind;
}

}  // namespace shardscope
