#include "engine/config/parse.h"

#include "engine/config/read_file.h"
#include "engine/config/run_document.h"

namespace shardscope {

namespace fs = std::filesystem;

RunConfig parse_run_config(std::string_view text, const std::string& file_name) {
  const JsonNode document = read_json(text, file_name);
  std::vector<Error> errors;
  RunConfig config = read_run_document(document, file_name, errors);
  if (!errors.empty()) throw Failure(std::move(errors));
  return config;
}

RunConfig load_run_config(const fs::path& path) { return parse_run_config(read_file(path), path.string()); }

ReadRunFile read_run_file(const fs::path& path) {
  ReadRunFile result;
  result.text = read_file(path);
  result.config = read_run_document(read_json(result.text, path.string()), path.string(), result.errors);
  return result;
}

std::vector<Error> locate_errors(std::vector<Error> errors, std::string_view text, const std::string& file_name) {
  const JsonNode document = read_json(text, file_name);
  for (Error& error : errors) {
    const std::string path = error.place.path;
    if (!path.empty() && error.place == Place(path)) error.place = in_file(file_name, line_of(document, path), 0, path);
  }
  return errors;
}

}  // namespace shardscope
