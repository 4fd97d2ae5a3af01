#pragma once

#include <QString>
#include <optional>
#include <vector>

#include "gui/window/workspace.h"

namespace shardscope {

// What is known of an array of the selection (see selection.h), joined from the config, which is newest, and the last
// good plan.
struct ArrayFacts {
  QString key;
  QString title;  // "Embed_0/embedding"
  QString kind;   // "parameter", "optimizer state", "model input", "model output", "forward value"
  Shape shape;
  DType dtype = DType::f32;
  bool editable = false;              // has a spec of its own in the run file
  bool named = false;                 // and the file names it
  PartitionSpec spec;                 // of editable ones, as the config says it
  std::optional<Sharding> sharding;   // in the plan
  QString why;                        // where the layout came from
  std::vector<ValueId> graph_values;  // it and what belongs to it: gradient, state, updated value
};

std::optional<ArrayFacts> array_facts(const Workspace& workspace, const QString& key);

// Positions of the steps that communicate one of the array's values, ascending.
std::vector<int> collectives_of(const Plan& plan, const ArrayFacts& facts);

// What of the bytes that a device sends in `step` is for the array: its share of a bucket of several arrays.
double wire_share(const Plan& plan, const Step& step, const ArrayFacts& facts);

// The errors at a place of the run file or below it.
std::vector<Error> errors_at(const std::vector<Error>& errors, const QString& place);
// Message and hint of errors, one a line; empty without errors.
QString errors_text(const std::vector<Error>& errors);

// The first of the causes of a bucket of arrays, one a line, and how many more there are; a single cause as it is.
QString short_cause(const QString& cause);

QString parameter_key(const std::vector<std::string>& path);
QString state_key(const std::string& state, const std::vector<std::string>& path);
QString value_key(const std::string& name);
QString qt(const std::string& text);

}  // namespace shardscope
