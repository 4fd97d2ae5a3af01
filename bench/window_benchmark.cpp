// window_benchmark [FILE] [SIZE] [ROUNDS]: the CPU time that the window's thread spends in each turn of its event loop,
// at 1600x1000, while a person opens a file, edits and changes pages: networks of 2 to 200 layers, meshes of 8 to
// 16,384 devices. A turn is one call of processEvents(): from an event that arrives to the next wait, painting
// included, without what the planner's thread does. One row a size and kind of act: how many turns there were and the
// longest three, the medians of so many rounds (5), each in a window of its own: on a shared machine a turn takes now
// and then half as long again. The last line counts those of all rounds. SIZE: only those whose title has this text,
// such as "200 layers". Last a million events of a recorded step, as 64 ranks and as one: the page Timeline over them,
// zoomed and panned from all of it to a single event.

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <time.h>

#include <QApplication>
#include <QCheckBox>
#include <QComboBox>
#include <QElapsedTimer>
#include <QKeyEvent>
#include <QLineEdit>
#include <QTimer>
#include <QToolButton>
#include <algorithm>
#include <cstdlib>
#include <functional>
#include <tuple>

#include "bench/median.h"
#include "engine/config/parse.h"
#include "engine/config/write.h"
#include "gui/document/edits.h"
#include "gui/look/appearance.h"
#include "gui/pages/timeline_canvas.h"
#include "gui/pages/timeline_page.h"
#include "gui/window/window.h"

namespace {

using namespace shardscope;

constexpr double limit_ms = 16;
constexpr int quiet_ms = 120;  // without work after an act: its consequences are over

double thread_ms() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return double(now.tv_sec) * 1e3 + double(now.tv_nsec) * 1e-6;
}

struct Act {
  std::string name;
  std::vector<double> turns;  // milliseconds, the longest first
};

// What all rounds together say.
class Report {
 public:
  Report() { fmt::print("{:<34} {:<18} {:>5}  milliseconds of the longest turns\n", "size", "act", "turns"); }

  void add(const std::string& title, const std::vector<std::vector<Act>>& rounds) {
    for (size_t act = 0; act < rounds.front().size(); ++act) {
      const auto middle = [&](const auto& of) {
        std::vector<double> samples;
        for (const std::vector<Act>& round : rounds) samples.push_back(of(round.at(act).turns));
        return median(std::move(samples));
      };
      fmt::print("{:<34} {:<18} {:>5}", title, rounds.front()[act].name,
                 middle([](const std::vector<double>& turns) { return double(turns.size()); }));
      for (size_t i = 0; i < 3; ++i)
        fmt::print(" {:>8.2f}",
                   middle([i](const std::vector<double>& turns) { return i < turns.size() ? turns[i] : 0; }));
      const double longest = middle([](const std::vector<double>& turns) { return turns.front(); });
      fmt::print("{}\n", longest > limit_ms ? "  over" : "");
      longest_ = std::max(longest_, longest);
      for (const std::vector<Act>& round : rounds) count(round[act].turns);
    }
    std::fflush(stdout);
  }

  void finish() const {
    fmt::print("the longest: {:.2f} ms; of all {} turns {} took more than {} ms, the longest {:.2f}\n", longest_,
               turns_, over_, limit_ms, longest_of_all_);
  }

 private:
  void count(const std::vector<double>& turns) {
    turns_ += turns.size();
    over_ += std::ranges::count_if(turns, [](double turn) { return turn > limit_ms; });
    longest_of_all_ = std::max(longest_of_all_, turns.front());
  }

  size_t turns_ = 0;
  std::ptrdiff_t over_ = 0;
  double longest_ = 0, longest_of_all_ = 0;
};

class Session {
 public:
  explicit Session(const RunConfig& config, PlanSource source = compiled_plans()) {
    window_ = std::make_unique<MainWindow>(std::move(source), QString());
    window_->resize(1600, 1000);
    window_->show();
    settle();
    act("open", [&] { document().reset(config, {}); });
  }

  // Acts, then lets the event loop turn until nothing is left to do; the act itself is a turn.
  void act(const std::string& name, const std::function<void()>& doing) {
    turns_.clear();
    QTimer::singleShot(0, window_.get(), doing);
    settle();
    std::ranges::sort(turns_, std::greater());
    acts_.push_back({name, turns_});
  }

  // Acts so often, each in a turn of its own, as one row.
  void act_often(const std::string& name, int times, const std::function<void()>& doing) {
    QTimer repeat;
    QObject::connect(&repeat, &QTimer::timeout, &repeat, [&] {
      if (--times < 0) return repeat.stop();
      doing();
    });
    act(name, [&] { repeat.start(0); });
  }

  std::vector<Act> finish() {
    act("close", [&] { document().reset({}, {}); });
    window_.reset();
    return std::move(acts_);
  }

