#include "engine/mesh/partition_spec.h"

#include <QTest>

#include "tests/mesh/golden_case.h"
#include "tests/mesh/random_case.h"
#include "tests/test_program.h"

namespace partition_spec_test {

using namespace shardscope;

namespace {

// The code of ours for the error that JAX raised; empty where it accepted the spec.
std::string code_of(const QJsonObject& object) {
  const QString type = object["error"].toString();
  const QString message = object["message"].toString();
  if (type == "DuplicateSpecError") return "duplicate_axis";
  if (type == "IndivisibleError") return "indivisible";
  if (message.contains("is not found in mesh")) return "unknown_axis";
  if (message.contains("is only valid for values of rank")) return "rank";
  return type.toStdString();
}

std::vector<Error> check_on_4x2(const std::vector<std::vector<std::string>>& dims, const Shape& shape) {
  return check({dims}, Mesh({{"data", 4}, {"model", 2}}), shape, "at");
}

}  // namespace

class PartitionSpecTest : public QObject {
  Q_OBJECT
 private slots:
  void specs_are_refused_as_jax_refuses_them() {
    const std::vector<GoldenCase> cases = golden_cases("errors.json");
    QCOMPARE(cases.size(), size_t{16});
    for (const GoldenCase& golden : cases) {
      const std::vector<Error> errors = check(golden.spec, golden.mesh, golden.shape, "at");
      const std::string code = code_of(golden.object);
      QVERIFY2(errors.empty() == code.empty(), golden.text().c_str());
      for (const Error& error : errors) {
        QVERIFY2(error.code == code, golden.text().c_str());
        QVERIFY(!error.message.empty() && !error.hint.empty());
        QVERIFY(to_string(error.place).starts_with("at"));
        const std::string words = "JAX says: " + golden.object["message"].toString().toStdString();
        const bool of_names = code == "duplicate_axis" || code == "unknown_axis";
        QVERIFY2(error.hint.ends_with(words) == of_names, error.hint.c_str());
      }
      if (code == "indivisible") {
        const QString first = QString::fromStdString(to_string(errors[0].place)).remove("at[").remove("]");
        QVERIFY(golden.object["message"].toString().contains("array axis " + first + " is partitioned"));
      }
    }
  }

  void an_indivisible_dimension_is_named_with_legal_sizes_and_axes() {
    const std::vector<Error> errors = check_on_4x2({{}, {"data"}}, {8, 6});
    QCOMPARE(errors.size(), size_t{1});
    QVERIFY(errors[0] == (Error{"indivisible", "dimension 1 of (8, 6) is split 4 ways by 'data'", "at[1]",
                                "nearest legal sizes 4 and 8; 6 is divided by 'model' (2)"}));
  }

  void every_indivisible_dimension_is_reported() {
    const std::vector<Error> errors = check_on_4x2({{"data"}, {"model"}}, {3, 7});
    QCOMPARE(errors.size(), size_t{2});
    QVERIFY(errors[0] == (Error{"indivisible", "dimension 0 of (3, 7) is split 4 ways by 'data'", "at[0]",
                                "nearest legal size 4; no free axis of the mesh divides 3"}));
    QCOMPARE(to_string(errors[1].place), std::string("at[1]"));
  }

  void the_sizes_that_the_hint_names_are_legal() {
    RandomCases cases(8);
    int tried = 0;
    for (int i = 0; i < 400; ++i) {
      const RandomCase one = cases.next();
      const PartitionSpec spec = to_spec(one.sharding, one.mesh);
      for (int dim = 0; dim < one.sharding.rank; ++dim) {
        Shape shape = one.shape;
        shape[dim] += 1;
        const std::vector<Error> errors = check(spec, one.mesh, shape, "at");
        if (shard_count(one.sharding, one.mesh, dim) == 1) {
          QVERIFY(errors.empty());
          continue;
        }
        QCOMPARE(errors.size(), size_t{1});
        QCOMPARE(to_string(errors[0].place), "at[" + std::to_string(dim) + "]");
        const QString hint = QString::fromStdString(errors[0].hint);
        for (const QString& word : hint.section(';', 0, 0).remove("nearest legal").split(' ', Qt::SkipEmptyParts)) {
          if (!word[0].isDigit()) continue;
          shape[dim] = word.toLongLong();
          QVERIFY2(check(spec, one.mesh, shape, "at").empty(), errors[0].hint.c_str());
          ++tried;
        }
      }
    }
    QVERIFY(tried > 100);
  }

  void an_axis_split_over_several_axes_names_each_with_its_size() {
    const std::vector<Error> errors = check_on_4x2({{"data", "model"}}, {12});
    QCOMPARE(errors.size(), size_t{1});
    QCOMPARE(errors[0].message, std::string("dimension 0 of (12,) is split 8 ways by 'data' (4) x 'model' (2)"));
    QCOMPARE(errors[0].hint,
             std::string("nearest legal sizes 8 and 16; 12 is divided by 'data' (4) and by 'model' (2)"));
  }

  void an_unknown_axis_is_named_with_near_names_or_all() {
    const std::vector<Error> errors = check_on_4x2({{"dat"}, {"tensor"}}, {8, 8});
    const std::string jax =
        "JAX says: Resource axis: dat of P('dat', 'tensor') is not found in mesh: ('data', 'model').";
    QCOMPARE(errors.size(), size_t{2});
    QVERIFY(errors[0] == (Error{"unknown_axis", "the mesh has no axis 'dat'", "at[0]",
                                "the mesh has 'data' and 'model'; did you mean 'data'? " + jax}));
    QVERIFY(errors[1] == (Error{"unknown_axis", "the mesh has no axis 'tensor'", "at[1]",
                                "the mesh has 'data' and 'model'; 'tensor' is another name for what is split over "
                                "'model' here; " +
                                    jax}));
  }

