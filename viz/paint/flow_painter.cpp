#include "viz/paint/flow_painter.h"

#include <QPainterPath>
#include <algorithm>
#include <map>

namespace shardscope {
namespace {

constexpr double least_words = 0.42;  // scales from which on words, edges and nodes are drawn
constexpr double least_edges = 0.12;
constexpr double least_nodes = 0.035;

constexpr double left_of_words = 9, right_of_words = 8;  // in a node
constexpr double before_cost = 8;
constexpr double beside_layouts = 22;
constexpr int layout_line = 15, most_layout_lines = 3;

QFont bold_of(QFont font) {
  font.setBold(true);
  return font;
}

QFont small_of(QFont font) {
  font.setPointSizeF(font.pointSizeF() * 0.86);
  return font;
}

bool is_moving(const FlowNode& node) {
  return node.kind != InstructionKind::compute && node.kind != InstructionKind::slice;
}

// The layouts of values, one above the other as far as there is room between two rows.
QStringList layout_lines(const std::vector<int>& values, const FlowWords& words) {
  QStringList layouts;
  for (const int value : values) layouts << words.layout(value);
  layouts.removeDuplicates();
  if (layouts.size() <= most_layout_lines) return layouts;
  return layouts.mid(0, most_layout_lines - 1) << layouts.mid(most_layout_lines - 1).join("; ");
}

QRectF rect_of(const PictureRect& place) { return {place.x, place.y, place.width, place.height}; }

class Drawing {
 public:
  Drawing(QPainter& painter, const FlowGraph& graph, const QRectF& visible, double scale, const FlowWords& words,
          const FlowMarks& marks, const QFont& font, const Theme& theme)
      : painter_(painter),
        graph_(graph),
        visible_(visible),
        scale_(scale),
        words_(words),
        marks_(marks),
        theme_(theme),
        font_(font),
        bold_(bold_of(font)),
        small_(small_of(font)) {}

  void paint() {
    const auto [first, end] = lanes_between(graph_, visible_.top(), visible_.bottom());
    for (int l = first; l < end; ++l) paint_lane(graph_.lanes[static_cast<size_t>(l)]);
    if (scale_ >= least_edges) paint_edges(first, end);
    if (scale_ >= least_nodes)
      for (int l = first; l < end; ++l) paint_nodes(graph_.lanes[static_cast<size_t>(l)]);
    for (int l = first; l < end; ++l) paint_lane_words(graph_.lanes[static_cast<size_t>(l)]);
    if (marks_.selected >= 0) paint_edges_of(marks_.selected);
  }

 private:
  const FlowNode& node(int n) const { return graph_.nodes[static_cast<size_t>(n)]; }

  QColor ground_of(const FlowLane& lane) const {
    return mix(theme_.base, phase_color(lane.phase, theme_), theme_.dark ? 0.07 : 0.05);
  }

  void paint_lane(const FlowLane& lane) {
    const QRectF place = rect_of(lane.place);
    const QColor color = phase_color(lane.phase, theme_);
    painter_.setPen(QPen(mix(theme_.line, color, 0.35), 1));
    painter_.setBrush(ground_of(lane));
    painter_.drawRoundedRect(place, 6, 6);
    painter_.fillRect(QRectF(place.x(), place.y() + 5, 4, place.height() - 10), color);
  }

  // As large as on the unzoomed picture, at the left of what is seen of the lane, in front of the edges there.
  void paint_lane_words(const FlowLane& lane) {
    const QRectF place = rect_of(lane.place);
    const double pixels = place.height() * scale_;
    if (pixels < 16) return;
    const QRectF seen = place & visible_;
    painter_.save();
    painter_.translate(seen.left(), place.top());
    painter_.scale(1 / scale_, 1 / scale_);
    const double room = seen.width() * scale_ - 20, height = std::min(26.0, pixels);
    const auto write = [&](double left, const QFont& font, const QColor& color, const QString& text) {
      const QFontMetricsF metrics(font);
      const QString shown = metrics.elidedText(text, Qt::ElideRight, std::max(0.0, room - left));
      const QRectF at(left, 0, metrics.horizontalAdvance(shown), height);
      painter_.fillRect(at.adjusted(-2, 3, 2, -3), ground_of(lane));
      painter_.setFont(font);
      painter_.setPen(color);
      painter_.drawText(at, Qt::AlignLeft | Qt::AlignVCenter | Qt::TextDontClip, shown);
      return at.right();
    };
    const double right = write(12, bold_, theme_.text, words_.lane(lane));
    write(right + 16, small_, theme_.muted, words_.lane_cost(lane));
    painter_.restore();
  }

