#pragma once

#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <string>
#include <vector>

#include "engine/base/shape.h"
#include "engine/mesh/mesh.h"
#include "engine/mesh/partition_spec.h"

namespace shardscope {

// One case of a golden file: a mesh, a spec and a shape, with all that the file says about them in `object`.
struct GoldenCase {
  Mesh mesh;
  PartitionSpec spec;
  Shape shape;
  QJsonObject object;

  Sharding sharding() const { return to_sharding(spec, mesh, static_cast<int>(shape.size())); }
  std::string text() const { return QJsonDocument(object).toJson(QJsonDocument::Compact).left(400).toStdString(); }
};

inline GoldenCase golden_case(const QJsonObject& object) {
  const QJsonObject mesh = object["mesh"].toObject();
  std::vector<MeshAxis> axes;
  for (qsizetype i = 0; i < mesh["axes"].toArray().size(); ++i) {
    axes.push_back({mesh["axes"][i].toString().toStdString(), mesh["shape"][i].toInteger()});
  }
  std::vector<int> devices;
  for (const QJsonValue& device : mesh["devices"].toArray()) devices.push_back(device.toInt());
  PartitionSpec spec;
  for (const QJsonValue& entry : object["spec"].toArray()) {
    std::vector<std::string>& names = spec.dims.emplace_back();
    if (entry.isString()) names.push_back(entry.toString().toStdString());
    for (const QJsonValue& name : entry.toArray()) names.push_back(name.toString().toStdString());
  }
  Shape shape;
  for (const QJsonValue& size : object["shape"].toArray()) shape.push_back(size.toInteger());
  return {Mesh(axes, devices), spec, shape, object};
}

// All cases of tests/golden/`name`; empty when the file cannot be read.
inline std::vector<GoldenCase> golden_cases(const char* name) {
  QFile file(QString(SHARDSCOPE_SOURCE_DIR "/tests/golden/") + name);
  if (!file.open(QIODevice::ReadOnly)) return {};
  std::vector<GoldenCase> cases;
  for (const QJsonValue& value : QJsonDocument::fromJson(file.readAll()).array()) {
    cases.push_back(golden_case(value.toObject()));
  }
  return cases;
}

}  // namespace shardscope