  Document& document() { return window_->workspace().document; }
  MainWindow& window() { return *window_; }

 private:
  void turn() {
    const double before = thread_ms();
    QCoreApplication::processEvents(QEventLoop::WaitForMoreEvents);
    turns_.push_back(thread_ms() - before);
  }

  void settle() {
    QTimer tick;
    tick.start(10);
    QElapsedTimer quiet;
    quiet.start();
    while (quiet.elapsed() < quiet_ms) {
      turn();
      if (!window_->is_settled() || turns_.back() > 1) quiet.restart();
    }
  }

  std::unique_ptr<MainWindow> window_;
  std::vector<double> turns_;
  std::vector<Act> acts_;
};

RunConfig sized(RunConfig config, int64_t layers, const std::vector<int64_t>& mesh) {
  for (auto& [name, value] : config.model.options)
    if (name == "num_layers") value = layers;
  config.mesh_axes = {{"data", mesh[0]}, {"model", mesh[1]}};
  for (size_t axis = 2; axis < mesh.size(); ++axis)
    config.mesh_axes.push_back({fmt::format("axis_{}", axis), mesh[axis]});
  return config;
}

std::vector<Act> measure(const RunConfig& config) {
  Session session(config);
  Document& document = session.document();
  const ParameterRef embedding{{"params", "Embed_0", "embedding"}};
  const int64_t data = config.mesh_axes[0].size, layers = std::get<int64_t>(*config.model.find("num_layers"));
  for (const char* page : {"flow", "memory", "collectives", "timeline", "pipeline", "compare", "layout"}) {
    session.act(fmt::format("page {}", page), [&] { session.window().show_page(page); });
    session.act("  mesh size", [&] { set_axis_size(document, 0, data / 2); });
    session.act("  undo", [&] { document.undo_stack().undo(); });
    session.act("  spec", [&] { set_spec_dim(document, embedding, 2, 1, {}); });
    session.act("  undo", [&] { document.undo_stack().undo(); });
    session.act("  mode", [&] { set_mode(document, LayoutMode::as_written); });
    session.act("  undo", [&] { document.undo_stack().undo(); });
  }
  session.act("one layer more", [&] { set_option(document, OptionGroup::model, "num_layers", layers + 1); });
  session.act("undo", [&] { document.undo_stack().undo(); });
  session.act("an illegal size", [&] { set_axis_size(document, 0, 3); });
  session.act("undo", [&] { document.undo_stack().undo(); });
  session.act("select", [&] { session.window().workspace().selection.select_array(embedding); });
  auto* state = session.window().findChild<QCheckBox*>("showsState");
  if (state) session.act("optimizer state", [&] { state->click(); });
  auto* filter = session.window().findChild<QLineEdit*>("filter");
  if (filter) {
    session.act("filter", [&] { filter->setText("kernel"); });
    session.act("no filter", [&] { filter->clear(); });
  }
  return session.finish();
}

// A plan without a model: local work and all-gathers by turns.
Plan long_plan(const RunConfig& config, int steps) {
  if (config.mesh_axes.empty()) throw Failure(Error{"empty", "there is no mesh", "mesh.axes", ""});
  Plan plan;
  plan.run_file = write_run_config(config);
  plan.mesh = Mesh(config.mesh_axes);
  auto graph = std::make_shared<Graph>();
  graph->ops.resize(64);
  for (size_t i = 0; i < graph->ops.size(); ++i) {
    graph->ops[i].name = fmt::format("Block_{}/Dense_0/einsum", i);
    graph->ops[i].place.layer = static_cast<int>(i);
  }
  Task task{"forward", Phase::forward, {}, {}, {}};
  std::vector<double> seconds;
  for (int i = 0; i < steps; ++i) {
    Instruction& instruction = task.instructions.emplace_back();
    instruction.op = static_cast<OpId>(i % 64);
    if (i % 4 == 2) {
      CollectiveStart gather;
      gather.axes.push_back(0);
      instruction.body = std::move(gather);
    }
    if (i % 4 == 3) instruction.body = CollectiveDone{InstructionKind::all_gather, i - 1, {}};
    seconds.push_back(i % 4 == 2 ? 20e-6 : i % 4 == 3 ? 0 : 50e-6);
  }
  plan.graph = graph;
  plan.program.tasks = {std::move(task)};
  plan.program.sequences = {make_sequence(Purpose::train_step, {{0}}, plan.program.tasks)};
  plan.instruction_seconds.tasks = {std::move(seconds)};
  plan.simulation = simulate(plan.program, *graph, plan.mesh, Purpose::train_step, plan.instruction_seconds);
  plan.arenas[0].length = steps;
  plan.pipeline.totals = {plan.totals};
  return plan;
}

