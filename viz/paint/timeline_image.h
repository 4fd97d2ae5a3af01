#pragma once

#include <QImage>
#include <QRect>
#include <span>

#include "viz/paint/timeline_track.h"

namespace shardscope {

struct TrackInk {
  std::span<const QRgb> of_step;             // by position in the main sequence
  QRgb background, work, transfer, waiting;  // work and transfer: where something else has most of a pixel
  QRgb arrival;                              // the first pixel of a wait of several
};

// Paints a track into a part of an image (Format_RGB32), pixel by pixel from TimelineTrack::columns: each pixel's
// colours weigh as much as their share of its time, those of what is hidden behind work `pale` as much. Waiting fills
// the lower `low_share` alone, so it is reported from work by its height, too; what idles stays background. A slice of
// several pixels ends with a paler one; one of waiting begins with a mark of the rank's arrival. Where data is moved
// beside work, and a part of a pixel's time is exposed, that part is its height from below, of two pixels at least:
// mixed, it would be as pale as what is hidden.
inline constexpr double low_share = 0.4, pale = 0.35;
void paint_track(QImage& image, const QRect& place, const TimelineTrack& track, double begin, double end,
                 const TrackInk& ink);

}  // namespace shardscope
