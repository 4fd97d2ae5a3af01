#pragma once

#include <QObject>
#include <functional>
#include <vector>

#include "gui/document/document.h"
#include "gui/window/file_watch.h"

namespace shardscope {

// Opens, stores and replaces the document, with the dialogs that this takes.
class Files : public QObject {
  Q_OBJECT
 public:
  // `window`: what the dialogs belong to. `end_edit`: takes what is typed in a field and not ended yet.
  Files(Document& document, QWidget& window, std::function<void()> end_edit);

  // Reads a run file into the document; false when it cannot be read. Asks nothing about unsaved changes.
  bool open_file(const QString& path);
  void open_preset(const QString& name);
  // A run file, not stored yet, for the model that a folder (or its config.json) describes.
  void open_model(const QString& path);

  // Ask first where changes would be lost.
  void choose_new();
  void choose_file();
  void choose_model();
  // A run file; of a folder with config.json, or of that file, a new one for the model.
  void replace_by_file(const QString& path);
  void replace_by_preset(const QString& name);
  // True where nothing is unsaved, or the person has saved it or lets it go.
  bool may_discard();

  // False where nothing was written. What somebody else has written meanwhile is lost only where the person says so.
  bool save();
  bool save_as();
  // Takes what is on the disk, as one undoable edit; false where it is no run file, or there is none.
  bool reload();
  // Where somebody else has changed the file: asks what is to become of it, and does it.
  void show_conflict();

  FileWatch& watch() { return watch_; }

 signals:
  void unreadable(const QString& name, const std::vector<Error>& errors);
  void saved(const QString& path);
  void reloaded(const QString& path, bool had_edits);  // that were not saved: undo brings them back
  void draftSaved(const QString& title);               // that went by this name until now

 private:
  bool settle();
  bool write(const QString& path);

  Document& document_;
  QWidget& window_;
  std::function<void()> end_edit_;
  FileWatch watch_;
};

}  // namespace shardscope
