#include "gui/run/fit_point.h"

#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <algorithm>
#include <array>

namespace shardscope {
namespace {

const std::array<QString, 3> fit_values{"inputs", "targets", "predictions"};

bool is_column(const Graph& graph, const std::map<std::string, ValueId>& values, const QString& name) {
  const auto found = values.find(name.toStdString());
  if (found == values.end()) return false;
  const TensorType& type = graph.type(found->second);
  return type.dtype == DType::f32 && type.shape.size() == 2 && type.shape[1] == 1;
}

}  // namespace

bool has_fit(const Plan& plan) {
  const DataKind* kind = plan.training.data.kind;
  if (!kind || kind->examples == 0 || !plan.graph) return false;
  const Graph& graph = *plan.graph;
  return is_column(graph, graph.inputs, fit_values[0]) && is_column(graph, graph.inputs, fit_values[1]) &&
         is_column(graph, graph.outputs, fit_values[2]);
}

std::vector<FitPoint> read_fit(const QString& file) {
  QFile lines(file);
  std::vector<FitPoint> points;
  if (!lines.open(QIODevice::ReadOnly)) return points;
  while (!lines.atEnd()) {
    const QJsonObject line = QJsonDocument::fromJson(lines.readLine()).object();
    const auto number = [&line](const QString& name) { return line[name].toArray().at(0).toDouble(); };
    points.push_back({number(fit_values[0]), number(fit_values[1]), number(fit_values[2])});
  }
  std::ranges::sort(points, {}, &FitPoint::x);
  return points;
}

}  // namespace shardscope
