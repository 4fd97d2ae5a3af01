#pragma once

#include <QString>

namespace shardscope {

// How well `text` fits what was typed: its letters occur in `text` in this order, upper or lower case alike. The higher
// the better: letters that follow each other, and those that begin a word, count more; the whole of it in one place
// most, in a short text more than in a long one. -1 where it does not fit; 0 for nothing typed.
int match_score(const QString& typed, const QString& text);

}  // namespace shardscope
