#include "gui/look/main_widget.h"

#include <QAbstractItemView>
#include <algorithm>
#include <functional>

#include "gui/look/key_help.h"

namespace shardscope {

QWidget* main_widget(const QWidget& page) {
  QList<QWidget*> parts = page.findChildren<QWidget*>();
  parts.removeIf([&](const QWidget* part) {
    return !part->isVisibleTo(&page) || !part->isEnabled() || !(part->focusPolicy() & Qt::TabFocus);
  });
  const std::function<bool(const QWidget*)> kinds[] = {
      [](const QWidget* part) { return has_key_help(*part); },
      [](const QWidget* part) { return qobject_cast<const QAbstractItemView*>(part) != nullptr; },
      [](const QWidget*) { return true; }};
  for (const auto& is_wanted : kinds) {
    const auto found = std::ranges::find_if(parts, is_wanted);
    if (found != parts.end()) return *found;
  }
  return nullptr;
}

void give_keyboard(const QWidget& page) {
  if (QWidget* widget = main_widget(page)) widget->setFocus(Qt::ShortcutFocusReason);
}

}  // namespace shardscope
