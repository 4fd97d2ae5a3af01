#include <QDirIterator>
#include <QFile>
#include <QJsonDocument>
#include <QJsonObject>
#include <QMap>
#include <QProcess>
#include <QRegularExpression>
#include <QSet>
#include <QTest>

#include <functional>

#include "tests/test_program.h"

namespace directions_test {

namespace {

const QString root = SHARDSCOPE_SOURCE_DIR;

// What each folder may include besides itself; what those may include is allowed too.
const QMap<QString, QStringList> may_use = {
    {"engine/base", {}},
    {"engine/mesh", {"engine/base"}},
    {"engine/graph", {"engine/base"}},
    {"engine/ops", {"engine/graph"}},
    {"engine/optim", {"engine/ops"}},
    {"models", {"engine/ops", "engine/config"}},
    {"engine/config", {"engine/base", "engine/mesh"}},
    {"engine/machine", {"engine/mesh", "engine/config"}},
    {"engine/program", {"engine/graph", "engine/mesh"}},
    {"engine/shard", {"engine/ops", "engine/program", "engine/config", "engine/machine"}},
    {"engine/simulate", {"engine/program", "engine/machine"}},
    {"engine/plan/schedules", {"engine/base", "engine/program"}},
    {"engine/data", {"engine/mesh"}},
    {"engine/plan", {"engine/shard", "engine/simulate", "engine/config", "engine/plan/schedules", "engine/data"}},
    {"engine/compile", {"engine/plan", "engine/optim", "models"}},
    {"engine/lint/rules", {"engine/plan"}},
    {"engine/lint", {"engine/compile", "engine/lint/rules"}},
    {"engine/search", {"engine/compile"}},
    {"engine/comm", {"engine/base"}},
    {"engine/runtime/kernels", {"engine/ops"}},
    {"engine/runtime", {"engine/plan", "engine/comm", "engine/runtime/kernels"}},
    {"engine/checkpoint", {"engine/program", "engine/mesh"}},
    {"engine/mpi_guard", {}},
    {"engine/session", {"engine/config", "engine/plan"}},
    {"engine/worker", {"engine/compile", "engine/runtime", "engine/checkpoint", "engine/session"}},
    {"viz/text", {"engine/plan", "engine/session"}},
    {"viz/paint", {"viz/text"}},
    {"engine/export", {"engine/compile", "engine/lint", "engine/session", "viz/text"}},
    {"engine/compare", {"engine/export"}},
    {"engine/cli/reference", {}},
    {"engine/cli",
     {"engine/cli/reference", "engine/session", "engine/worker", "engine/export", "engine/compare", "engine/lint",
      "engine/search", "viz/text"}},
    {"gui/look", {"viz/paint"}},
    {"gui/help", {"gui/look"}},
    {"gui/background", {}},
    {"gui/document", {"engine/compile"}},
    {"gui/planning", {"engine/lint"}},
    {"gui/run", {"gui/background", "gui/look", "gui/document", "gui/planning", "engine/session", "engine/checkpoint"}},
    {"gui/workspace", {"gui/run"}},
    {"gui/panels", {"gui/workspace"}},
    {"gui/pages", {"gui/workspace"}},
    {"gui/export", {"gui/workspace", "engine/export"}},
    {"gui/compare", {"gui/workspace", "engine/compare"}},
    {"gui/search", {"gui/compare", "engine/search", "engine/export"}},
    {"gui/window", {"gui/panels", "gui/pages", "gui/export", "gui/search", "gui/help"}},
};

struct Source {
  QString path;  // from the root
  QString folder;
  QString text;
  QStringList includes;
};

QString read_text(const QString& path) {
  QFile file(path);
  return file.open(QIODevice::ReadOnly) ? QString::fromUtf8(file.readAll()) : QString();
}

QList<Source> read_sources() {
  static const QRegularExpression include("^\\s*#\\s*include\\s*[<\"]([^>\"]+)[>\"]",
                                          QRegularExpression::MultilineOption);
  QList<Source> sources;
  for (const char* top : {"engine", "models", "viz", "gui"}) {
    QDirIterator files(root + "/" + top, {"*.h", "*.cpp"}, QDir::Files, QDirIterator::Subdirectories);
    while (files.hasNext()) {
      Source source;
      source.path = files.next().mid(root.size() + 1);
      source.folder = source.path.left(source.path.lastIndexOf('/'));
      source.text = read_text(files.filePath());
      for (auto match = include.globalMatch(source.text); match.hasNext();) source.includes += match.next().captured(1);
      sources += source;
    }
  }
  return sources;
}

const QList<Source>& sources() {
  static const QList<Source> all = read_sources();
  return all;
}

QSet<QString> allowed_from(const QString& folder) {
  QSet<QString> allowed = {folder};
  QStringList open = {folder};
  while (!open.isEmpty()) {
    for (const QString& used : may_use.value(open.takeLast())) {
      if (allowed.contains(used)) continue;
      allowed += used;
      open += used;
    }
  }
  return allowed;
}

QString without_comments(const QString& text) {
  static const QRegularExpression comment("\"(?:\\\\.|[^\"\\\\\n])*\"|/{2}[^\n]*|/[*].*?[*]/",
                                          QRegularExpression::DotMatchesEverythingOption);
  QString code;
  qsizetype end = 0;
  for (auto match = comment.globalMatch(text); match.hasNext();) {
    const QRegularExpressionMatch found = match.next();
    code += text.mid(end, found.capturedStart() - end);
    if (found.captured().startsWith('"')) code += found.captured();
    end = found.capturedEnd();
  }
  return code + text.mid(end);
}

void collect_names(const QJsonObject& tree, QSet<QString>& names) {
  for (auto entry = tree.begin(); entry != tree.end(); ++entry) {
    if (!entry.key().contains('*')) names.insert(entry.key());
    collect_names(entry.value().toObject(), names);
  }
}

// Names of models and of their parameters, as the presets say them.
QSet<QString> model_names() {
  QSet<QString> names;
  QDirIterator files(root + "/presets", {"*.json"}, QDir::Files);
  while (files.hasNext()) {
    const QJsonObject run = QJsonDocument::fromJson(read_text(files.next()).toUtf8()).object();
    names.insert(run["model"].toObject()["name"].toString());
    collect_names(run["sharding"].toObject()["parameters"].toObject(), names);
  }
  names.removeIf([](const QString& name) { return name.contains('*'); });
  return names;
}

// Files among `candidates` that include a header matching `header`.
QStringList including(const QString& header, const std::function<bool(const Source&)>& candidate) {
  const QRegularExpression pattern(QRegularExpression::anchoredPattern(header));
  QStringList found;
  for (const Source& source : sources()) {
    if (!candidate(source)) continue;
    for (const QString& include : source.includes) {
      if (pattern.match(include).hasMatch()) found += source.path + " includes " + include;
    }
  }
  return found;
}

// By which includes of ours a file comes to a header: "a.cpp, b.h, c.h"; empty where it does not.
QString way_to(const QString& header, const QString& file) {
  QMap<QString, QStringList> includes;
  for (const Source& source : sources()) includes[source.path] = source.includes;
  QMap<QString, QString> from = {{file, QString()}};
  for (QStringList open = {file}; !open.isEmpty();) {
    const QString at = open.takeFirst();
    if (at == header) {
      QStringList way;
      for (QString step = at; !step.isEmpty(); step = from[step]) way.prepend(step);
      return way.join(", ");
    }
    for (const QString& include : includes.value(at)) {
      if (from.contains(include) || !includes.contains(include)) continue;
      from[include] = at;
      open += include;
    }
  }
  return {};
}

bool anywhere(const Source&) { return true; }

const QString qt_header = "(Qt?[A-Z]\\w*(/.*)?|q[a-z]+\\.h)";

}  // namespace

class DirectionsTest : public QObject {
  Q_OBJECT

