#include "gui/export/picture_file.h"

#include <QBuffer>
#include <QFile>
#include <QImage>
#include <QPainter>
#include <QPdfWriter>
#include <QSvgGenerator>
#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/base/cancelled.h"
#include "engine/base/error.h"
#include "engine/compile/compile.h"
#include "gui/export/clipped_painting.h"

namespace shardscope {
namespace {

constexpr int dots_per_inch = 96;
constexpr double points_per_inch = 72;
constexpr double usual_pixels = 3e7;  // Qt reads few more by itself
constexpr double most_pixels = 1e8;

// Takes nothing more once it is to stop; so an encoder ends.
class StoppableFile : public QFile {
 public:
  StoppableFile(const QString& path, std::stop_token stop) : QFile(path), stop_(std::move(stop)) {}

 protected:
  qint64 writeData(const char* data, qint64 size) override {
    return stop_.stop_requested() ? -1 : QFile::writeData(data, size);
  }

 private:
  std::stop_token stop_;
};

[[noreturn]] void fail(const std::string& path, const QString& why) {
  throw Failure(Error{"unwritable_file", "cannot write: " + why.toStdString(), in_file(path), ""});
}

bool paint(const QPicture& picture, QPaintDevice& device) {
  QPainter painter;
  if (!painter.begin(&device)) return false;
  painter.setRenderHint(QPainter::TextAntialiasing);
  painter.drawPicture(0, 0, picture);
  return painter.end();
}

void write_svg(const QPicture& picture, QSize size, QIODevice& file, const std::string& path) {
  QSvgGenerator svg;
  svg.setOutputDevice(&file);
  svg.setResolution(dots_per_inch);
  svg.setSize(size);
  svg.setViewBox(QRect({}, size));
  svg.setTitle("Shardscope");
  QPainter painter;
  if (!painter.begin(&svg)) fail(path, "the picture is too large");
  play_clipped(picture, painter, size);
  painter.end();
}

void write_pdf(const QPicture& picture, QSize size, QIODevice& file, const std::string& path) {
  QPdfWriter pdf(&file);
  pdf.setResolution(dots_per_inch);
  pdf.setPageSize(
      QPageSize(QSizeF(size) * points_per_inch / dots_per_inch, QPageSize::Point, {}, QPageSize::ExactMatch));
  pdf.setPageMargins({});
  pdf.setCreator("Shardscope");
  if (!paint(picture, pdf)) fail(path, "the picture is too large");
}

void write_png(const QPicture& picture, QSize size, double scale, QIODevice& file, const std::string& path) {
  const QImage image = picture_image(picture, size, scale);
  if (image.isNull())
    fail(path, QString("%1 x %2 pixels are too many for a PNG: take svg or pdf").arg(size.width()).arg(size.height()));
  if (!image.save(&file, "PNG")) fail(path, file.errorString());
}

}  // namespace

std::optional<PictureForm> picture_form(const QString& name) {
  if (name == "svg") return PictureForm::svg;
  if (name == "png") return PictureForm::png;
  if (name == "pdf") return PictureForm::pdf;
  return std::nullopt;
}

QImage picture_image(const QPicture& picture, QSize size, double scale) {
  const double area = double(size.width()) * size.height();
  if (scale > 1) scale = std::max(1.0, std::min(scale, std::sqrt(usual_pixels / area)));
  QImage image(area * scale * scale > most_pixels ? QSize() : size * scale, QImage::Format_RGB32);
  if (image.isNull()) return image;
  image.fill(Qt::white);
  image.setDevicePixelRatio(scale);
  if (!paint(picture, image)) return {};
  image.setDotsPerMeterX(qRound(dots_per_inch * scale / 0.0254));
  image.setDotsPerMeterY(image.dotsPerMeterX());
  return image;
}

void write_picture(const QPicture& picture, QSize size, PictureForm form, double scale, const std::string& file_path,
                   const std::stop_token& stop, const std::string& named) {
  const std::string& path = named.empty() ? file_path : named;
  StoppableFile file(QString::fromStdString(file_path), stop);
  if (!file.open(QIODevice::WriteOnly | QIODevice::Truncate)) fail(path, file.errorString());
  try {
    switch (form) {
      case PictureForm::svg: write_svg(picture, size, file, path); break;
      case PictureForm::pdf: write_pdf(picture, size, file, path); break;
      case PictureForm::png: write_png(picture, size, scale, file, path); break;
    }
  } catch (const Failure&) {
    if (!stop.stop_requested()) throw;
  }
  throw_if_stopped(stop);
  if (!file.flush() || file.error() != QFileDevice::NoError) fail(path, file.errorString());
}

}  // namespace shardscope
