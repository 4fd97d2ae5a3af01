#pragma once

#include <QTest>
#include <cmath>

#include "tests/laws/training_agreement.h"
#include "tests/parity/golden_file.h"

namespace shardscope::test {

struct Tolerance {
  double relative, absolute = 0;
};

inline bool near(double got, double expected, Tolerance tolerance) {
  return std::abs(got - expected) <= tolerance.relative * std::abs(expected) + tolerance.absolute;
}

// `initial`: of each parameter by name its first and last elements, its sum and its sum of squares.
inline void compare_initial(const ThreadTraining& start, const QJsonObject& initial) {
  QCOMPARE(static_cast<qsizetype>(start.parameters.size()), initial.size());
  for (const auto& [name, values] : start.parameters) {
    QVERIFY2(initial.contains(name.c_str()), name.c_str());
    const QJsonValue expected = initial[QString::fromStdString(name)];
    for (int i = 0; i < 4; ++i) {
      QVERIFY2(near(values[static_cast<size_t>(i)], expected["first"][i].toDouble(), {0, 1e-6}), name.c_str());
    }
    QVERIFY2(near(values.back(), expected["last"].toDouble(), {0, 1e-6}), name.c_str());
    double sum = 0, squares = 0, size = 0;
    for (float value : values) sum += value, squares += static_cast<double>(value) * value, size += std::abs(value);
    QVERIFY2(near(sum, expected["sum"].toDouble(), {0, 1e-6 * size}), name.c_str());
    QVERIFY2(near(squares, expected["sumsq"].toDouble(), {0, 1e-6 * squares}), name.c_str());
  }
}

inline void compare_losses(const ThreadTraining& training, const QJsonArray& losses, Tolerance tolerance) {
  QCOMPARE(static_cast<qsizetype>(training.steps.size()), losses.size());
  for (qsizetype s = 0; s < losses.size(); ++s) {
    const double got = value_of(training.steps[static_cast<size_t>(s)].metrics, "loss"), loss = losses[s].toDouble();
    QVERIFY2(near(got, loss, tolerance), qPrintable(QString("step %1: loss %2, JAX %3").arg(s).arg(got).arg(loss)));
  }
}

inline void compare_norm(const std::string& name, const std::vector<float>& values, double wanted,
                         Tolerance tolerance) {
  QVERIFY2(near(norm(values), wanted, tolerance),
           qPrintable(QString("%1: norm %2, JAX %3").arg(name.c_str()).arg(norm(values)).arg(wanted)));
}

}  // namespace shardscope::test