 private slots:
  void every_folder_with_sources_is_in_the_table() {
    QVERIFY(!sources().isEmpty());
    for (const Source& source : sources()) {
      QVERIFY2(may_use.contains(source.folder), qPrintable(source.path));
    }
  }

  void the_table_has_no_cycle() {
    QSet<QString> settled;
    for (bool progress = true; progress;) {
      progress = false;
      for (auto module = may_use.begin(); module != may_use.end(); ++module) {
        if (settled.contains(module.key()) || !settled.contains({module->begin(), module->end()})) continue;
        settled.insert(module.key());
        progress = true;
      }
    }
    QCOMPARE(settled.size(), may_use.size());
  }

  // A row of it is "| `engine/graph` | what it holds | `engine/base` |".
  void the_table_of_the_architecture_document_is_this_one() {
    static const QRegularExpression row("^\\| `([\\w/]+)` \\| [^|]+ \\| ([^|]*) \\|$",
                                        QRegularExpression::MultilineOption);
    static const QRegularExpression folder("`([\\w/]+)`");
    const QString document = read_text(root + "/docs/architecture.md");
    QMap<QString, QStringList> reported;
    for (auto match = row.globalMatch(document); match.hasNext();) {
      const QRegularExpressionMatch found = match.next();
      QStringList& used = reported[found.captured(1)];
      for (auto name = folder.globalMatch(found.captured(2)); name.hasNext();) used += name.next().captured(1);
    }
    QStringList wrong;
    for (auto module = may_use.begin(); module != may_use.end(); ++module) {
      QStringList used = *module, said = reported.value(module.key());
      used.sort();
      said.sort();
      if (!reported.contains(module.key()) || used != said)
        wrong += QString("%1 may use %2").arg(module.key(), used.isEmpty() ? "nothing" : used.join(", "));
    }
    for (const QString& module : reported.keys())
      if (!may_use.contains(module)) wrong += module + " is not a module";
    for (const QString& row : wrong) qWarning("%s", qPrintable(row));
    QVERIFY2(wrong.isEmpty(), "docs/architecture.md should say this");
  }

