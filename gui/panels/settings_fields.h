#pragma once

#include <QWidget>
#include <functional>
#include <vector>

#include "gui/document/document.h"
#include "gui/panels/shown_options.h"

namespace shardscope {

// A field of the form of the run file. What a person enters in it is one undoable edit.
struct SettingsField {
  QString label, place, tip;
  QWidget* widget = nullptr;
  // Shows what the file says there, and by what it says elsewhere whether the field counts. Edits nothing.
  std::function<void(const RunConfig&)> show;
};

// All are made for the mesh axes and options that the document has now.
std::vector<SettingsField> run_fields(Document& document, QWidget* parent);
std::vector<SettingsField> pipeline_fields(Document& document, QWidget* parent);
// `finished`: is called when a text has been entered, which may have been none that the option takes.
std::vector<SettingsField> option_fields(Document& document, OptionGroup group, QWidget* parent,
                                         const std::function<void()>& finished);

}  // namespace shardscope
