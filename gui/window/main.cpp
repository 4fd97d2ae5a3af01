#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <QApplication>
#include <QCommandLineParser>
#include <QDir>
#include <QFileInfo>
#include <QScreen>
#include <QSocketNotifier>
#include <QStandardPaths>
#include <QStyle>
#include <QTimer>
#include <cstdio>

#include "engine/base/error.h"
#include "engine/base/standard_streams.h"
#include "engine/compile/compile.h"
#include "engine/export/export_kind.h"
#include "engine/machine/host_machine.h"
#include "engine/session/recorded_run.h"
#include "gui/document/edits.h"
#include "gui/document/text.h"
#include "gui/export/picture_file.h"
#include "gui/look/appearance.h"
#include "gui/run/chart_picture.h"
#include "gui/window/page_recorder.h"
#include "gui/window/presets.h"
#include "gui/window/window.h"
#include "gui/workspace/array_facts.h"

using namespace shardscope;

namespace {

constexpr int no_display = 3;
constexpr int bad_input = 2;
constexpr int interrupted = 130;
constexpr int smallest_file = 0;  // the most effort of packing

// Qt ends the process when it finds no display; this says it in words first.
bool has_display(int count, char** arguments) {
  for (int i = 1; i < count; ++i)
    if (QByteArray(arguments[i]) == "-platform") return true;
  return !qEnvironmentVariableIsEmpty("DISPLAY") || !qEnvironmentVariableIsEmpty("WAYLAND_DISPLAY") ||
         !qEnvironmentVariableIsEmpty("QT_QPA_PLATFORM");
}

int fail(const QString& message) {
  std::fprintf(stderr, "shardscope: %s\n", qPrintable(message));
  return bad_input;
}

std::optional<QSize> size_of(const QCommandLineParser& options) {
  const std::optional<PictureSize> size = picture_size(options.value("size").toStdString());
  return size ? std::optional(QSize(size->width, size->height)) : std::nullopt;
}

QString shardrun_path() { return QDir(QApplication::applicationDirPath()).filePath("shardrun"); }

void name_program() {
  QCoreApplication::setApplicationName("shardscope");
  QCoreApplication::setOrganizationName("shardscope");
  QCoreApplication::setApplicationVersion("0.1.0");
}

QList<QCommandLineOption> own_options() {
  return {{"screenshot", "Render the window to a PNG file and exit.", "FILE.png"},
          {"size", "Window size; with --export the least size of the picture.", "WxH", "1280x800"},
          {"page", "Page to show: layout, flow, memory, collectives, timeline, pipeline, compare; --export also run.",
           "NAME"},
          {"select", "Array to select, such as Embed_0/embedding or in.", "PARAM"},
          {"train", "Start training; pictures are taken at the end of the run."},
          {"loss-plot", "Train, write the loss curve to a picture (SVG or PNG) and exit.", "FILE"},
          {"fit-plot", "Train, write the data and the model's predictions of them likewise.", "FILE"},
          {"export", "Draw a page into a file and exit: svg, png or pdf.", "KIND"},
          {"out", "The file that --export writes.", "FILE"},
          {"record", "Recorded run of the file's plan; --export shows what it measured.", "FOLDER"},
          {"trace", "Recorded step to show: latest, slowest, median.", "CHOICE", "median"},
          {"scale", "Pixels of a PNG for each of the page.", "N", "2"},
          {{"machine", "profile"},
           "Plan for this machine, host, one that 'shardrun machines' lists, or a file, in place of the run file's.",
           "NAME"},
          {"theme", "light or dark; the last choice when left out.", "NAME"}};
}

void add_options(QCommandLineParser& parser) {
  parser.setApplicationDescription("Design, see and train how a neural network is split over a device mesh.");
  parser.addHelpOption();
  parser.addVersionOption();
  parser.addPositionalArgument("FILE", "Run file to open; a preset when left out.", "[FILE]");
  parser.addOptions(own_options());
}

// What is wrong with the words of the command line.
QString fault_of(const QCommandLineParser& parser) {
  if (parser.unknownOptionNames().isEmpty()) return parser.errorText();
  std::vector<std::string> known{"help", "version"};
  for (const QCommandLineOption& option : own_options()) known.push_back(option.names().front().toStdString());
  const QString name = parser.unknownOptionNames().front();
  return QString("there is no option '--%1' (%2)").arg(name, qt(name_hint(name.toStdString(), known)));
}

// What needs no display: --help and --version end the process here.
void answer_without_display(int count, char** arguments) {
  QCoreApplication application(count, arguments);
  name_program();
  QCommandLineParser parser;
  add_options(parser);
  if (parser.parse(QCoreApplication::arguments()) &&
      (parser.isSet("help") || parser.isSet("help-all") || parser.isSet("version")))
    parser.process(application);
}

// What is written before the window goes: itself, and charts of the run; empty names are not.
struct Pictures {
  QString window, loss, fit;

