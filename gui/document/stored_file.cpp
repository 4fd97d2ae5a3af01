#include "gui/document/stored_file.h"

#include <QFileInfo>
#include <optional>

#include "engine/base/error.h"
#include "engine/base/input_file.h"
#include "engine/compile/file_paths.h"
#include "engine/config/parse.h"
#include "gui/document/text.h"

namespace shardscope {
namespace {

constexpr int64_t most_bytes = 64 << 20;  // of a run file

}  // namespace

StoredFile look_at(const QString& path, const KnownFile& known) {
  StoredFile found{FileState::unreadable, {}};
  try {
    const std::optional<InputFile> file = InputFile::find(path.toStdString());
    if (!file) return {FileState::missing, {}};
    found.text = file->text(most_bytes);
  } catch (const Failure& failure) {
    const Error& error = failure.errors().front();
    found.fault = qt(error.message);
    return found;
  }
  if (known.config && found.text == known.text) {
    found.config = *known.config;
    found.state = FileState::same;
    return found;
  }
  try {
    found.config = with_absolute_paths(parse_run_config(found.text, path.toStdString()),
                                       QFileInfo(path).absolutePath().toStdString());
    found.state = known.config && found.config == *known.config ? FileState::same : FileState::changed;
  } catch (const Failure& failure) {
    found.fault = qt(to_string(failure.errors().front()));
  }
  return found;
}

}  // namespace shardscope