  bool is_dim(int n) const { return marks_.found && !(*marks_.found)[static_cast<size_t>(n)]; }

  void paint_nodes(const FlowLane& lane) {
    for (int n = lane.first; n < lane.end; ++n)
      if (visible_.intersects(rect_of(node(n).place))) paint_node(n);
  }

  void paint_node(int n) {
    const FlowNode& it = node(n);
    const QRectF place = rect_of(it.place);
    const bool moves = is_moving(it);
    const QColor color = instruction_color(it.kind, theme_);
    painter_.setOpacity(is_dim(n) ? 0.25 : 1);
    const bool is_marked = n == marks_.selected;
    const double share = moves ? (theme_.dark ? 0.38 : 0.30) : n == marks_.hovered ? 0.12 : 0;
    painter_.setBrush(mix(theme_.raised, color, share));
    const QColor edge = is_marked ? theme_.accent : n == marks_.hovered ? theme_.text : moves ? color : theme_.line;
    painter_.setPen(QPen(edge,
                         is_marked ? 3
                         : moves   ? 1.6
                                   : 1,
                         it.phase == Phase::recompute ? Qt::DashLine : Qt::SolidLine));
    const double round = moves ? 10 : 4;
    scale_ < 0.25 ? painter_.drawRect(place) : painter_.drawRoundedRect(place, round, round);
    if (marks_.found && !is_dim(n)) {
      painter_.setBrush(Qt::NoBrush);
      painter_.setPen(QPen(theme_.warning, 2));
      painter_.drawRoundedRect(place.adjusted(-4, -4, 4, 4), round + 3, round + 3);
    }
    if (scale_ >= least_words) paint_words(it, place.adjusted(left_of_words, 4, -right_of_words, -4), moves);
    painter_.setOpacity(1);
  }

  void paint_words(const FlowNode& it, const QRectF& place, bool moves) {
    const FlowNodeText text = words_.node(it);
    const QFontMetricsF small(small_);
    const QFont& full = moves ? bold_ : font_;
    const bool fits = QFontMetricsF(full).horizontalAdvance(text.title) <= place.width();
    const QFont& title = fits ? full : small_;
    painter_.setFont(title);
    painter_.setPen(theme_.text);
    const double line = place.height() / 2;
    painter_.drawText(QRectF(place.x(), place.y(), place.width(), line), Qt::AlignLeft | Qt::AlignVCenter,
                      QFontMetricsF(title).elidedText(text.title, Qt::ElideMiddle, place.width()));
    painter_.setFont(small_);
    painter_.setPen(moves ? theme_.text : theme_.muted);
    const QRectF below(place.x(), place.y() + line, place.width(), line);
    painter_.drawText(below, Qt::AlignRight | Qt::AlignVCenter, text.cost);
    const double room = below.width() - (text.cost.isEmpty() ? 0 : small.horizontalAdvance(text.cost) + before_cost);
    painter_.drawText(below, Qt::AlignLeft | Qt::AlignVCenter, small.elidedText(text.detail, Qt::ElideMiddle, room));
  }

  void paint_edges(int first, int end) {
    std::map<int, std::vector<int>> values;  // by where edges begin
    const int behind = std::min(end + 1, static_cast<int>(graph_.lanes.size()));
    for (int l = first; l < behind; ++l) {
      const FlowLane& lane = graph_.lanes[static_cast<size_t>(l)];
      auto edge = std::ranges::lower_bound(graph_.edges, lane.first, {}, &FlowEdge::to);
      for (; edge != graph_.edges.end() && edge->to < lane.end; ++edge) {
        const int from = node(edge->from).lane;
        const bool is_next = from + 1 == l && graph_.lanes[static_cast<size_t>(from)].phase == lane.phase;
        if (from != l && !is_next) continue;
        const std::vector<FlowPoint> line = edge_line(graph_, *edge);
        if (!visible_.intersects(bounds(line))) continue;
        const bool is_dimmed = is_dim(edge->from) && is_dim(edge->to);
        draw(line, QPen(mix(theme_.muted, theme_.base, is_dimmed ? 0.75 : 0.25), 1.2));
        values[edge->from].push_back(edge->value);
      }
    }
    if (scale_ < least_words) return;
    for (const auto& [from, made] : values) paint_layouts(node(from), made);
  }

