#include "gui/run/run_store.h"

#include <QCryptographicHash>
#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QJsonDocument>
#include <QJsonObject>
#include <QLocalSocket>
#include <QStandardPaths>

#include "engine/session/recorded_run.h"
#include "gui/document/text.h"
#include "gui/run/run_directory.h"

namespace shardscope {
namespace {

const QString id_format = "yyyyMMdd-HHmmss-zzz";

QString mesh_text(const Mesh& mesh) {
  QStringList axes;
  for (const MeshAxis& axis : mesh.axes()) axes << QString("%1 %2").arg(qt(axis.name)).arg(axis.size);
  return axes.isEmpty() ? QObject::tr("1 device") : axes.join(" x ");
}

}  // namespace

QString StoredRun::label() const {
  const bool is_today = started.date() == QDate::currentDate();
  return QString("%1, %2").arg(started.toString(is_today ? "HH:mm:ss" : "yyyy-MM-dd HH:mm"), mesh);
}

bool StoredRun::is_running() const {
  QLocalSocket client;
  if (!socket.isEmpty()) client.connectToServer(socket);
  return client.state() != QLocalSocket::UnconnectedState;  // connecting: others stand in line there
}

bool StoredRun::is_left() const { return !directory.isEmpty() && QFileInfo::exists(file(run_files::left)); }

bool remove_left(const StoredRun& run) { return run.directory.isEmpty() || remove_run_directory(run.directory); }

RunStore RunStore::of(const QString& path, const QString& title) {
  const QFileInfo file(path);
  const QString name = path.isEmpty() ? "draft:" + title : file.canonicalFilePath();
  const QString base = QStandardPaths::writableLocation(QStandardPaths::AppDataLocation);
  if (base.isEmpty() || name.isEmpty()) return {};
  const QByteArray key = QCryptographicHash::hash(name.toUtf8(), QCryptographicHash::Sha1).toHex().left(16);
  return RunStore(base + "/runs/" + key);
}

std::vector<StoredRun> RunStore::runs() const {
  std::vector<StoredRun> runs;
  if (folder_.isEmpty()) return runs;
  for (const QString& name : QDir(folder_).entryList({"*.json"}, QDir::Files, QDir::Name | QDir::Reversed)) {
    QFile file(folder_ + '/' + name);
    if (!file.open(QIODevice::ReadOnly)) continue;
    const QJsonObject own = QJsonDocument::fromJson(file.readAll()).object();
    StoredRun run;
    run.id = name.chopped(5);
    run.record = own["record"].toString(folder_ + '/' + run.id);
    run.started = QDateTime::fromString(run.id, id_format);
    run.mesh = own["mesh"].toString();
    run.steps = own["steps"].toInteger();
    run.work = {own["items"].toDouble(), own["tokens"].toBool(), own["flops"].toDouble(), own["peak"].toDouble()};
    run.socket = own["socket"].toString();
    run.directory = own["directory"].toString();
    if (run.started.isValid()) runs.push_back(std::move(run));
  }
  return runs;
}

StoredRun RunStore::add(const Plan& plan, const QString& socket, const QString& directory) const {
  StoredRun run;
  run.started = QDateTime::currentDateTime();
  while (QFile::exists(description(run.started.toString(id_format)))) run.started = run.started.addMSecs(1);
  run.id = run.started.toString(id_format);
  run.mesh = mesh_text(plan.mesh);
  run.steps = plan.training.steps;
  run.work = step_work(plan);
  run.socket = socket;
  run.directory = directory;
  if (folder_.isEmpty() || !QDir().mkpath(folder_)) return run;
  const std::vector<StoredRun> before = runs();
  for (size_t i = most_runs - 1; i < before.size(); ++i)
    if (!before[i].is_running()) remove(before[i]);
  run.record = folder_ + '/' + run.id;
  if (!write(run)) run.record.clear();
  return run;
}

void RunStore::take_over(const RunStore& draft, const QString& at_hand) const {
  if (folder_.isEmpty() || folder_ == draft.folder_ || !QDir().mkpath(folder_)) return;
  for (const StoredRun& run : draft.runs()) {
    if (run.id != at_hand && !run.is_left() && run.is_running()) continue;
    if (write(run)) QFile::remove(draft.description(run.id));
  }
}

bool RunStore::write(const StoredRun& run) const {
  const QJsonObject own{
      {"mesh", run.mesh},        {"steps", run.steps},    {"items", run.work.items}, {"tokens", run.work.are_tokens},
      {"flops", run.work.flops}, {"peak", run.work.peak}, {"socket", run.socket},    {"directory", run.directory},
      {"record", run.record}};
  QFile file(description(run.id));
  return file.open(QIODevice::WriteOnly | QIODevice::NewOnly) && file.write(QJsonDocument(own).toJson()) > 0;
}

void RunStore::remove(const StoredRun& run) const {
  if (folder_.isEmpty() || run.id.isEmpty()) return;
  QFile::remove(description(run.id));
  if (!run.record.isEmpty()) remove_record(run.record.toStdString());
  remove_left(run);
}

}  // namespace shardscope
