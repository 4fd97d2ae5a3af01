#pragma once

#include <QPicture>
#include <QSize>
#include <QString>
#include <optional>
#include <stop_token>
#include <string>

namespace shardscope {

enum class PictureForm : uint8_t { svg, png, pdf };
std::optional<PictureForm> picture_form(const QString& name);  // "svg"; nothing for another name

// Writes a picture of `size` (in pixels of a screen of 96 dpi) over the file: SVG and PDF as vectors, PNG with `scale`
// pixels for each, fewer where it would have more than 30 million. From any thread. Throws Failure (unwritable_file),
// and Cancelled once `stop` is requested.
void write_picture(const QPicture& picture, QSize size, PictureForm form, double scale, const std::string& path,
                   const std::stop_token& stop = {});

}  // namespace shardscope
