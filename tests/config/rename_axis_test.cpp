#include "engine/config/rename_axis.h"

#include <QTest>
#include <algorithm>

#include "tests/config/random_config.h"
#include "tests/test_program.h"

namespace rename_axis_test {

using namespace shardscope;

namespace {

// Every place of a config that names a mesh axis, in a fixed order.
std::vector<std::string> axis_names(const RunConfig& config) {
  std::vector<std::string> names;
  auto add = [&](const std::vector<std::string>& axes) { names.insert(names.end(), axes.begin(), axes.end()); };
  auto add_spec = [&](const PartitionSpec& spec) { std::for_each(spec.dims.begin(), spec.dims.end(), add); };
  for (const MeshAxis& axis : config.mesh_axes) names.push_back(axis.name);
  add_spec(config.sharding.in);
  add_spec(config.sharding.out);
  for (const ParameterSpec& parameter : config.sharding.parameters) add_spec(parameter.spec);
  for (const Constraint& constraint : config.sharding.constraints) add_spec(constraint.spec);
  for (const SpecRule& rule : config.sharding.rules) {
    if (auto* spec = std::get_if<PartitionSpec>(&rule.placement)) add_spec(*spec);
    if (auto* largest = std::get_if<LargestDimension>(&rule.placement)) add(largest->axes);
    if (auto* logical = std::get_if<LogicalAxes>(&rule.placement)) {
      for (const auto& [name, axes] : logical->axes) add(axes);
    }
  }
  names.insert(names.end(), config.sharding.zero.axes.begin(), config.sharding.zero.axes.end());
  return names;
}

}  // namespace

class RenameAxisTest : public QObject {
  Q_OBJECT

 private slots:
  void every_place_that_names_the_axis_follows_and_nothing_else_changes() {
    test::RandomConfigs configs(11);
    int renamed = 0;
    for (int i = 0; i < 1000; ++i) {
      const RunConfig config = configs.next();
      const std::string from = configs.name();
      const RunConfig changed = rename_axis(config, from, "fresh");
      std::vector<std::string> expected = axis_names(config);
      renamed += static_cast<int>(std::count(expected.begin(), expected.end(), from));
      std::replace(expected.begin(), expected.end(), from, std::string("fresh"));
      QVERIFY(axis_names(changed) == expected);
      QVERIFY(rename_axis(changed, "fresh", from) == config);
    }
    QVERIFY(renamed > 500);
  }

  void logical_names_and_patterns_stay() {
    RunConfig config;
    config.sharding.rules = {{"model", LogicalAxes{{{"model", {"model"}}}}, {SpecKind::parameter}}};
    const RunConfig changed = rename_axis(config, "model", "tensor");
    QVERIFY(changed.sharding.rules[0] ==
            (SpecRule{"model", LogicalAxes{{{"model", {"tensor"}}}}, {SpecKind::parameter}}));
  }
};

REGISTER_TEST(RenameAxisTest)

}  // namespace rename_axis_test

#include "rename_axis_test.moc"
