#include "gui/window/fuzzy_match.h"

#include <algorithm>

namespace shardscope {
namespace {

constexpr int for_letter = 1, for_following = 6, for_word_begin = 8, best_length_bonus = 40;

bool begins_word(const QString& text, qsizetype at) {
  if (at == 0) return true;
  const QChar before = text[at - 1];
  return !before.isLetterOrNumber() || (before.isLower() && text[at].isUpper());
}

}  // namespace

int match_score(const QString& typed, const QString& text) {
  if (typed.isEmpty()) return 0;
  if (const qsizetype whole = text.indexOf(typed, 0, Qt::CaseInsensitive); whole >= 0) {
    const int begin = begins_word(text, whole) ? for_word_begin : 0;
    return static_cast<int>(typed.size()) * (for_letter + for_following) + begin +
           std::max<int>(1, best_length_bonus - static_cast<int>(text.size()) / 2);
  }
  int score = 0;
  qsizetype at = -1;
  for (const QChar letter : typed) {
    if (letter.isSpace()) continue;
    // A letter that begins a word is taken before a nearer one within a word.
    qsizetype next = -1;
    for (qsizetype i = at + 1; i < text.size(); ++i) {
      if (text[i].toCaseFolded() != letter.toCaseFolded()) continue;
      if (next < 0) next = i;
      if (i == at + 1 || begins_word(text, i)) {
        next = i;
        break;
      }
    }
    if (next < 0) return -1;
    score += for_letter + (next == at + 1 ? for_following : 0) + (begins_word(text, next) ? for_word_begin : 0);
    at = next;
  }
  return score;
}

}  // namespace shardscope
