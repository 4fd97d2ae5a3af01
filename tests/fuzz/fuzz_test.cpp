#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <QTemporaryDir>
#include <QtTest>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <regex>

#include "tests/fuzz/campaign.h"

using namespace shardscope::fuzz;

namespace {

std::string line_of(const TargetResult& result) {
  return fmt::format("{:<12}{:>9} inputs{:>9} refused{:>5} findings   slowest {:.3f} s (number {})\n", result.name,
                     result.inputs, result.refused, result.findings.size(), result.slowest_seconds, result.slowest);
}

std::string text_of(const Finding& finding) {
  return fmt::format("{}, number {}: {}\n{}", finding.target, finding.number, finding.what.substr(0, 600),
                     finding.report.substr(0, 3000));
}

struct LongForm {
  Campaign campaign;
  int64_t inputs = 0;
  std::string only, folder;
  int64_t show = -1;
};

int show_input(const LongForm& form) {
  for (const Target& target : all_targets()) {
    if (std::regex_search(target.name, std::regex(form.only))) {
      std::cout << input_of_number(target, form.campaign.seed, form.show);
    }
  }
  return 0;
}

// Writes each input that was answered wrongly into the folder.
int run_long_form(LongForm form) {
  const std::regex only(form.only);
  std::vector<Target> targets = all_targets();
  std::erase_if(targets, [&](const Target& target) { return !std::regex_search(target.name, only); });
  int64_t findings = 0;
  std::string table;
  for (const Target& target : targets) {
    form.campaign.inputs = form.inputs / std::ssize(targets) / target.dearness;
    const TargetResult result = run_campaign(target, form.campaign);
    table += line_of(result);
    fmt::print(stderr, "{}", line_of(result));
    for (const Finding& finding : result.findings) {
      fmt::print("{}\n", text_of(finding));
      const auto path = std::filesystem::path(form.folder) / fmt::format("{} {}", target.name, finding.number);
      std::filesystem::create_directories(form.folder);
      std::ofstream(path, std::ios::binary) << input_of_number(target, form.campaign.seed, finding.number);
    }
    findings += std::ssize(result.findings);
  }
  fmt::print("{}", table);
  if (findings > 0) fmt::print("the inputs of the findings are in {}\n", form.folder);
  return findings > 0;
}

int long_form(int argc, char** argv) {
  LongForm form;
  form.folder = SHARDSCOPE_BINARY_DIR "/fuzz-findings";
  CLI::App app("Gives the program mutants of its inputs", "fuzz");
  app.add_option("--inputs", form.inputs, "of all kinds together")->required();
  app.add_option("--seed", form.campaign.seed, "of the mutants");
  app.add_option("--first", form.campaign.first, "number");
  app.add_option("--seconds", form.campaign.seconds, "of processor time that an input may take (2 in a release build)");
  app.add_option("--only", form.only, "kinds whose name holds this regular expression");
  app.add_option("--show", form.show, "print the input of this number instead");
  CLI11_PARSE(app, argc, argv);
  return form.show >= 0 ? show_input(form) : run_long_form(form);
}

}  // namespace

class FuzzTest : public QObject {
  Q_OBJECT

 private slots:
  void no_input_ends_the_program_or_is_refused_without_a_place_data() {
    QTest::addColumn<int>("index");
    const std::vector<Target> targets = all_targets();
    for (size_t i = 0; i < targets.size(); ++i) QTest::newRow(targets[i].name.c_str()) << static_cast<int>(i);
  }

  void no_input_ends_the_program_or_is_refused_without_a_place() {
    QFETCH(int, index);
    const Target target = all_targets()[static_cast<size_t>(index)];
    Campaign campaign;
    campaign.inputs = 600 / target.dearness;
    campaign.seconds = 60;
    const TargetResult result = run_campaign(target, campaign);
    QVERIFY2(result.findings.empty(), result.findings.empty() ? "" : text_of(result.findings[0]).c_str());
  }
};

int main(int argc, char** argv) {
  const QTemporaryDir scratch;  // of the inputs that are files
  std::filesystem::current_path(scratch.path().toStdString());
  if (argc > 1 && std::string(argv[1]).starts_with("--inputs")) return long_form(argc, argv);
  FuzzTest test;
  return QTest::qExec(&test, argc, argv);
}
#include "fuzz_test.moc"