  void a_folder_includes_only_what_it_may_use() {
    QStringList wrong;
    for (const Source& source : sources()) {
      const QSet<QString> allowed = allowed_from(source.folder);
      for (const QString& include : source.includes) {
        const QString folder = include.left(include.lastIndexOf('/'));
        if (may_use.contains(folder) && !allowed.contains(folder)) wrong += source.path + " includes " + include;
      }
    }
    QVERIFY2(wrong.isEmpty(), qPrintable(wrong.join('\n')));
  }

  void an_include_of_ours_names_a_file_from_the_root() {
    static const QRegularExpression quoted("^\\s*#\\s*include\\s*\"([^\"]+)\"", QRegularExpression::MultilineOption);
    QStringList wrong;
    for (const Source& source : sources()) {
      for (auto match = quoted.globalMatch(source.text); match.hasNext();) {
        const QString include = match.next().captured(1);
        if (include.endsWith(".moc") || QFile::exists(root + "/" + include)) continue;
        wrong += source.path + " includes " + include;
      }
    }
    QVERIFY2(wrong.isEmpty(), qPrintable(wrong.join('\n')));
  }

  void the_engine_and_the_models_never_include_qt() {
    const QStringList wrong = including(qt_header, [](const Source& source) {
      return source.folder.startsWith("engine/") || source.folder == "models";
    });
    QVERIFY2(wrong.isEmpty(), qPrintable(wrong.join('\n')));
    QVERIFY(!including(qt_header, anywhere).isEmpty());
  }

  void only_the_gui_uses_widgets() {
    const QStringList wrong = including("(QtWidgets/.*|QWidget|QApplication|QMainWindow|QtCharts/.*|QChart.*)",
                                        [](const Source& source) { return source.folder.startsWith("viz/"); });
    QVERIFY2(wrong.isEmpty(), qPrintable(wrong.join('\n')));
  }

  // What they need of a run file is in the plan. Pages come to it by the document, which they edit, and not beside it.
  void those_who_run_or_show_a_plan_do_not_see_the_run_config() {
    const QString run_config = "engine/config/run_config.h";
    QVERIFY(!way_to(run_config, "engine/compile/compile.cpp").isEmpty());
    const QStringList without = {"engine/worker",  "engine/runtime",    "engine/runtime/kernels",
                                 "engine/session", "engine/checkpoint", "engine/simulate",
                                 "viz/text",       "viz/paint"};
    QStringList wrong;
    for (const Source& source : sources()) {
      const QString way = without.contains(source.folder) ? way_to(run_config, source.path) : QString();
      if (!way.isEmpty()) wrong += way;
    }
    // It compares the document with the run file of the plan that its edit was searched for.
    const QString edits_the_document = "gui/pages/flow_cause.cpp";
    wrong += including(
        "engine/config/run_config\\.h|engine/config/parse\\.h|engine/compile/document_of\\.h",
        [&](const Source& source) { return source.folder == "gui/pages" && source.path != edits_the_document; });
    QVERIFY2(wrong.isEmpty(), qPrintable(wrong.join('\n')));
  }

