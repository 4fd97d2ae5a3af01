#pragma once

#include <QImage>
#include <QPicture>
#include <QSize>
#include <QString>
#include <optional>
#include <stop_token>
#include <string>

namespace shardscope {

enum class PictureForm : uint8_t { svg, png, pdf };
std::optional<PictureForm> picture_form(const QString& name);  // "svg"; nothing for another name

// A picture of `size` (in pixels of a screen of 96 dpi) with `scale` pixels for each, fewer where it would have more
// than 30 million, but one; null where these are more than 100 million.
QImage picture_image(const QPicture& picture, QSize size, double scale);

// Writes a picture of `size` over the file: SVG and PDF as vectors, PNG as picture_image() makes it. From any thread.
// Throws Failure (unwritable_file), which names `named` where the file is to have another name at the end, and
// Cancelled once `stop` is requested.
void write_picture(const QPicture& picture, QSize size, PictureForm form, double scale, const std::string& path,
                   const std::stop_token& stop = {}, const std::string& named = {});

}  // namespace shardscope
