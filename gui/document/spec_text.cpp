#include "gui/document/spec_text.h"

#include <QObject>
#include <QRegularExpression>

#include "engine/config/placement_text.h"
#include "gui/document/text.h"

namespace shardscope {

QString spec_text(const PartitionSpec& spec, size_t rank) {
  PartitionSpec whole = spec;
  if (whole.dims.size() < rank) whole.dims.resize(rank);
  return qt(placement_text(whole));
}

QString dim_text(const std::vector<std::string>& axes) {
  const QString before = "P(", behind = ", None)";
  return spec_text({{axes, {}}}).mid(before.size()).chopped(behind.size());
}

PartitionSpec parse_spec(const QString& text) {
  static const QRegularExpression module("^\\s*(\\w+\\.)+(?=P(artitionSpec)?\\s*\\()");
  const RulePlacement placement = parse_placement(QString(text).remove(module).toStdString());
  if (const auto* spec = std::get_if<PartitionSpec>(&placement)) return *spec;
  throw Failure(Error{"placement", "this is no spec", "", "a spec is P('data', None): an entry for each dimension"});
}

QString spec_fault(const QString& text) {
  try {
    parse_spec(text);
    return {};
  } catch (const Failure& failure) {
    const Error& error = failure.errors().front();
    const QString where = error.place.empty() ? QString() : qt(to_string(error.place)) + ": ";
    return where + qt(error.message) + (error.hint.empty() ? QString() : " (" + qt(error.hint) + ")");
  }
}

}  // namespace shardscope
