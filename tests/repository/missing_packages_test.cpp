#include <QProcess>
#include <QTemporaryDir>
#include <QTest>

#include "tests/test_program.h"

namespace missing_packages_test {

// What a copy of ./run says it needs, where dpkg gives all packages one status and nothing can be installed or built.
class MissingPackagesTest : public QObject {
  Q_OBJECT

  static QString said(const QByteArray& status) {
    const QTemporaryDir folder;
    QFile::copy(SHARDSCOPE_SOURCE_DIR "/run", folder.filePath("run"));
    const auto add_program = [&](const QString& name, const QByteArray& body) {
      QFile program(folder.filePath(name));
      if (!program.open(QIODevice::WriteOnly)) return;
      program.write("#!/usr/bin/env bash\n" + body);
      program.setPermissions(QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
    };
    for (const char* name : {"apt-get", "cmake", "sudo"}) add_program(name, "exit 1\n");
    add_program("dpkg-query", "line=${3//'${db:Status-Status}'/" + status +
                                  "}\n"
                                  "for name in \"${@:4}\"; do printf \"${line//'${Package}'/$name}\"; done\n");
    QProcess run;
    QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
    environment.insert("PATH", folder.path() + ":" + environment.value("PATH"));
    run.setProcessEnvironment(environment);
    run.start(folder.filePath("run"), {"build"});
    return run.waitForFinished() ? QString::fromUtf8(run.readAllStandardError()) : "does not end";
  }

 private slots:
  void a_package_that_dpkg_knows_but_has_not_installed_is_missing() {
    for (const char* status : {"not-installed", "config-files"}) {
      const QString text = said(status);
      QVERIFY2(text.contains("that are not installed:") && text.contains("  ninja-build "), qPrintable(text));
    }
  }

  void an_installed_package_is_not_missing() {
    const QString text = said("installed");
    QVERIFY2(text.startsWith("Configuring release"), qPrintable(text));
  }
};

REGISTER_CORE_TEST(MissingPackagesTest)

}  // namespace missing_packages_test

#include "missing_packages_test.moc"
