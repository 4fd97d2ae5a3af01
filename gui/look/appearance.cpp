#include "gui/look/appearance.h"

#include <QAbstractItemView>
#include <QFile>
#include <QFontDatabase>
#include <QHash>
#include <QProxyStyle>
#include <QSettings>
#include <QStyle>
#include <QStyleFactory>
#include <QToolTip>

#include "gui/look/embedded.h"
#include "gui/look/svg_icon.h"

namespace shardscope {
namespace {

const Theme* current = &light_theme();
ThemeChoice chosen = ThemeChoice::system;
const QString theme_key = "theme";
const std::pair<ThemeChoice, QString> theme_names[] = {
    {ThemeChoice::system, "system"}, {ThemeChoice::light, "light"}, {ThemeChoice::dark, "dark"}};

QPalette palette_of(const Theme& theme) {
  QPalette palette;
  palette.setColor(QPalette::Window, theme.window);
  palette.setColor(QPalette::WindowText, theme.text);
  palette.setColor(QPalette::Base, theme.base);
  palette.setColor(QPalette::AlternateBase, theme.raised);
  palette.setColor(QPalette::Text, theme.text);
  palette.setColor(QPalette::Button, mix(theme.window, theme.dark ? theme.text : theme.base, theme.dark ? 0.06 : 0.5));
  palette.setColor(QPalette::ButtonText, theme.text);
  palette.setColor(QPalette::BrightText, theme.error);
  palette.setColor(QPalette::Highlight, theme.accent);
  palette.setColor(QPalette::HighlightedText, theme.on_accent);
  palette.setColor(QPalette::PlaceholderText, theme.muted);
  palette.setColor(QPalette::ToolTipBase, theme.raised);
  palette.setColor(QPalette::ToolTipText, theme.text);
  palette.setColor(QPalette::Link, theme.accent);
  palette.setColor(QPalette::Light, mix(theme.window, Qt::white, theme.dark ? 0.08 : 0.6));
  palette.setColor(QPalette::Mid, theme.line);
  palette.setColor(QPalette::Dark, mix(theme.line, theme.text, 0.25));
  for (const QPalette::ColorRole role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText})
    palette.setColor(QPalette::Disabled, role, mix(theme.muted, theme.window, 0.35));
  return palette;
}

QString style_sheet(const Theme& theme) {
  QFile file(":/styles/shardscope.qss");
  if (!file.open(QIODevice::ReadOnly)) return {};
  QString sheet = QString::fromUtf8(file.readAll());
  const std::pair<const char*, QColor> colors[] = {
      {"@window", theme.window},
      {"@base", theme.base},
      {"@raised", theme.raised},
      {"@line", theme.line},
      {"@text", theme.text},
      {"@muted", theme.muted},
      {"@accent", theme.accent},
      {"@onaccent", theme.on_accent},
      {"@error", theme.error},
      {"@warning", theme.warning},
      {"@soft", mix(theme.window, theme.accent, 0.16)},
      {"@hover", mix(theme.window, theme.text, 0.07)},
      {"@field", theme.dark ? mix(theme.base, theme.text, 0.06) : theme.base}};
  for (const auto& [name, color] : colors) sheet.replace(QString(name) + ";", color.name() + ";");
  sheet.replace("@look", theme.dark ? "dark" : "light");
  return sheet;
}

QIcon icon_in(const QString& name, const QColor& color) {
  QFile file(":/icons/" + name + ".svg");
  if (!file.open(QIODevice::ReadOnly)) return {};
  return QIcon(new SvgIcon(file.readAll(), color, mix(current->muted, current->window, 0.5)));
}

void mark(QWidget* field, const char* property, bool on) {
  if (field->property(property).toBool() == on) return;
  field->setProperty(property, on);
  field->style()->unpolish(field);
  field->style()->polish(field);
}

// Scripts that need shaping get it all the same; the letters of the rest are set side by side in half the time.
QFont quickly_laid_out(QFont font) {
  font.setStyleStrategy(QFont::PreferNoShaping);
  return font;
}

// Tab leaves every list and table for the next field; the arrows go from cell to cell.
class WindowStyle : public QProxyStyle {
 public:
  WindowStyle() : QProxyStyle(QStyleFactory::create("Fusion")) {}
  using QProxyStyle::polish;
  void polish(QWidget* widget) override {
    QProxyStyle::polish(widget);
    if (auto* view = qobject_cast<QAbstractItemView*>(widget)) view->setTabKeyNavigation(false);
  }
};

}  // namespace

void apply_theme(QApplication& application, ThemeChoice choice) {
  load_embedded_files();
  chosen = choice;
  static const bool system_dark = application.palette().color(QPalette::Window).lightnessF() < 0.5;
  const bool dark = choice == ThemeChoice::dark || (choice == ThemeChoice::system && system_dark);
  current = dark ? &dark_theme() : &light_theme();
  application.setFont(quickly_laid_out(application.font()));
  application.setStyle(new WindowStyle);
  application.setPalette(palette_of(*current));
  QToolTip::setPalette(palette_of(*current));
  application.setStyleSheet(style_sheet(*current));
  emit look().changed();
}

Look& look() {
  static Look one;
  return one;
}

const Theme& theme() { return *current; }

ThemeChoice theme_choice() { return chosen; }

void remember_theme(ThemeChoice choice) {
  for (const auto& [each, name] : theme_names)
    if (each == choice) QSettings().setValue(theme_key, name);
}

ThemeChoice remembered_theme() {
  const QString saved = QSettings().value(theme_key).toString();
  for (const auto& [choice, name] : theme_names)
    if (name == saved) return choice;
  return ThemeChoice::system;
}

QIcon themed_icon(const QString& name) { return icon_in(name, current->text); }

QIcon warning_icon() { return icon_in("warning", current->warning); }

QFont monospace_font() {
  QFont font = QFontDatabase::systemFont(QFontDatabase::FixedFont);
  font.setPointSizeF(QApplication::font().pointSizeF());
  return font;
}

QFont small_font() {
  QFont font = QApplication::font();
  font.setPointSizeF(font.pointSizeF() * 0.88);
  return font;
}

QString in_color(const QColor& color, const QString& text) {
  return QString("<span style='color:%1'>%2</span>").arg(color.name(), text);
}

QPixmap color_mark(const QColor& color) {
  static QHash<QRgb, QPixmap> marks;
  QPixmap& mark = marks[color.rgb()];
  if (mark.isNull()) {
    mark = QPixmap(10, 10);
    mark.fill(color);
  }
  return mark;
}

void mark_invalid(QWidget* field, bool invalid) { mark(field, "invalid", invalid); }

void show_state(QWidget* field, bool invalid, const QString& found, const QString& tip) {
  mark_invalid(field, invalid);
  mark(field, "noted", !invalid && !found.isEmpty());
  field->setToolTip(found.isEmpty() ? tip : found + "\n\n" + tip);
}

}  // namespace shardscope
