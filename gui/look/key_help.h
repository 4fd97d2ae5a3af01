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

void tell_keys(QWidget* widget, const QString& title, const QList<KeyHelp>& keys);

struct ToldKeys {
  QString title;
  QList<KeyHelp> keys;
};
// Of a widget and all in it, each title once.
QList<ToldKeys> told_keys(const QWidget& widget);

}  // namespace shardscope