  // Of the selected node all, in front of what they cross.
  void paint_edges_of(int n) {
    for (const FlowEdge& edge : graph_.edges)
      if (edge.from == n || edge.to == n) {
        const std::vector<FlowPoint> line = edge_line(graph_, edge);
        if (visible_.intersects(bounds(line))) draw(line, QPen(theme_.accent, 2.2));
      }
  }

  static QRectF bounds(const std::vector<FlowPoint>& line) {
    QRectF all(line.front().x, line.front().y, 0, 0);
    for (const FlowPoint& point : line) {
      all.setLeft(std::min(all.left(), point.x));
      all.setRight(std::max(all.right(), point.x));
      all.setTop(std::min(all.top(), point.y));
      all.setBottom(std::max(all.bottom(), point.y));
    }
    return all.adjusted(-2, -2, 2, 2);
  }

  void draw(const std::vector<FlowPoint>& line, const QPen& pen) {
    QPolygonF corners;
    for (const FlowPoint& point : line) corners << QPointF(point.x, point.y);
    painter_.setPen(pen);
    painter_.setBrush(Qt::NoBrush);
    painter_.drawPolyline(corners);
    const QPointF tip = corners.back();
    painter_.setBrush(pen.color());
    painter_.drawPolygon(QPolygonF() << tip << tip + QPointF(-6, -3.5) << tip + QPointF(-6, 3.5));
  }

  void paint_layouts(const FlowNode& from, const std::vector<int>& values) {
    const double room = from.gap - beside_layouts, line = from.place.y + from.place.height / 2;
    const QStringList lines = layout_lines(values, words_);
    painter_.setFont(small_);
    painter_.setPen(theme_.muted);
    QRectF at(from.place.right() + 5, line - 1 - layout_line * double(lines.size()), room, layout_line);
    for (const QString& text : lines) {
      painter_.drawText(at, Qt::AlignLeft | Qt::AlignVCenter,
                        QFontMetricsF(small_).elidedText(text, Qt::ElideRight, room));
      at.translate(0, layout_line);
    }
  }

  QPainter& painter_;
  const FlowGraph& graph_;
  QRectF visible_;
  double scale_;
  const FlowWords& words_;
  const FlowMarks& marks_;
  const Theme& theme_;
  QFont font_, bold_, small_;
};

}  // namespace

void lay_out_roomy(FlowGraph& graph, const FlowWords& words, const QFont& font) {
  const QFontMetricsF plain(font), bold(bold_of(font)), small(small_of(font));
  constexpr double spare = 6;  // letters are set otherwise where they are scaled
  const auto widest = [&](const QStringList& lines) {
    double width = 0;
    for (const QString& line : lines) width = std::max(width, small.horizontalAdvance(line));
    return width;
  };
  for (FlowNode& node : graph.nodes) {
    const FlowNodeText text = words.node(node);
    const double title = (is_moving(node) ? bold : plain).horizontalAdvance(text.title);
    const double below = small.horizontalAdvance(text.detail) + before_cost + small.horizontalAdvance(text.cost);
    node.width = std::max(node.width, std::max(title, below) + left_of_words + right_of_words + spare);
  }
  std::map<int, std::vector<int>> values;
  for (const FlowEdge& edge : graph.edges) values[edge.from].push_back(edge.value);
  for (const auto& [from, made] : values) {
    double& gap = graph.nodes[static_cast<size_t>(from)].gap;
    gap = std::max(gap, widest(layout_lines(made, words)) + beside_layouts + spare);
  }
  lay_out(graph);
}

void paint_flow(QPainter& painter, const FlowGraph& graph, const QRectF& visible, double scale, const FlowWords& words,
                const FlowMarks& marks, const QFont& font, const Theme& theme) {
  Drawing(painter, graph, visible, scale, words, marks, font, theme).paint();
}

}  // namespace shardscope