  bool any() const { return !window.isEmpty() || of_run(); }
  bool of_run() const { return !loss.isEmpty() || !fit.isEmpty(); }
};

int save_window(MainWindow& window, const QString& file) {
  const QImage picture = window.grab().toImage().convertToFormat(QImage::Format_RGB888);
  return picture.save(file, nullptr, smallest_file) ? 0 : fail(QString("cannot write %1").arg(file));
}

int save_chart(MainWindow& window, const char* kind, const QString& file) {
  QChartView* chart = window.run_panel().curves().chart(kind);
  if (!chart) return fail(QString("this run has no %1 to draw").arg(kind));
  return save_picture(*chart, file) ? 0 : fail(QString("cannot write %1").arg(file));
}

int save_pictures(MainWindow& window, const Pictures& pictures) {
  int code = 0;
  if (!pictures.window.isEmpty()) code = save_window(window, pictures.window);
  if (code == 0 && !pictures.loss.isEmpty()) code = save_chart(window, "loss", pictures.loss);
  if (code == 0 && !pictures.fit.isEmpty()) code = save_chart(window, "fit", pictures.fit);
  return code;
}

// Takes the pictures once the first plan (or its errors) are there, or at the end of the training run that it starts.
void take_pictures(MainWindow& window, const Pictures& pictures, bool train) {
  const auto shoot = [&window, pictures] {
    auto* timer = new QTimer(&window);
    // What the last news changed is laid out a turn after it.
    QObject::connect(timer, &QTimer::timeout, &window, [&window, timer, pictures, settled = 0]() mutable {
      settled = window.is_settled() ? settled + 1 : 0;
      if (settled < 3) return;
      timer->stop();
      QApplication::exit(save_pictures(window, pictures));
    });
    timer->start(50);
  };
  Planner& planner = window.workspace().planner;
  const auto planned = [&window, shoot, train] {
    if (!train || !window.workspace().planner.is_current()) return shoot();
    RunControl& run = window.workspace().run;
    QObject::connect(&run, &RunControl::received, &window, [&run, shoot] {
      if (!run.is_active()) shoot();
    });
    window.train();
  };
  if (planner.is_busy()) {
    QObject::connect(&planner, &Planner::delivered, &window, planned, Qt::SingleShotConnection);
  } else {
    planned();
  }
}

void select_when_planned(MainWindow& window, const QString& name, bool required) {
  Planner& planner = window.workspace().planner;
  const auto select = [&window, &planner, name, required] {
    if (const std::optional<ArrayRef> array = find_array(planner, name))
      return window.workspace().selection.select_array(*array);
    const int code = fail(QString("there is no array %1").arg(name));
    if (required) QApplication::exit(code);
  };
  QObject::connect(&planner, &Planner::delivered, &window, select, Qt::SingleShotConnection);
}

// Draws a page of the plan of a run file, without a window. How far it is is said on standard output, line by line.
class PageExport : public QObject {
 public:
  PageExport(PlanSource source, const QCommandLineParser& options)
      : workspace_(std::move(source), shardrun_path()), options_(options) {
    workspace_.document.load(options.positionalArguments().value(0));
    connect(&workspace_.planner, &Planner::delivered, this, &PageExport::take_plan, Qt::SingleShotConnection);
  }

