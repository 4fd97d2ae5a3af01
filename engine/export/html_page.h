#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace shardscope {

// Pieces of a page of HTML that stands alone: no script, no font and no picture from elsewhere. Text is escaped.
std::string html_text(std::string_view text);

struct HtmlColumn {
  std::string heading;
  bool is_number = false;  // aligned to the right
};
std::string html_table(const std::vector<HtmlColumn>& columns, const std::vector<std::vector<std::string>>& rows);

std::string html_section(const std::string& title, const std::string& content);
std::string html_paragraph(const std::string& text);
std::string html_page(const std::string& title, const std::string& body);

// Pictures as inline SVG. Bars of parts, a row each, to one scale; `text` writes their values.
struct BarPart {
  std::string name;
  double value = 0;
};
struct BarRow {
  std::string name;
  std::vector<BarPart> parts;
};
std::string svg_bars(const std::vector<BarRow>& rows, std::string (*text)(double));

// When each lane is busy, from 0 to `end` seconds; what is closer than a pixel is one.
struct LaneSpan {
  double start = 0, end = 0;
  int kind = 0;  // of colour
};
struct Lane {
  std::string name;
  std::vector<LaneSpan> spans;  // by start
};
std::string svg_lanes(const std::vector<Lane>& lanes, double end, const std::vector<std::string>& kinds);

// One curve; at most as many points as it has pixels. Numbers that are not finite are left out.
std::string svg_curve(const std::vector<double>& x, const std::vector<double>& y, const std::string& y_name);

}  // namespace shardscope
