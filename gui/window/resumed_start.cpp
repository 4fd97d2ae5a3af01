#include "gui/window/resumed_start.h"

#include <QMessageBox>
#include <QPushButton>

#include "gui/run/changed_data.h"

namespace shardscope {

ResumedStart::ResumedStart(RunControl& run, QWidget& window)
    : run_(run), window_(window), comparing_([this](const Compared& compared) { take(compared); }) {}

void ResumedStart::start(std::shared_ptr<const Plan> plan, const QString& checkpoint) {
  if (!plan->trains()) return run_.start(std::move(plan), checkpoint);
  const bool reads_files = plan->training.data.reads_files();
  const auto compare = [plan = std::move(plan), checkpoint](const std::stop_token&) {
    return Compared{plan, checkpoint, changed_data_text(plan->training.data, checkpoint)};
  };
  if (reads_files) comparing_.make(compare);
  else take(compare({}));
}

void ResumedStart::take(const Compared& compared) {
  const bool has_changed = !compared.changes.isEmpty();
  if (has_changed && !may_train_on(compared.changes)) return;
  run_.start(compared.plan, compared.checkpoint, has_changed);
}

bool ResumedStart::may_train_on(const QString& changes) {
  QMessageBox box(QMessageBox::Warning, QObject::tr("Changed data"),
                  QObject::tr("The data changed since this checkpoint was written."), QMessageBox::NoButton, &window_);
  box.setObjectName("changedData");
  box.setTextFormat(Qt::PlainText);
  box.setInformativeText(changes);
  const QPushButton* train_on = box.addButton(QObject::tr("&Train on"), QMessageBox::AcceptRole);
  box.setDefaultButton(box.addButton(QMessageBox::Cancel));
  box.exec();
  return box.clickedButton() == train_on;
}

}  // namespace shardscope
