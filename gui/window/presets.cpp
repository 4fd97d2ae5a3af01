#include "gui/window/presets.h"

#include <QDir>
#include <QFile>

#include "engine/config/parse.h"
#include "gui/look/embedded.h"

namespace shardscope {

std::vector<QString> preset_names() {
  load_embedded_files();
  std::vector<QString> names;
  for (const QFileInfo& file : QDir(":/presets").entryInfoList({"*.json"}, QDir::Files, QDir::Name))
    names.push_back(file.completeBaseName());
  return names;
}

RunConfig load_preset(const QString& name) {
  load_embedded_files();
  QFile file(":/presets/" + name + ".json");
  if (!file.open(QIODevice::ReadOnly)) {
    std::vector<std::string> known;
    for (const QString& preset : preset_names()) known.push_back(preset.toStdString());
    throw Failure(Error{"missing_file", "there is no preset '" + name.toStdString() + "'", "",
                        name_hint(name.toStdString(), known)});
  }
  return parse_run_config(file.readAll().toStdString(), name.toStdString() + ".json");
}

}  // namespace shardscope
