#pragma once

#include <QFormLayout>
#include <QScrollArea>
#include <QWidget>
#include <map>

#include "gui/panels/settings_fields.h"
#include "gui/workspace/workspace.h"

namespace shardscope {

// The run file's plain values as a form: model, data, optimizer, steps, microbatches, ZeRO, pipeline, seed; also those
// that it does not name, at their defaults. Every change is one undoable edit; a field whose value cannot be planned
// says why, and one that lint finds something about is marked. Fields are named after their places
// ("model.num_layers").
class SettingsPanel : public QWidget {
  Q_OBJECT
 public:
  explicit SettingsPanel(Workspace& workspace, QWidget* parent = nullptr);

  // Gives the keyboard to the field of a place of the run file, else to the first below it; false where there is none.
  bool focus_place(const QString& place);
  // The labels of its fields, by place.
  std::map<QString, QString> labels() const;

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void wrap_rows();
  void show_config();
  void show_errors();
  void show_effective();
  QString field_at(const QString& place) const;  // around a place of the run file, or the first below it; empty: none
  void rebuild();
  void rebuild_if_other();
  void add_title(const QString& title, const QString& name = {});
  void add_fields(std::vector<SettingsField> fields);
  void show_values();
  QString layout_signature() const;

  Workspace& workspace_;
  QScrollArea* area_ = nullptr;
  QWidget* holder_ = nullptr;
  QWidget* body_ = nullptr;  // all fields
  QFormLayout* form_ = nullptr;
  QString signature_;
  std::map<QString, SettingsField> fields_;  // by place
};

}  // namespace shardscope
