#include "gui/look/key_help.h"

#include <QSet>
#include <QVariant>

namespace shardscope {
namespace {

constexpr const char* title_property = "keyHelpTitle";
constexpr const char* keys_property = "keyHelp";

}  // namespace

void tell_keys(QWidget* widget, const QString& title, const QList<KeyHelp>& keys) {
  QStringList texts;
  for (const KeyHelp& key : keys) texts << key.keys << key.meaning;
  widget->setProperty(title_property, title);
  widget->setProperty(keys_property, texts);
}

QList<ToldKeys> told_keys(const QWidget& widget) {
  QList<const QWidget*> all{&widget};
  for (const QWidget* child : widget.findChildren<QWidget*>()) all << child;
  QList<ToldKeys> told;
  QSet<QString> titles;
  for (const QWidget* one : all) {
    const QString title = one->property(title_property).toString();
    if (title.isEmpty() || titles.contains(title)) continue;
    titles << title;
    const QStringList texts = one->property(keys_property).toStringList();
    ToldKeys keys{title, {}};
    for (qsizetype i = 0; i + 1 < texts.size(); i += 2) keys.keys << KeyHelp{texts[i], texts[i + 1]};
    told << keys;
  }
  return told;
}

}  // namespace shardscope
