#include "engine/export/html_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/base/printable.h"
#include "engine/base/units.h"

namespace shardscope {
namespace {

constexpr double page_width = 860, label_width = 220, bar_width = 500, row_height = 22;
constexpr size_t longest_name = 32;  // characters
constexpr const char* colours[] = {"#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#bbbbbb"};

const char* colour_of(size_t part) { return colours[part % std::size(colours)]; }

std::string svg_of(double height, const std::string& content) {
  return fmt::format(R"(<svg viewBox="0 0 {:.0f} {:.0f}" width="{:.0f}" height="{:.0f}" role="img">{}</svg>)",
                     page_width, height, page_width, height, content) +
         "\n";
}

std::string svg_rectangle(double x, double y, double w, double h, const char* colour, const std::string& title) {
  return fmt::format(R"(<rect x="{:.2f}" y="{:.1f}" width="{:.2f}" height="{:.1f}" fill="{}"><title>{}</title></rect>)",
                     x, y, std::max(w, 0.5), h, colour, html_text(title));
}

std::string svg_label(double x, double y, const std::string& text, const char* anchor = "start") {
  return fmt::format(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="{}">{}</text>)", x, y, anchor, html_text(text));
}

std::string svg_legend(const std::vector<std::string>& names, double y) {
  std::string content;
  double x = label_width;
  for (size_t i = 0; i < names.size(); ++i) {
    content += svg_rectangle(x, y, 12, 12, colour_of(i), names[i]) + svg_label(x + 16, y + 11, names[i]);
    x += 32 + 7.0 * static_cast<double>(names[i].size());
  }
  return content;
}

constexpr const char* page_style = R"(
body { font: 14px/1.45 system-ui, sans-serif; max-width: 960px; margin: 2em auto; padding: 0 1em; }
body { color: #222; background: #fff; }
h1 { font-size: 1.5em; } h2 { font-size: 1.15em; margin-top: 2em; border-bottom: 1px solid #ccc; }
table { border-collapse: collapse; margin: .7em 0; }
th, td { padding: .2em .8em .2em 0; text-align: left; vertical-align: top; }
th { border-bottom: 1px solid #999; } td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; }
svg text { font: 12px system-ui, sans-serif; fill: currentColor; }
pre { background: #f4f4f4; padding: .7em; overflow: auto; }
@media (prefers-color-scheme: dark) { body { color: #ddd; background: #1b1b1b; } pre { background: #262626; } }
)";

}  // namespace

std::string html_text(std::string_view text) {
  std::string escaped;
  for (const char letter : text) {
    switch (letter) {
      case '&': escaped += "&amp;"; break;
      case '<': escaped += "&lt;"; break;
      case '>': escaped += "&gt;"; break;
      case '"': escaped += "&quot;"; break;
      default: escaped += letter;
    }
  }
  return escaped;
}

std::string html_table(const std::vector<HtmlColumn>& columns, const std::vector<std::vector<std::string>>& rows) {
  const auto cell = [&](const char* tag, size_t column, const std::string& text) {
    return fmt::format("<{}{}>{}</{}>", tag, columns[column].is_number ? R"( class="n")" : "", html_text(text), tag);
  };
  std::string text = "<table><thead><tr>";
  for (size_t c = 0; c < columns.size(); ++c) text += cell("th", c, columns[c].heading);
  text += "</tr></thead><tbody>\n";
  for (const std::vector<std::string>& row : rows) {
    text += "<tr>";
    for (size_t c = 0; c < row.size(); ++c) text += cell("td", c, row[c]);
    text += "</tr>\n";
  }
  return text + "</tbody></table>\n";
}

std::string html_section(const std::string& title, const std::string& content) {
  return fmt::format("<section><h2>{}</h2>\n{}</section>\n", html_text(title), content);
}

std::string html_paragraph(const std::string& text) { return fmt::format("<p>{}</p>\n", html_text(text)); }

std::string html_page(const std::string& title, const std::string& body) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{}</title><style>{}</style></head>\n"
      "<body><h1>{}</h1>\n{}</body></html>\n",
      html_text(title), page_style, html_text(title), body);
}

std::string svg_bars(const std::vector<BarRow>& rows, std::string (*text)(double)) {
  double longest = 0;
  size_t most_parts = 0;
  const BarRow* widest = nullptr;
  for (const BarRow& row : rows) {
    double sum = 0;
    for (const BarPart& part : row.parts) sum += part.value;
    longest = std::max(longest, sum);
    if (row.parts.size() > most_parts) most_parts = row.parts.size(), widest = &row;
  }
  if (longest <= 0) return {};
  std::string content;
  double y = 0;
  for (const BarRow& row : rows) {
    double x = label_width, sum = 0;
    std::string name = row.name;
    if (first_characters(name, longest_name).size() < name.size())
      name = std::string(first_characters(name, longest_name - 1)) + "\u2026";
    content += fmt::format(R"(<g><title>{}</title>{}</g>)", html_text(row.name), svg_label(0, y + 15, name));
    for (size_t p = 0; p < row.parts.size(); ++p) {
      const double w = row.parts[p].value / longest * bar_width;
      if (row.parts[p].value > 0)
        content += svg_rectangle(x, y + 3, w, row_height - 6, colour_of(p),
                                 fmt::format("{}: {}", row.parts[p].name, text(row.parts[p].value)));
      x += w;
      sum += row.parts[p].value;
    }
    content += svg_label(x + 6, y + 15, text(sum));
    y += row_height;
  }
  if (most_parts > 1) {
    std::vector<std::string> names;
    for (const BarPart& part : widest->parts) names.push_back(part.name);
    content += svg_legend(names, y + 6);
    y += 24;
  }
  return svg_of(y, content);
}

std::string svg_lanes(const std::vector<Lane>& lanes, double end, const std::vector<std::string>& kinds) {
  if (end <= 0) return {};
  const double scale = (page_width - label_width) / end;
  std::string content;
  double y = 0;
  for (const Lane& lane : lanes) {
    content += svg_label(0, y + 15, lane.name);
    LaneSpan open;
    const auto close = [&] {
      if (open.end > open.start)
        content += svg_rectangle(label_width + open.start * scale, y + 3, (open.end - open.start) * scale,
                                 row_height - 6, colour_of(static_cast<size_t>(open.kind)),
                                 fmt::format("{}: {} to {}", kinds[static_cast<size_t>(open.kind)],
                                             seconds_text(open.start), seconds_text(open.end)));
    };
    for (const LaneSpan& span : lane.spans) {
      if (span.end <= span.start) continue;
      if (span.kind == open.kind && open.end > open.start && (span.start - open.end) * scale < 1) {
        open.end = std::max(open.end, span.end);
        continue;
      }
      close();
      open = span;
    }
    close();
    y += row_height;
  }
  content += svg_label(label_width, y + 14, "0") + svg_label(page_width, y + 14, seconds_text(end), "end");
  return svg_of(y + 44, content + svg_legend(kinds, y + 24));
}

std::string svg_curve(const std::vector<double>& x, const std::vector<double>& y, const std::string& y_name) {
  constexpr double height = 220, left = 70, bottom = 24, top = 10;
  double low = INFINITY, high = -INFINITY;
  for (const double value : y) {
    if (std::isfinite(value)) low = std::min(low, value), high = std::max(high, value);
  }
  if (!(high >= low) || x.size() < 2) return {};
  if (high == low) high = low + 1;
  const double first = x.front(), last = x.back() > first ? x.back() : first + 1;
  std::string points;
  const size_t every = std::max<size_t>(1, y.size() / static_cast<size_t>(page_width));
  for (size_t i = 0; i < y.size(); i += every) {
    if (!std::isfinite(y[i])) continue;
    points += fmt::format("{:.1f},{:.1f} ", left + (x[i] - first) / (last - first) * (page_width - left),
                          top + (high - y[i]) / (high - low) * (height - top - bottom));
  }
  std::string content =
      fmt::format(R"(<polyline points="{}" fill="none" stroke="{}" stroke-width="1.5"/>)", points, colour_of(0));
  content += svg_label(0, top + 10, fmt::format("{:.4g}", high)) +
             svg_label(0, height - bottom, fmt::format("{:.4g}", low)) +
             svg_label(0, (top + height - bottom) / 2, y_name) +
             svg_label(left, height - 6, fmt::format("step {:.0f}", first)) +
             svg_label(page_width, height - 6, fmt::format("{:.0f}", last), "end");
  return svg_of(height, content);
}

}  // namespace shardscope