 private:
  void take_plan() {
    const Planner& planner = workspace_.planner;
    if (!planner.errors().empty()) return fail_with(planner.errors());
    tell("planned");
    if (!options_.isSet("record")) return draw();
    try {
      const RecordedRun recorded(options_.value("record").toStdString());
      workspace_.run.begin_replay(planner.plan());
      recorded.replay([this](const Message& message) { workspace_.run.receive(message); });
    } catch (const Failure& failure) {
      return fail_with(failure.errors());
    }
    connect(&workspace_.run, &RunControl::received, this, &PageExport::draw, Qt::SingleShotConnection);
  }

  void draw() {
    const Planner& planner = workspace_.planner;
    select_first_array(workspace_);
    if (options_.isSet("select")) {
      const std::optional<ArrayRef> array = find_array(planner, options_.value("select"));
      if (!array) return QApplication::exit(fail(QString("there is no array %1").arg(options_.value("select"))));
      workspace_.selection.select_array(*array);
    }
    try {
      recorder_ = std::make_unique<PageRecorder>(workspace_, options_.value("page"), *size_of(options_),
                                                 *trace_choice(options_.value("trace").toStdString()));
    } catch (const Failure& failure) {
      return fail_with(failure.errors());
    }
    connect(recorder_.get(), &PageRecorder::recorded, this, &PageExport::write);
  }

  void write(const QPicture& picture, QSize size) {
    tell("painted");
    try {
      write_picture(picture, size, *picture_form(options_.value("export")), options_.value("scale").toDouble(),
                    options_.value("out").toStdString());
      QApplication::exit(0);
    } catch (const Failure& failure) {
      fail_with(failure.errors());
    }
  }

  static void tell(const char* step) {
    std::puts(step);
    std::fflush(stdout);
  }

  void fail_with(const std::vector<Error>& errors) {
    for (const Error& error : errors) std::fprintf(stderr, "%s\n", to_string(error).c_str());
    QApplication::exit(bad_input);
  }

  Workspace workspace_;
  const QCommandLineParser& options_;
  std::unique_ptr<PageRecorder> recorder_;
};

PlanSource plan_source(const QString& machine) {
  PlanSource source = compiled_plans();
  if (machine.isEmpty()) return source;
  source.plan = [machine = find_machine(machine.toStdString())](const RunConfig& config, std::stop_token stop) {
    return compile({config, with_hosts(machine, ranks_per_host(hosts_of(config)))}, stop);
  };
  return source;
}

// Ctrl-C and kill end the run that the window watches, then the window; nothing of either is left.
int signal_pipe[2];

void end_on_signals(MainWindow& window) {
  if (::pipe2(signal_pipe, O_CLOEXEC | O_NONBLOCK) != 0) return;
  auto* notifier = new QSocketNotifier(signal_pipe[0], QSocketNotifier::Read, &window);
  QObject::connect(notifier, &QSocketNotifier::activated, &window, [&window] {
    RunControl& run = window.workspace().run;
    const auto end = [&run] {
      if (!run.is_active()) QApplication::exit(interrupted);
    };
    QObject::connect(&run, &RunControl::stateChanged, &window, end);
    run.end_now();
    end();
  });
  struct sigaction action {};
  action.sa_handler = [](int) { [[maybe_unused]] const auto written = ::write(signal_pipe[1], "", 1); };
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaction(signal, &action, nullptr);
}

int draw_page(const QCommandLineParser& options) {
  if (!picture_form(options.value("export"))) return fail("--export is svg, png or pdf");
  if (!trace_choice(options.value("trace").toStdString())) return fail("--trace is latest, slowest or median");
  if (options.value("out").isEmpty() || options.positionalArguments().size() != 1)
    return fail("--export takes --out FILE and a run file");
  if (options.value("scale").toDouble() <= 0) return fail("--scale is a number above 0");
  try {
    QApplication::setQuitOnLastWindowClosed(false);
    PageExport drawing(plan_source(options.value("machine")), options);
    return QApplication::exec();
  } catch (const Failure& failure) {
    return fail(QString::fromUtf8(failure.what()));
  }
}

// Offers what an earlier program left unsaved, as soon as the window is there.
// Of a window whose frame is on the screen, too: how large that is the window manager says only when it is shown.
QSize available_size(const MainWindow& window) {
  return window.screen()->availableSize() - QSize(2, window.style()->pixelMetric(QStyle::PM_TitleBarHeight));
}

void keep_session(MainWindow& window) {
  const QString folder = QStandardPaths::writableLocation(QStandardPaths::AppDataLocation) + "/unsaved";
  QTimer::singleShot(0, &window, [&window, folder] { window.keep_session(folder); });
}

}  // namespace

