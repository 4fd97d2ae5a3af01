#pragma once

#include <QObject>
#include <QProgressDialog>
#include <atomic>
#include <memory>
#include <optional>

#include "gui/background/background.h"
#include "gui/export/export_dialog.h"
#include "gui/window/page_recorder.h"

namespace shardscope {

// What the window hands out, and takes in: File > Export, pictures and layouts to the clipboard, File > Import specs.
// Everything that may take long is done by another thread, with a bar to cancel it by after 200 ms.
class Exports : public QObject {
  Q_OBJECT
 public:
  // `centre`: whose page is seen. `window`: what the dialogs belong to.
  Exports(Workspace& workspace, Centre& centre, QWidget& window);

  void choose();
  void start(ExportWish wish);
  bool is_busy() const { return recorder_ || job_.is_busy(); }

  void copy_picture();  // of the page that is seen, drawn as an exported picture is
  void copy_layout();   // of the selected array, as JAX prints it

  void choose_specs();
  // One undoable edit; faults are shown, and nothing is changed then.
  void import_specs(const QString& path);

 signals:
  void reported(const QString& what);

 private:
  struct Outcome {
    std::optional<Exported> exported;
    std::optional<RunConfig> config;  // of an import
    std::vector<Error> errors;
    bool cancelled = false;
  };

  // Draws a page for a picture; with a bar to cancel it by.
  void record(const QString& page, QSize size, TraceChoice trace, std::function<void(const QPicture&, QSize)> take);
  void write(const ExportWish& wish, std::function<Exported(ExportTarget::Options)> how);
  void work(const QString& label, std::function<Outcome(const std::stop_token&)> how);
  std::optional<TraceChoice> shown_trace(const QString& page) const;  // the measured step that a page shows
  void show_bar(const QString& label);                                // with what was begun cancelled by it
  void hide_bar();
  void cancel();
  void take(Outcome outcome);
  void take_page_kinds();
  std::vector<std::string> inputs() const;  // files that nothing is written over
  ExportSource source() const;
  void fail(const QString& title, const std::vector<Error>& errors);

  Workspace& workspace_;
  Centre& centre_;
  QWidget& window_;
  ExportWish last_;
  std::vector<ExportKind> page_kinds_;  // of what the page that was seen has found, beside export_kinds()
  std::unique_ptr<PageRecorder> recorder_;
  std::unique_ptr<QProgressDialog> bar_;
  QTimer bar_timer_;
  std::shared_ptr<std::atomic<double>> share_ = std::make_shared<std::atomic<double>>(0);
  std::shared_ptr<const RunConfig> imported_into_;
  QString imported_;  // the file
  Background<Outcome> job_;
};

}  // namespace shardscope
