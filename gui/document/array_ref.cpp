#include "gui/document/array_ref.h"

#include <QObject>
#include <QStringList>
#include <span>

#include "gui/document/text.h"

namespace shardscope {
namespace {

QString joined(std::span<const std::string> path) {
  QStringList segments;
  for (const std::string& segment : path) segments << qt(segment);
  return segments.join('/');
}

QString short_path(std::span<const std::string> path) {
  const bool in_params = path.size() > 1 && path.front() == "params";
  return joined(path.subspan(in_params ? 1 : 0));
}

struct Name {
  QString operator()(std::monostate) const { return {}; }
  QString operator()(const ParameterRef& array) const { return joined(array.path); }
  QString operator()(const StateRef& array) const { return "optimizer/" + qt(array.state) + "/" + joined(array.path); }
  QString operator()(InputRef) const { return "in"; }
  QString operator()(OutputRef) const { return "out"; }
  QString operator()(const ValueRef& array) const { return qt(array.name); }
};

struct Title : Name {
  using Name::operator();
  QString operator()(const ParameterRef& array) const { return short_path(array.path); }
  QString operator()(const StateRef& array) const { return short_path(array.path); }
  QString operator()(InputRef) const { return QObject::tr("model input"); }
  QString operator()(OutputRef) const { return QObject::tr("model output"); }
};

}  // namespace

bool has_spec(const ArrayRef& array) {
  return std::holds_alternative<ParameterRef>(array) || std::holds_alternative<InputRef>(array) ||
         std::holds_alternative<OutputRef>(array);
}

QString name_of(const ArrayRef& array) { return std::visit(Name{}, array); }

QString title_of(const ArrayRef& array) { return std::visit(Title{}, array); }

}  // namespace shardscope
