#pragma once

#include <QApplication>
#include <QIcon>
#include <QObject>
#include <QString>

#include "viz/paint/palette.h"

namespace shardscope {

enum class ThemeChoice : uint8_t { system, light, dark };

// Gives the whole application one look, light or dark: palette, style sheet, icons. `system` takes the lightness of
// the desktop's own palette.
void apply_theme(QApplication& application, ThemeChoice choice);
const Theme& theme();

// Says when the theme has changed, so that what was made in its colours is made anew.
class Look : public QObject {
  Q_OBJECT
 signals:
  void changed();
};
Look& look();

ThemeChoice theme_choice();  // as it was applied last

// The person's choice, in their settings; `system` where there is none.
void remember_theme(ThemeChoice choice);
ThemeChoice remembered_theme();

// The icon resources/icons/NAME.svg in the theme's text colour.
QIcon themed_icon(const QString& name);
// The sign of a finding, in the colour of warnings.
QIcon warning_icon();

// Fonts and small things that many views need.
QFont monospace_font();
QFont small_font();

// Rich text in a colour.
QString in_color(const QColor& color, const QString& text);

// A small square, for a list that says what a colour stands for.
QPixmap color_mark(const QColor& color);

// Gives an input field the look of a wrong value, or takes it away; also property "invalid".
void mark_invalid(QWidget* field, bool invalid);
// The frame and tool tip of a field: as above, else, where lint has found something about its value, in the colour of
// warnings (property "noted"); what it has found comes before the tip.
void show_state(QWidget* field, bool invalid, const QString& found, const QString& tip);

}  // namespace shardscope
