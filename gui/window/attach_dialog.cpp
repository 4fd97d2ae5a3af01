#include "gui/window/attach_dialog.h"

#include <QDialogButtonBox>
#include <QDir>
#include <QFileDialog>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QPushButton>
#include <QVBoxLayout>

#include "gui/document/text.h"
#include "gui/look/appearance.h"
#include "gui/look/filled_layout.h"
#include "gui/run/socket_errors.h"

namespace shardscope {
namespace {

constexpr int narrowest_attach = 360;

}  // namespace

AttachDialog::AttachDialog(const QString& path, QWidget* parent)
    : QDialog(parent), path_(new QLineEdit(path, this)), fault_(new QLabel(this)) {
  setObjectName("attachDialog");
  setWindowTitle(tr("Attach to a socket"));
  path_->setObjectName("socketPath");
  path_->setAccessibleName(tr("Path of the socket"));
  path_->setPlaceholderText("/tmp/run.socket");
  auto* browse = new QPushButton(tr("&Browse\u2026"), this);
  connect(browse, &QPushButton::clicked, this, &AttachDialog::browse);
  auto* words =
      new QLabel(tr("The socket of a run that was started by <code>shardrun train FILE --socket PATH</code>. One of "
                    "another machine is here, too, after <code>ssh -L /tmp/run.socket:PATH HOST</code>."),
                 this);
  words->setWordWrap(true);
  fault_->setObjectName("socketFault");
  fault_->setWordWrap(true);
  fault_->hide();
  auto* buttons = new QDialogButtonBox(QDialogButtonBox::Cancel, this);
  buttons->addButton(tr("&Attach"), QDialogButtonBox::AcceptRole)->setDefault(true);
  connect(buttons, &QDialogButtonBox::accepted, this, &AttachDialog::accept);
  connect(buttons, &QDialogButtonBox::rejected, this, &AttachDialog::reject);
  connect(path_, &QLineEdit::textEdited, fault_, &QLabel::hide);
  auto* line = new QHBoxLayout;
  line->addWidget(path_, 1);
  line->addWidget(browse);
  filled(new QVBoxLayout(this), {words, line, fault_, spacer, buttons});
  setMinimumWidth(narrowest_attach);
  resize(520, 0);
  take_room();
}

// Wrapped texts are higher in a narrow dialog, and a fault comes and goes.
void AttachDialog::take_room() {
  setMinimumHeight(0);
  setMinimumHeight(layout()->totalHeightForWidth(narrowest_attach));
  resize(width(), layout()->totalHeightForWidth(width()));
}

void AttachDialog::accept() {
  const std::vector<Error> errors = socket_errors(path());
  if (errors.empty()) return QDialog::accept();
  fault_->setText(in_color(theme().error, qt(to_string(errors.front())).toHtmlEscaped()));
  fault_->show();
  take_room();
  path_->setFocus(Qt::OtherFocusReason);
  path_->selectAll();
}

void AttachDialog::browse() {
  QFileDialog dialog(this, tr("Socket of a run"), QFileInfo(path()).path());
  dialog.setFileMode(QFileDialog::ExistingFile);
  dialog.setFilter(QDir::AllEntries | QDir::System | QDir::NoDotAndDotDot);
  if (dialog.exec() != QDialog::Accepted) return;
  path_->setText(dialog.selectedFiles().value(0));
  fault_->hide();
}

}  // namespace shardscope
