#include "viz/paint/flow_layout.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <span>

namespace shardscope {
namespace {

constexpr int least_columns = 10;  // of a line of what does not hang together

struct Cell {
  int column = 0, row = 0;
};

// The nodes of a lane that hang together, in a grid of their own.
class Component {
 public:
  // `nodes` ascending; `takes` and `gives`: per node of the lane, nodes of the lane.
  Component(std::vector<int> nodes, const std::vector<std::vector<int>>& takes,
            const std::vector<std::vector<int>>& gives)
      : nodes_(std::move(nodes)), takes_(takes), gives_(gives) {}

  const std::vector<int>& nodes() const { return nodes_; }
  int columns() const { return columns_; }
  int rows() const { return rows_; }

  void place(std::vector<Cell>& cells) {
    for (const int node : nodes_) {
      int& column = cells[static_cast<size_t>(node)].column;
      column = 0;
      for (const int from : takes_[static_cast<size_t>(node)])
        column = std::max(column, cells[static_cast<size_t>(from)].column + 1);
    }
    bring_near(cells);
    std::vector<int> order = nodes_;
    std::ranges::stable_sort(order, {}, [&](int node) { return cells[static_cast<size_t>(node)].column; });
    for (const int node : order) place_in_row(node, cells);
  }

 private:
  // What takes nothing need not stand far in front of its first taker.
  void bring_near(std::vector<Cell>& cells) const {
    for (auto node = nodes_.rbegin(); node != nodes_.rend(); ++node) {
      const std::vector<int>& takers = gives_[static_cast<size_t>(*node)];
      if (!takes_[static_cast<size_t>(*node)].empty() || takers.empty()) continue;
      int nearest = cells[static_cast<size_t>(takers.front())].column;
      for (const int taker : takers) nearest = std::min(nearest, cells[static_cast<size_t>(taker)].column);
      cells[static_cast<size_t>(*node)].column = nearest - 1;
    }
  }

  void place_in_row(int node, std::vector<Cell>& cells) {
    Cell& cell = cells[static_cast<size_t>(node)];
    int last = cell.column;
    for (const int taker : gives_[static_cast<size_t>(node)])
      last = std::max(last, cells[static_cast<size_t>(taker)].column - 1);
    const std::vector<int>& from = takes_[static_cast<size_t>(node)];
    const int wanted = from.empty() ? 0 : cells[static_cast<size_t>(from.front())].row;
    int row = wanted;
    for (int away = 0; !is_free(row, cell.column, last); ++away) {
      const int above = wanted - away, below = wanted + away;
      row = above >= 0 && is_free(above, cell.column, last) ? above : below;
    }
    cell.row = row;
    if (std::ssize(taken_) <= row) taken_.resize(static_cast<size_t>(row) + 1);
    for (int column = cell.column; column <= last; ++column) taken_[static_cast<size_t>(row)].insert(column);
    columns_ = std::max(columns_, cell.column + 1);
    rows_ = std::max(rows_, row + 1);
  }

  bool is_free(int row, int first, int last) const {
    if (row >= std::ssize(taken_)) return true;
    const auto next = taken_[static_cast<size_t>(row)].lower_bound(first);
    return next == taken_[static_cast<size_t>(row)].end() || *next > last;
  }

  std::vector<int> nodes_;
  const std::vector<std::vector<int>>&takes_, &gives_;
  std::vector<std::set<int>> taken_;  // by row: columns
  int columns_ = 0, rows_ = 0;
};

class LaneLayout {
 public:
  LaneLayout(FlowGraph& graph, FlowLane& lane, std::span<const FlowEdge> edges)
      : graph_(graph), lane_(lane), takes_(count()), gives_(count()), cells_(count()) {
    for (const FlowEdge& edge : edges) {
      if (!graph.is_within(edge)) continue;
      std::vector<int>& takes = takes_[static_cast<size_t>(edge.to - lane.first)];
      if (std::ranges::count(takes, edge.from - lane.first) > 0) continue;
      takes.push_back(edge.from - lane.first);
      gives_[static_cast<size_t>(edge.from - lane.first)].push_back(edge.to - lane.first);
    }
  }

  // The lane's height, its nodes from `top` on.
  void place(double top) {
    std::vector<Component> components = find_components();
    int widest = least_columns;
    for (Component& component : components) {
      component.place(cells_);
      widest = std::max(widest, component.columns());
    }
    int column = 0, row = 0, rows = 0;
    for (const Component& component : components) {
      if (column > 0 && column + component.columns() > widest) {
        row += rows;
        column = rows = 0;
      }
      for (const int node : component.nodes()) {
        Cell& cell = cells_[static_cast<size_t>(node)];
        cell = {column + cell.column, row + cell.row};
      }
      column += component.columns();
      rows = std::max(rows, component.rows());
    }
    const double width = put_nodes(top);
    const FlowSizes& size = flow_sizes;
    const double height = size.lane_head + (row + rows) * (size.node_height + size.row_gap) + size.row_gap;
    lane_.place = {size.margin, top, width, height};
  }

 private:
  size_t count() const { return static_cast<size_t>(lane_.end - lane_.first); }

