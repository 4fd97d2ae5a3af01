#pragma once

#include <QLabel>
#include <QStatusBar>
#include <QTimer>
#include <vector>

#include "gui/workspace/workspace.h"

namespace shardscope {

// The status line: the plan's verdict in six fields, and for some seconds after an edit what the edit changed in
// each.
class Verdict : public QObject {
  Q_OBJECT
 public:
  Verdict(Workspace& workspace, QStatusBar* bar);

  // The whole line as text: "plan ok | 212 MiB on the heaviest device | ...".
  QString text() const;

 private:
  void refresh(bool with_difference);
  void show_number(int field, double now, double before, bool with_difference, std::string (*format)(double),
                   const QString& sentence, const QString& exact);

  Workspace& workspace_;
  std::vector<QLabel*> fields_;
  QTimer fade_;
};

}  // namespace shardscope
