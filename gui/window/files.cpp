#include "gui/window/files.h"

#include <QDir>
#include <QFileDialog>
#include <QFileInfo>
#include <QMessageBox>

#include "engine/compile/model_run.h"
#include "gui/window/conflict_dialog.h"
#include "gui/window/new_run_dialog.h"
#include "gui/window/presets.h"
#include "gui/window/recent_files.h"

namespace shardscope {
namespace {

constexpr int64_t devices_to_begin_with = 8;  // of a new run file's mesh
const QString file_filter = QObject::tr("Run files (*.json);;All files (*)");

}  // namespace

Files::Files(Document& document, QWidget& window, std::function<void()> end_edit)
    : document_(document), window_(window), end_edit_(std::move(end_edit)), watch_(document) {}

bool Files::open_file(const QString& path) {
  try {
    document_.load(path);
  } catch (const Failure& failure) {
    emit unreadable(path, failure.errors());
    return false;
  }
  remember_recent_file(path);
  return true;
}

void Files::open_preset(const QString& name) {
  try {
    document_.reset(load_preset(name), {}, QFileInfo(name).fileName() + ".json");
  } catch (const Failure& failure) {
    emit unreadable(name, failure.errors());
  }
}

void Files::open_model(const QString& path) {
  const QFileInfo file(path);
  const QString folder = file.isDir() ? file.absoluteFilePath() : file.absolutePath();
  try {
    document_.reset(run_of_model(folder.toStdString(), devices_to_begin_with), {}, QDir(folder).dirName() + ".json");
  } catch (const Failure& failure) {
    emit unreadable(path, failure.errors());
  }
}

void Files::choose_new() {
  if (!may_discard()) return;
  NewRunDialog dialog(&window_);
  if (dialog.exec() == QDialog::Accepted) document_.reset(dialog.config(), {}, dialog.model() + ".json");
}

void Files::choose_file() {
  if (!may_discard()) return;
  const QString path = QFileDialog::getOpenFileName(&window_, tr("Open run file"), document_.path(), file_filter);
  if (!path.isEmpty()) open_file(path);
}

void Files::choose_model() {
  if (!may_discard()) return;
  const QString folder =
      QFileDialog::getExistingDirectory(&window_, tr("Folder of a model"), QFileInfo(document_.path()).path());
  if (!folder.isEmpty()) open_model(folder);
}

void Files::replace_by_file(const QString& path) {
  if (!may_discard()) return;
  const QFileInfo file(path);
  if (file.isDir() || file.fileName() == "config.json") open_model(path);
  else open_file(path);
}

void Files::replace_by_preset(const QString& name) {
  if (may_discard()) open_preset(name);
}

bool Files::may_discard() {
  end_edit_();
  if (!document_.is_modified()) return true;
  const auto answer =
      QMessageBox::question(&window_, tr("Unsaved changes"), tr("%1 has unsaved changes.").arg(document_.title()),
                            QMessageBox::Save | QMessageBox::Discard | QMessageBox::Cancel, QMessageBox::Save);
  if (answer == QMessageBox::Save) return save();
  return answer == QMessageBox::Discard;
}

bool Files::save() {
  end_edit_();
  return document_.path().isEmpty() ? save_as() : settle();
}

// Between the question and its answer the file may change once more.
bool Files::settle() {
  while (true) {
    const StoredFile stored = document_.stored_file();
    if (stored.state == FileState::same) return write(document_.path());
    switch (ask_about_conflict(document_, stored, &window_)) {
      case ConflictChoice::save_as: return save_as();
      case ConflictChoice::cancel: return false;
      case ConflictChoice::reload: reload(); return false;
      case ConflictChoice::overwrite: break;
    }
    if (document_.stored_file() == stored) return write(document_.path());
  }
}

void Files::show_conflict() {
  if (document_.stored_file().state != FileState::same) settle();
}

bool Files::reload() {
  end_edit_();
  if (document_.path().isEmpty()) return false;
  const bool had_edits = document_.is_modified();
  try {
    document_.reload();
  } catch (const Failure& failure) {
    emit unreadable(document_.path(), failure.errors());
    return false;
  }
  emit reloaded(document_.path(), had_edits);
  return true;
}

bool Files::save_as() {
  end_edit_();
  QFileDialog dialog(&window_, tr("Save run file"), document_.path(), file_filter);
  dialog.setAcceptMode(QFileDialog::AcceptSave);
  dialog.setDefaultSuffix("json");
  dialog.selectFile(document_.title());
  return dialog.exec() == QDialog::Accepted && write(dialog.selectedFiles().value(0));
}

bool Files::write(const QString& path) {
  const bool was_draft = document_.path().isEmpty();
  const QString title = document_.title();
  try {
    document_.save(path);
  } catch (const Failure& failure) {
    QMessageBox::warning(&window_, tr("Not saved"), QString::fromUtf8(failure.what()));
    return false;
  }
  remember_recent_file(path);
  if (was_draft) emit draftSaved(title);
  emit saved(path);
  return true;
}

}  // namespace shardscope