  // Gives each node its place in its cell; gives the width of all.
  double put_nodes(double top) {
    struct Column {
      double left = 0, width = flow_sizes.node_width, gap = flow_sizes.column_gap;
    };
    const FlowSizes& size = flow_sizes;
    std::vector<Column> columns;
    const auto node_of = [this](size_t at) -> FlowNode& { return graph_.nodes[static_cast<size_t>(lane_.first) + at]; };
    for (size_t at = 0; at < count(); ++at) {
      const auto number = static_cast<size_t>(cells_[at].column);
      if (columns.size() <= number) columns.resize(number + 1);
      columns[number].width = std::max(columns[number].width, node_of(at).width);
      columns[number].gap = std::max(columns[number].gap, node_of(at).gap);
    }
    double left = 2 * size.margin;
    for (Column& column : columns) {
      column.left = left;
      left += column.width + column.gap;
    }
    for (size_t at = 0; at < count(); ++at) {
      const Column& column = columns[static_cast<size_t>(cells_[at].column)];
      node_of(at).gap = column.gap;
      node_of(at).place = {column.left,
                           top + size.lane_head + size.row_gap / 2 + cells_[at].row * (size.node_height + size.row_gap),
                           column.width, size.node_height};
    }
    return left - size.margin;
  }

  std::vector<Component> find_components() {
    std::vector<int> root(count());
    std::iota(root.begin(), root.end(), 0);
    const auto find = [&](int node) {
      while (root[static_cast<size_t>(node)] != node)
        node = root[static_cast<size_t>(node)] = root[static_cast<size_t>(root[static_cast<size_t>(node)])];
      return node;
    };
    for (int node = 0; node < std::ssize(takes_); ++node) {
      for (const int from : takes_[static_cast<size_t>(node)]) {
        const int a = find(from), b = find(node);
        root[static_cast<size_t>(std::max(a, b))] = std::min(a, b);
      }
    }
    std::vector<std::vector<int>> members(count());
    for (int node = 0; node < std::ssize(root); ++node) members[static_cast<size_t>(find(node))].push_back(node);
    std::vector<Component> components;
    for (std::vector<int>& nodes : members)
      if (!nodes.empty()) components.emplace_back(std::move(nodes), takes_, gives_);
    return components;
  }

  FlowGraph& graph_;
  FlowLane& lane_;
  std::vector<std::vector<int>> takes_, gives_;
  std::vector<Cell> cells_;
};

}  // namespace

void lay_out(FlowGraph& graph) {
  double top = flow_sizes.margin;
  graph.width = 0;
  auto edge = graph.edges.begin();
  for (FlowLane& lane : graph.lanes) {
    const auto begin = edge;
    while (edge != graph.edges.end() && edge->to < lane.end) ++edge;
    LaneLayout(graph, lane, {begin, edge}).place(top);
    top = lane.place.bottom() + flow_sizes.lane_gap;
    graph.width = std::max(graph.width, lane.place.right() + flow_sizes.margin);
  }
  for (FlowLane& lane : graph.lanes) lane.place.width = graph.width - 2 * flow_sizes.margin;
  graph.height = top;
}

std::vector<FlowPoint> edge_line(const FlowGraph& graph, const FlowEdge& edge) {
  const PictureRect& from = graph.nodes[static_cast<size_t>(edge.from)].place;
  const PictureRect& to = graph.nodes[static_cast<size_t>(edge.to)].place;
  const double start = from.y + from.height / 2, end = to.y + to.height / 2, turn = to.x - 14;
  if (graph.is_within(edge)) {
    if (start == end) return {{from.right(), start}, {to.x, end}};
    return {{from.right(), start}, {turn, start}, {turn, end}, {to.x, end}};
  }
  const FlowLane& lane = graph.lanes[static_cast<size_t>(graph.nodes[static_cast<size_t>(edge.from)].lane)];
  const double beside = from.right() + 8, between = lane.place.bottom() + flow_sizes.lane_gap / 2;
  return {{from.right(), start}, {beside, start}, {beside, between}, {turn, between}, {turn, end}, {to.x, end}};
}

int node_at(const FlowGraph& graph, double x, double y) {
  const auto [first, end] = lanes_between(graph, y, y);
  for (int l = first; l < end; ++l) {
    const FlowLane& lane = graph.lanes[static_cast<size_t>(l)];
    for (int n = lane.first; n < lane.end; ++n)
      if (graph.nodes[static_cast<size_t>(n)].place.contains(x, y)) return n;
  }
  return -1;
}

std::pair<int, int> lanes_between(const FlowGraph& graph, double top, double bottom) {
  const auto first = std::ranges::lower_bound(graph.lanes, top, {}, [](const FlowLane& l) { return l.place.bottom(); });
  const auto end = std::ranges::upper_bound(graph.lanes, bottom, {}, [](const FlowLane& l) { return l.place.y; });
  const int begin = static_cast<int>(first - graph.lanes.begin());
  return {begin, std::max(begin, static_cast<int>(end - graph.lanes.begin()))};
}

}  // namespace shardscope
