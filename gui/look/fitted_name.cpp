#include "gui/look/fitted_name.h"

#include <QRegularExpression>
#include <QStringList>

namespace shardscope {
namespace {

const QChar dots(0x2026);

// "SelfAttentionBlock_12" with at most `letters` of its word: "Self\u2026_12".
QString cut_word(const QString& scope, int letters) {
  static const QRegularExpression numbered("^(.*[^0-9_])(_?[0-9]+)$");
  const QRegularExpressionMatch match = numbered.match(scope);
  const QString word = match.captured(1);
  return match.hasMatch() && word.size() > letters + 1 ? word.left(letters) + dots + match.captured(2) : scope;
}

}  // namespace

QString fitted_name(const QString& name, const QFontMetricsF& metrics, double width) {
  const auto fits = [&](const QString& text) { return metrics.horizontalAdvance(text) <= width; };
  if (fits(name)) return name;
  QStringList scopes = name.split('/');
  QString text;
  for (const int letters : {8, 4, 1}) {
    QStringList cut;
    for (const QString& scope : scopes) cut << cut_word(scope, letters);
    text = cut.join('/');
    if (fits(text)) return text;
  }
  for (scopes = text.split('/'); scopes.size() > 1;) {
    scopes.removeFirst();
    text = dots + QString("/") + scopes.join('/');
    if (fits(text)) return text;
  }
  return metrics.elidedText(scopes.back(), Qt::ElideMiddle, width);
}

}  // namespace shardscope
