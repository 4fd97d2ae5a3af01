#pragma once

#include <QAction>
#include <QList>
#include <QMainWindow>
#include <QPointer>

namespace shardscope {

// Something that a person can do, wherever it is offered.
struct Command {
  QString where;  // the menus or the panel that lead to it: "File > Open preset"
  QString text;   // without mnemonic
  QString keys;   // as this system writes them; empty: none
  QString tip;
  QPointer<QAction> action;
};

// What the menus of a window offer, in their order, then what its panels do. Menus that are filled when they open are
// filled.
QList<Command> commands_of(QMainWindow& window);

}  // namespace shardscope
