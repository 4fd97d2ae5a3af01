#pragma once

#include <QTest>
#include <source_location>

namespace shardscope::tests {

// The tests of one module are one program: `bin/config_tests parse_test [QtTest's arguments]` runs those of
// tests/config/parse_test.cpp. A file ends with one of these lines, outside of functions, in the namespace of its
// class:
//   REGISTER_TEST(ParseTest)          without an application object
//   REGISTER_CORE_TEST(TrainTest)     with a QCoreApplication
//   REGISTER_WINDOW_TEST(LayoutTest)  with a QApplication, or a QGuiApplication where Qt Widgets are not linked
// In a unity build several are one translation unit: hence the namespaces, each with its file's name.
using RunTest = int (*)(int argc, char** argv);

// The test is called by the name of its file. Adds it; the value is of no meaning.
bool register_test(RunTest run, std::source_location file = std::source_location::current());
// What the program does when its first argument is not the name of a test: it then acts as the product's program.
bool register_program(RunTest run);

template <class Application, class Test>
int run_in_application(int argc, char** argv) {
  Application application(argc, argv);
  application.setAttribute(Qt::AA_Use96Dpi, true);
  Test test;
  return QTest::qExec(&test, argc, argv);
}

template <class Test>
int run_alone(int argc, char** argv) {
  Test test;
  return QTest::qExec(&test, argc, argv);
}

}  // namespace shardscope::tests

#if defined(QT_WIDGETS_LIB)
#define SHARDSCOPE_WINDOW_APPLICATION QApplication
#elif defined(QT_GUI_LIB)
#define SHARDSCOPE_WINDOW_APPLICATION QGuiApplication
#endif

#define REGISTER_TEST(Test) \
  static const bool is_registered = shardscope::tests::register_test(shardscope::tests::run_alone<Test>);
#define REGISTER_CORE_TEST(Test)    \
  static const bool is_registered = \
      shardscope::tests::register_test(shardscope::tests::run_in_application<QCoreApplication, Test>);
#define REGISTER_WINDOW_TEST(Test)  \
  static const bool is_registered = \
      shardscope::tests::register_test(shardscope::tests::run_in_application<SHARDSCOPE_WINDOW_APPLICATION, Test>);
