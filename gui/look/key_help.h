#pragma once

#include <QList>
#include <QString>
#include <QWidget>

namespace shardscope {

// Keys that a widget takes itself, besides the shortcuts of actions: for the list of shortcuts.
struct KeyHelp {
  QString keys;     // "Arrows"
  QString meaning;  // "walk the mesh"
};

void set_key_help(QWidget* widget, const QString& title, const QList<KeyHelp>& keys);

bool has_key_help(const QWidget& widget);

struct KeyHelpGroup {
  QString title;
  QList<KeyHelp> keys;
};
// Of a widget and all in it, each title once.
QList<KeyHelpGroup> key_help_of(const QWidget& widget);

}  // namespace shardscope