  void a_repeated_axis_is_named_with_all_its_places() {
    const std::vector<Error> errors = check_on_4x2({{"data"}, {}, {"model", "data"}}, {8, 8, 8});
    QCOMPARE(errors.size(), size_t{1});
    QVERIFY(errors[0] ==
            (Error{"duplicate_axis", "axis 'data' is named 2 times in PartitionSpec('data', None, ('model', 'data'))",
                   "at[2]",
                   "an axis may occur once in a spec; 'data' is at [0] and [2][1]; for example "
                   "PartitionSpec('data', None, 'model'); JAX says: A single NamedSharding spec specification can map "
                   "every mesh axis to at most one positional dimension, but P('data', None, ('model', 'data')) has "
                   "duplicate entries for `data`"}));
  }

  void a_name_of_another_mesh_is_reported_with_the_name_of_this_one_for_the_same() {
    const auto hint = [](const std::string& name, std::vector<MeshAxis> axes,
                         const std::vector<LogicalName>& logical = {}) {
      return unknown_axis_hint(name, Mesh(std::move(axes)), logical);
    };
    const std::vector<MeshAxis> slides{{"batch", 4}, {"model", 2}}, letters{{"x", 4}, {"y", 2}};
    const std::string other = "' is another name for what is split over ";
    QCOMPARE(hint("data", slides), "the mesh has 'batch' and 'model'; 'data" + other + "'batch' here");
    QCOMPARE(hint("tp", slides), "the mesh has 'batch' and 'model'; 'tp" + other + "'model' here");
    QCOMPARE(hint("Batch", {{"data", 2}, {"fsdp", 2}, {"seq", 2}}),
             "the mesh has 'data', 'fsdp' and 'seq'; 'Batch" + other + "'data' or 'fsdp' here");
    QCOMPARE(hint("data", letters), std::string("the mesh has 'x' and 'y'"));
    QCOMPARE(hint("stage", slides), std::string("the mesh has 'batch' and 'model'"));
    QCOMPARE(hint("modle", slides), std::string("the mesh has 'batch' and 'model'; did you mean 'model'?"));
    QCOMPARE(hint("hidden", slides, {{"hidden", "'model'", "sharding.rules[0].axes.hidden"}}),
             std::string("the mesh has 'batch' and 'model'; 'hidden' is a name of dimensions, which "
                         "sharding.rules[0].axes.hidden places on 'model': a spec takes that"));
    QCOMPARE(hint("data", {}), std::string("the mesh has no axes"));
  }

  void a_spec_longer_than_the_array_is_reported_how_many_entries_fit() {
    QVERIFY(check_on_4x2({{"data"}, {}, {}}, {8, 8}) ==
            (std::vector<Error>{{"rank", "the spec has 3 entries, but the array (8, 8) has 2 dimensions", "at",
                                 "at most 2 entries, one for each dimension"}}));
    QCOMPARE(check_on_4x2({{}}, {}).front().hint, std::string("a scalar takes an empty spec, []"));
  }

  void more_dimensions_than_a_sharding_holds_are_an_error() {
    QVERIFY_THROWS_EXCEPTION(Failure, Shape(7, 8));
    QCOMPARE(check_on_4x2(std::vector<std::vector<std::string>>(40), {8, 8}).front().code, std::string("rank"));
    QVERIFY_THROWS_EXCEPTION(Failure, to_sharding({{}}, Mesh(), 7));
    QVERIFY_THROWS_EXCEPTION(Failure, to_sharding({{{}, {}}}, Mesh(), 1));
  }

  void a_dimension_of_size_zero_divides_by_anything() {
    QVERIFY(check_on_4x2({{"data", "model"}}, {0}).empty());
    QCOMPARE(to_string(check_on_4x2({{"data"}, {"model"}}, {0, 7}).front().place), std::string("at[1]"));
  }

  void a_sharding_and_its_spec_mean_the_same() {
    RandomCases cases(9);
    for (int i = 0; i < 400; ++i) {
      const RandomCase one = cases.next();
      const PartitionSpec spec = to_spec(one.sharding, one.mesh);
      QCOMPARE(spec.dims.size(), one.shape.size());
      QVERIFY2(check(spec, one.mesh, one.shape, "").empty(), one.text().c_str());
      QVERIFY2(to_sharding(spec, one.mesh, one.sharding.rank) == one.sharding, one.text().c_str());
    }
  }

  void a_short_spec_replicates_the_trailing_dimensions() {
    RandomCases cases(10);
    for (int i = 0; i < 400; ++i) {
      const RandomCase one = cases.next();
      PartitionSpec spec = to_spec(one.sharding, one.mesh);
      while (!spec.dims.empty() && spec.dims.back().empty()) spec.dims.pop_back();
      QVERIFY2(to_sharding(spec, one.mesh, one.sharding.rank) == one.sharding, one.text().c_str());
    }
  }

  void a_spec_is_written_as_jax_writes_it() {
    QCOMPARE(to_string(PartitionSpec{}), std::string("PartitionSpec()"));
    QCOMPARE(to_string(PartitionSpec{{{"data"}, {}}}), std::string("PartitionSpec('data', None)"));
    QCOMPARE(to_string(PartitionSpec{{{}}}), std::string("PartitionSpec(None,)"));
    QCOMPARE(to_string(PartitionSpec{{{"data", "model"}}}), std::string("PartitionSpec(('data', 'model'),)"));
  }
};

REGISTER_TEST(PartitionSpecTest)

}  // namespace partition_spec_test

#include "partition_spec_test.moc"
