#pragma once

#include <QString>
#include <QStringList>

class QWidget;

namespace shardscope {

// Name and value of each part of the program that has a version, "Qt 6.4.2": of the program, its libraries, the
// compiler and the machine.
QList<std::pair<QString, QString>> versions();
// What the program is, and the versions, to be copied into a report.
void show_about(QWidget* parent, const QString& shardrun);

}  // namespace shardscope