int main(int count, char** arguments) {
  set_up_process();
  answer_without_display(count, arguments);
  if (!has_display(count, arguments)) {
    std::fprintf(
        stderr,
        "shardscope: there is no display (neither DISPLAY nor WAYLAND_DISPLAY is set).\n"
        "Train without a window with 'shardrun train FILE', or set QT_QPA_PLATFORM=offscreen for screenshots.\n");
    return no_display;
  }
  QApplication application(count, arguments);
  name_program();
  QApplication::setApplicationDisplayName("Shardscope");

  QCommandLineParser parser;
  add_options(parser);
  if (!parser.parse(QCoreApplication::arguments())) return fail(fault_of(parser));

  const QString look = parser.value("theme");
  if (!look.isEmpty() && look != "light" && look != "dark") return fail("--theme is light or dark");
  const Pictures pictures{parser.value("screenshot"), parser.value("loss-plot"), parser.value("fit-plot")};
  const bool screenshot = pictures.any(), train = parser.isSet("train") || pictures.of_run();
  apply_theme(application, look.isEmpty()   ? (screenshot ? ThemeChoice::system : remembered_theme())
                           : look == "dark" ? ThemeChoice::dark
                                            : ThemeChoice::light);

  const std::optional<QSize> size = size_of(parser);
  if (!size) return fail("--size: " + qt(picture_size_rule()));
  if (parser.isSet("export")) return draw_page(parser);
  MainWindow window(compiled_plans(), shardrun_path());
  QApplication::setWindowIcon(themed_icon("shardscope"));
  QSize wanted = *size;
  if (!screenshot && !parser.isSet("size")) wanted = wanted.boundedTo(available_size(window));
  window.resize(wanted);
  if (!screenshot && !parser.isSet("size")) window.remember_arrangement();
  if (!parser.value("page").isEmpty() && !window.show_page(parser.value("page")))
    return fail(window.findChild<Centre*>()->no_page(parser.value("page")));
  const bool keeps = !screenshot && !parser.isSet("size");
  if (parser.positionalArguments().isEmpty()) {
    if (!keeps || !window.restore_session()) window.files().open_preset(default_preset);
  } else if (!window.files().open_file(parser.positionalArguments().front()) && screenshot) {
    return fail("the run file could not be read");
  }
  if (parser.isSet("machine")) choose_machine(window.workspace().document, parser.value("machine"));
  if (parser.isSet("select")) select_when_planned(window, parser.value("select"), screenshot);
  if (!screenshot) window.keep_history();
  window.show();
  end_on_signals(window);
  if (keeps) keep_session(window);
  if (screenshot) {
    take_pictures(window, pictures, train);
  } else if (train) {
    QObject::connect(&window.workspace().planner, &Planner::delivered, &window, &MainWindow::train,
                     Qt::SingleShotConnection);
  }
  return QApplication::exec();
}
