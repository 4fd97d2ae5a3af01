#include "gui/look/key_help.h"

#include <QSet>
#include <QVariant>

namespace shardscope {
namespace {

constexpr const char* title_property = "keyHelpTitle";
constexpr const char* keys_property = "keyHelp";

}  // namespace

void set_key_help(QWidget* widget, const QString& title, const QList<KeyHelp>& keys) {
  QStringList texts;
  for (const KeyHelp& key : keys) texts << key.keys << key.meaning;
  widget->setProperty(title_property, title);
  widget->setProperty(keys_property, texts);
}

bool has_key_help(const QWidget& widget) { return widget.property(title_property).isValid(); }

QList<KeyHelpGroup> key_help_of(const QWidget& widget) {
  QList<const QWidget*> all{&widget};
  for (const QWidget* child : widget.findChildren<QWidget*>()) all << child;
  QList<KeyHelpGroup> groups;
  QSet<QString> titles;
  for (const QWidget* one : all) {
    const QString title = one->property(title_property).toString();
    if (title.isEmpty() || titles.contains(title)) continue;
    titles << title;
    const QStringList texts = one->property(keys_property).toStringList();
    KeyHelpGroup group{title, {}};
    for (qsizetype i = 0; i + 1 < texts.size(); i += 2) group.keys << KeyHelp{texts[i], texts[i + 1]};
    groups << group;
  }
  return groups;
}

}  // namespace shardscope
