#pragma once

#include <QFontMetricsF>
#include <QString>

namespace shardscope {

// A name of scopes ("SelfAttentionBlock_0/SelfAttention_0/key/kernel/adam") in at most `width` pixels. What such names
// have in common goes first: the words of numbered scopes are cut before their numbers, all alike
// ("Self\u2026_0/Self\u2026_0/key/kernel/adam"); then whole scopes from the front. The last scope stays as long as it
// can.
QString fitted_name(const QString& name, const QFontMetricsF& metrics, double width);

}  // namespace shardscope
