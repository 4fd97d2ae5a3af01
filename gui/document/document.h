#pragma once

#include <QObject>
#include <QString>
#include <QTimer>
#include <QUndoStack>
#include <chrono>
#include <memory>

#include "engine/config/run_config.h"
#include "gui/document/stored_file.h"

namespace shardscope {

// The run file that is being edited: its values, where it is stored, and everything that was done to it. Values change
// by edit() and by undo and redo alone, so config() after undo is the very config before the edit.
class Document : public QObject {
  Q_OBJECT
 public:
  // `pause`: how long after an edit another one is not taken for a step of the same.
  explicit Document(std::chrono::milliseconds pause = std::chrono::seconds(4));
  ~Document() override { blockSignals(true); }  // its undo stack has a last word, and listeners may be gone

  const RunConfig& config() const { return *config_; }
  std::shared_ptr<const RunConfig> shared_config() const { return config_; }
  const QString& path() const { return path_; }  // empty: never saved
  QString title() const;                         // file name, or what a draft is called
  bool is_modified() const { return !undo_.isClean(); }
  QUndoStack& undo_stack() { return undo_; }

  // Replaces the config by `after` as one undoable edit that is called `text` in the menus. Successive edits with the
  // same non-empty `merge_key` are one edit (the steps of a spin box) while it is open: until a pause, close_edit(),
  // undo or redo. Without a difference nothing happens.
  void edit(RunConfig after, const QString& text, const QString& merge_key = {});

  void tell(const QString& what) { emit reported(what); }

  void close_edit();
  bool is_edit_open() const { return pause_.isActive(); }

  // A fresh start: no history, unmodified. Without a path it is a draft that goes by `draft_name`.
  void reset(RunConfig config, const QString& path, const QString& draft_name = {});

  // Read and write the run file, in which paths may be relative to it; config() has absolute ones. Throw Failure with
  // the place of each error; the document stays as it was.
  void load(const QString& path);
  void save(const QString& path);
  // Reads the file again: one undoable edit, after which nothing is unsaved. What was unsaved comes back by undo.
  void reload();

  // What was read of the file, or written to it, last.
  const KnownFile& known_file() const { return known_; }
  // How that stands to what is there now. Of a draft: the same.
  StoredFile stored_file() const;

 signals:
  void replaced();  // by another file: what is known of the old one is nothing of this; configChanged() follows
  void configChanged();
  void titleChanged();                 // path or modified state
  void reported(const QString& what);  // that an edit did more than it was asked for

 private:
  friend class ConfigEdit;
  void set_config(std::shared_ptr<const RunConfig> config);

  std::shared_ptr<const RunConfig> config_ = std::make_shared<const RunConfig>();
  QString path_;
  QString draft_name_ = tr("untitled");
  KnownFile known_;
  QUndoStack undo_;
  QTimer pause_;
  int open_edit_ = 0;  // which edit takes further steps
};

}  // namespace shardscope
