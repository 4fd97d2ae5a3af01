#include "gui/window/presets.h"

#include <QDir>
#include <QDirIterator>
#include <QFile>
#include <QSaveFile>
#include <QStandardPaths>

#include "engine/compile/file_paths.h"
#include "engine/config/parse.h"
#include "gui/look/embedded.h"

namespace shardscope {

namespace {

// What presets read, texts and descriptions of models, must lie where ranks can read it. Where it cannot be put there,
// planning says that it is missing.
QString unpack_files() {
  const QString folder = QStandardPaths::writableLocation(QStandardPaths::AppDataLocation) + "/presets",
                inside = ":/presets";
  QDirIterator files(inside, QDir::Files, QDirIterator::Subdirectories);
  while (files.hasNext()) {
    const QString path = files.next(), name = path.mid(inside.size());
    const bool is_run_file = name.endsWith(".json") && !name.startsWith("/models/");
    if (is_run_file) continue;
    QFile embedded(path), there(folder + name);
    if (!embedded.open(QIODevice::ReadOnly)) continue;
    const QByteArray content = embedded.readAll();
    if (there.open(QIODevice::ReadOnly) && there.readAll() == content) continue;
    QDir().mkpath(QFileInfo(there).path());
    QSaveFile file(there.fileName());
    if (file.open(QIODevice::WriteOnly) && file.write(content) == content.size()) file.commit();
  }
  return folder;
}

std::vector<QString> names_in(const QString& folder) {
  load_embedded_files();
  std::vector<QString> names;
  for (const QFileInfo& file : QDir(":/presets/" + folder).entryInfoList({"*.json"}, QDir::Files, QDir::Name))
    names.push_back(folder + file.completeBaseName());
  return names;
}

}  // namespace

std::vector<QString> preset_names() { return names_in({}); }
std::vector<QString> published_preset_names() { return names_in("published/"); }

RunConfig load_preset(const QString& name) {
  load_embedded_files();
  QFile file(":/presets/" + name + ".json");
  if (!file.open(QIODevice::ReadOnly)) {
    std::vector<std::string> known;
    for (const auto& names : {preset_names(), published_preset_names()})
      for (const QString& preset : names) known.push_back(preset.toStdString());
    throw Failure(Error{"missing_file", "there is no preset '" + name.toStdString() + "'", "",
                        name_hint(name.toStdString(), known)});
  }
  return with_absolute_paths(parse_run_config(file.readAll().toStdString(), name.toStdString() + ".json"),
                             QFileInfo(unpack_files() + '/' + name).path().toStdString());
}

}  // namespace shardscope