  void models_know_nothing_of_meshes() {
    static const QRegularExpression word("mesh|shard|partition|collective|device",
                                         QRegularExpression::CaseInsensitiveOption);
    for (const Source& source : sources()) {
      if (source.folder != "models") continue;
      const QRegularExpressionMatch match =
          word.match(without_comments(source.text).remove("shardscope").remove("init_device"));
      QVERIFY2(!match.hasMatch(), qPrintable(source.path + " says " + match.captured()));
    }
  }

  // A whole string literal that equals a name, or a name that only a model could have made.
  void no_model_or_parameter_name_occurs_in_shard_or_plan() {
    const QSet<QString> names = model_names();
    QVERIFY(names.contains("decoder_only_transformer") && names.contains("kernel"));
    QStringList wrong;
    for (const Source& source : sources()) {
      if (source.folder != "engine/shard" && source.folder != "engine/plan") continue;
      const QString code = without_comments(source.text);
      for (const QString& name : names) {
        const bool distinctive = name.contains('_');
        if (code.contains("\"" + name + "\"") || (distinctive && code.contains(name))) {
          wrong += source.path + " names " + name;
        }
      }
    }
    QVERIFY2(wrong.isEmpty(), qPrintable(wrong.join('\n')));
  }

  void mpi_is_included_only_where_the_file_name_says_so() {
    const QStringList wrong = including("mpi\\.h", [](const Source& source) {
      return source.folder != "engine/comm" || !source.path.section('/', -1).contains("mpi");
    });
    QVERIFY2(wrong.isEmpty(), qPrintable(wrong.join('\n')));
    QVERIFY(!including("mpi\\.h", anywhere).isEmpty());
  }

  void the_window_waits_for_no_process_no_connection_and_no_time() {
    static const QRegularExpression wait("\\b(waitFor[A-Z]\\w*|m?sleep|usleep|sleep_for|sleep_until)\\s*\\(");
    QStringList wrong;
    for (const Source& source : sources())
      if (source.folder.startsWith("gui/"))
        for (auto match = wait.globalMatch(without_comments(source.text)); match.hasNext();)
          wrong << source.path + " calls " + match.next().captured(1);
    QVERIFY2(wrong.isEmpty(), qPrintable(wrong.join('\n')));
  }

  void one_file_alone_includes_onednn() {
    QSet<QString> files;
    for (const QString& line : including("(oneapi/)?dnnl.*", anywhere)) files.insert(line.section(' ', 0, 0));
    QVERIFY2(files.size() == 1, qPrintable(QStringList(files.begin(), files.end()).join('\n')));
  }

  void the_build_links_only_what_may_be_used() {
    static const QRegularExpression module("^module\\((\\w+) (\\S+)([^)]*)\\)", QRegularExpression::MultilineOption);
    const QString lists = read_text(root + "/CMakeLists.txt");
    QMap<QString, QString> folders;
    for (auto match = module.globalMatch(lists); match.hasNext();) {
      const QRegularExpressionMatch found = match.next();
      folders[found.captured(1)] = found.captured(2);
    }
    for (const QString& folder : may_use.keys()) {
      const bool is_module = lists.contains(" MODULE " + folder + "/");
      QVERIFY2(is_module || folders.values().contains(folder), qPrintable(folder));
    }
    for (auto match = module.globalMatch(lists); match.hasNext();) {
      const QRegularExpressionMatch found = match.next();
      const QSet<QString> allowed = allowed_from(found.captured(2));
      for (const QString& link : found.captured(3).section("LINKS", 1).split(' ', Qt::SkipEmptyParts)) {
        if (!folders.contains(link)) continue;
        QVERIFY2(allowed.contains(folders[link]), qPrintable(found.captured(1) + " links " + link));
      }
    }
  }

  void the_windows_program_does_not_load_mpi() {
    const QString program = SHARDSCOPE_BINARY_DIR "/bin/shardscope";
    if (!QFile::exists(program)) QSKIP("the desktop program is not built");
    QProcess ldd;
    ldd.start("ldd", {program});
    QVERIFY(ldd.waitForFinished());
    QCOMPARE(ldd.exitCode(), 0);
    const QString libraries = QString::fromLocal8Bit(ldd.readAllStandardOutput());
    QVERIFY2(libraries.contains("libQt6Widgets"), qPrintable(libraries));
    QVERIFY2(!libraries.contains("libmpi"), qPrintable(libraries));
  }
};

REGISTER_TEST(DirectionsTest)

}  // namespace directions_test

#include "directions_test.moc"
