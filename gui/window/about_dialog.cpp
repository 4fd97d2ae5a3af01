#include "gui/window/about_dialog.h"

#include <fmt/core.h>
#include <openssl/crypto.h>

#include <QApplication>
#include <QClipboard>
#include <QDialog>
#include <QDialogButtonBox>
#include <QLabel>
#include <QPushButton>
#include <QSysInfo>
#include <QVBoxLayout>

#include "engine/base/instruction_set.h"
#include "gui/document/text.h"

namespace shardscope {

QList<std::pair<QString, QString>> versions() {
  const auto dotted = [](int major, int minor, int patch) {
    return QString("%1.%2.%3").arg(major).arg(minor).arg(patch);
  };
  return {{"Shardscope", QCoreApplication::applicationVersion()},
          {"Qt", qVersion()},
          {"fmt", dotted(FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100)},
          {"OpenSSL", QString(OpenSSL_version(OPENSSL_VERSION)).section(' ', 1, 1)},
          {QObject::tr("Compiler"), QString("GCC %1").arg(__VERSION__)},
          {QObject::tr("System"), QSysInfo::prettyProductName()},
          {QObject::tr("Processor"), qt(name(machine_instruction_set()))}};
}

void show_about(QWidget* parent, const QString& shardrun) {
  QDialog dialog(parent);
  dialog.setObjectName("about");
  dialog.setWindowTitle(QObject::tr("About Shardscope"));
  QString rows;
  QStringList lines;
  QList<std::pair<QString, QString>> parts = versions();
  parts << std::pair(QObject::tr("Trains with"), shardrun);
  for (const auto& [part, version] : parts) {
    rows += QString("<tr><td>%1&nbsp;&nbsp;</td><td>%2</td></tr>").arg(part, version.toHtmlEscaped());
    lines << part + " " + version;
  }
  auto* text =
      new QLabel(QObject::tr("<b>Shardscope</b><p>Design how a neural network is split over a device mesh, see "
                             "what that means, and train that very plan on MPI ranks.</p><table>%1</table>")
                     .arg(rows),
                 &dialog);
  text->setWordWrap(true);
  text->setTextInteractionFlags(Qt::TextSelectableByMouse);
  auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close, &dialog);
  QPushButton* copy = buttons->addButton(QObject::tr("&Copy versions"), QDialogButtonBox::ActionRole);
  QObject::connect(copy, &QPushButton::clicked, [lines] { QApplication::clipboard()->setText(lines.join('\n')); });
  QObject::connect(buttons, &QDialogButtonBox::rejected, &dialog, &QDialog::reject);
  auto* layout = new QVBoxLayout(&dialog);
  layout->addWidget(text, 1);
  layout->addWidget(buttons);
  dialog.resize(440, 300);
  dialog.exec();
}

}  // namespace shardscope