TraceMessage long_trace(const Plan& plan) {
  TraceMessage trace{TraceChoice::median, 12, std::vector<std::vector<PlanStepTime>>(size_t(plan.mesh.device_count()))};
  uint64_t random = 1;
  for (std::vector<PlanStepTime>& times : trace.ranks) {
    int64_t at = 0;
    times.reserve(size_t(plan.instructions().size()));
    for (const Instruction& instruction : plan.instructions()) {
      random = random * 6364136223846793005 + 1442695040888963407;
      const auto some = static_cast<int64_t>(random >> 48);  // up to 65 us
      const int64_t start = at + (instruction.as<CollectiveDone>() ? some : 0), end = start + 1000 + some;
      times.push_back({at, start, end});
      at = end;
    }
  }
  return trace;
}

std::vector<Act> measure_trace(const RunConfig& config, int64_t ranks, int steps) {
  RunConfig own = config;
  own.mesh_axes = {{"data", ranks}};
  PlanSource source{[&](const RunConfig& wanted, std::stop_token) { return long_plan(wanted, steps); },
                    [](const RunConfig&) { return std::vector<ParameterInfo>(); }};
  Session session(own, source);
  session.act("page timeline", [&] { session.window().show_page("timeline"); });
  RunControl& run = session.window().workspace().run;
  const std::shared_ptr<const Plan> plan = session.window().workspace().planner.plan();
  HelloMessage hello;
  hello.plan_hash = plan->hash;
  hello.ranks = static_cast<int>(ranks);
  hello.plan_steps = plan_step_names(*plan);
  session.act("a run", [&] {
    run.begin_replay(plan);
    run.receive(std::move(hello));
  });
  TraceMessage trace = long_trace(*plan);
  session.act("a trace", [&] { run.receive(std::move(trace)); });
  auto* canvas = session.window().findChild<TimelineCanvas*>();
  for (const auto& [name, key, times] : {std::tuple("zoom in", Qt::Key_W, 45),
                                         {"pan", Qt::Key_D, 10},
                                         {"zoom out", Qt::Key_S, 45},
                                         {"scroll", Qt::Key_PageDown, 1}}) {
    session.act_often(name, times, [&] {
      QKeyEvent press(QEvent::KeyPress, key, {});
      QCoreApplication::sendEvent(canvas, &press);
    });
  }
  session.act_often("drag", 50, [&, x = 0]() mutable {
    canvas->show_window(canvas->seconds() * 0.001 * x, canvas->seconds() * (0.5 + 0.001 * x));
    ++x;
  });
  session.act("folded", [&] { session.window().findChild<QToolButton*>("timelineFold")->click(); });
  session.act("layers", [&] { session.window().findChild<QComboBox*>("timelineColoring")->setCurrentIndex(1); });
  return session.finish();
}

}  // namespace

int main(int argc, char** argv) {
  if (qEnvironmentVariableIsEmpty("QT_QPA_PLATFORM")) qputenv("QT_QPA_PLATFORM", "offscreen");
  QApplication application(argc, argv);
  try {
    apply_theme(application, ThemeChoice::light);
    const RunConfig config = load_run_config(argc > 1 ? argv[1] : "presets/parallax_decoder.json");
    const std::string wanted = argc > 2 ? argv[2] : "";
    const int rounds = argc > 3 ? std::max(1, std::atoi(argv[3])) : 5;
    Report report;
    const auto run = [&](const std::string& title, const std::function<std::vector<Act>()>& measure_once) {
      if (title.find(wanted) == std::string::npos) return;
      std::vector<std::vector<Act>> all;
      for (int round = 0; round < rounds; ++round) all.push_back(measure_once());
      report.add(title, all);
    };
    const auto run_edits = [&](int64_t layers, const std::vector<int64_t>& mesh) {
      const RunConfig one = sized(config, layers, mesh);
      run(fmt::format("{} layers, {} devices", layers, fmt::join(mesh, "x")), [&] { return measure(one); });
    };
    for (int64_t layers : {2, 12, 50, 200}) run_edits(layers, {4, 2});
    const std::vector<std::vector<int64_t>> meshes{{8, 8}, {32, 16}, {4, 2, 8, 64}, {64, 256}, {4, 4, 4, 4, 4, 4, 4}};
    for (const std::vector<int64_t>& mesh : meshes) run_edits(12, mesh);
    for (const auto& [ranks, steps] : {std::pair(64, 15625), {1, 1000000}})
      run(fmt::format("{} ranks, {} events", ranks, int64_t{ranks} * steps),
          [&, ranks = ranks, steps = steps] { return measure_trace(config, ranks, steps); });
    report.finish();
    return 0;
  } catch (const Failure& failure) {
    fmt::print(stderr, "{}\n", failure.what());
    return 2;
  }
}
