#include "gui/window/exports.h"

#include <QApplication>
#include <QClipboard>
#include <QDir>
#include <QFileDialog>
#include <QFileInfo>
#include <QMessageBox>

#include "engine/base/cancelled.h"
#include "engine/base/units.h"
#include "engine/compile/compile.h"
#include "engine/compile/file_paths.h"
#include "engine/config/read_file.h"
#include "engine/export/jax_specs_file.h"
#include "engine/plan/value_stages.h"
#include "gui/document/text.h"
#include "gui/export/picture_file.h"
#include "gui/pages/trace_box.h"
#include "gui/search/search_page.h"
#include "gui/workspace/array_facts.h"
#include "viz/text/visualize.h"

namespace shardscope {
namespace {

constexpr int bar_after_ms = 200;
constexpr int bar_parts = 1000;

Exported save(const ExportWish& wish, const QPicture& picture, QSize size, ExportTarget::Options options) {
  const std::string path = wish.path.toStdString();
  const std::stop_token stop = options.stop;
  ExportTarget target(path, ExportTarget::Form::file, std::move(options));
  write_picture(picture, size, *picture_form(qt(wish.kind->name)), wish.scale, target.part(), stop, path);
  target.keep();
  return {path, target.bytes(), {}};
}

// What the window keeps of a run is thinned out: the whole is in the record on disk, where there is one.
ExportSource with_record(ExportSource source, const std::string& folder) {
  if (!source.run || !RecordedRun::is_at(folder)) return source;
  std::vector<TraceMessage> shown = std::move(source.run->traces);
  source.run = measured_run(std::make_shared<const RecordedRun>(folder));
  source.run->traces = std::move(shown);
  return source;
}

QString name_of_page(const QTabWidget& pages, int index) { return pages.tabText(index).remove('&').toLower(); }

QString page_name(const QTabWidget& pages) { return name_of_page(pages, pages.currentIndex()); }

}  // namespace

Exports::Exports(Workspace& workspace, Centre& centre, QWidget& window)
    : QObject(&window), workspace_(workspace), centre_(centre), window_(window), job_([this](Outcome outcome) {
        take(std::move(outcome));
      }) {
  bar_timer_.setInterval(50);
  connect(&bar_timer_, &QTimer::timeout, this, [this] {
    if (bar_) bar_->setValue(int(share_->load() * bar_parts));
  });
}

void Exports::choose() {
  if (is_busy()) return;
  if (!workspace_.planner.plan()) return emit reported(tr("There is no plan to export."));
  const Document& document = workspace_.document;
  const QString folder = last_.path.isEmpty()
                             ? document.path().isEmpty() ? QDir::homePath() : QFileInfo(document.path()).path()
                             : QFileInfo(last_.path).path();
  take_page_kinds();
  ExportDialog dialog(folder, QFileInfo(document.title()).completeBaseName(), page_name(*centre_.pages()),
                      workspace_.matching_run() != nullptr, last_, page_kinds_, &window_);
  if (dialog.exec() == QDialog::Accepted) start(dialog.wish());
}

// Those of the page that is seen; the last choice stays where there is still such a kind.
void Exports::take_page_kinds() {
  const std::string last = last_.kind ? last_.kind->name : "";
  const auto* search = dynamic_cast<const SearchPage*>(centre_.current_page());
  page_kinds_ = search ? search->export_kinds() : std::vector<ExportKind>();
  last_.kind = nullptr;
  for (const std::vector<ExportKind>* kinds :
       std::initializer_list<const std::vector<ExportKind>*>{&export_kinds(), &std::as_const(page_kinds_)})
    for (const ExportKind& kind : *kinds)
      if (kind.name == last) last_.kind = &kind;
}

void Exports::start(ExportWish wish) {
  if (is_busy()) return emit reported(tr("The export before this one is not done yet."));
  last_ = wish;
  const std::string& page = wish.choice.page;
  if (wish.kind->shows_step(page)) wish.choice.trace = shown_trace(page.empty() ? "timeline" : qt(page));
  if (!wish.kind->is_picture) {
    const std::string record = workspace_.run.stored().record.toStdString();
    return write(wish, [wish, record, from = source()](ExportTarget::Options options) {
      return export_source(*wish.kind, with_record(from, record), wish.choice, wish.path.toStdString(),
                           std::move(options));
    });
  }
  if (wish.choice.page == "run" && !workspace_.run.record().newest())
    return fail(tr("Nothing was written"),
                {Error{"no_run", "there is no run to draw the curves of", "", "train first"}});
  show_bar(tr("Drawing %1").arg(wish.path));
  record(qt(wish.choice.page), wish.size, wish.choice.trace.value_or(TraceChoice::median),
         [this, wish](const QPicture& picture, QSize size) {
           write(wish, [wish, picture, size](ExportTarget::Options options) {
             return save(wish, picture, size, std::move(options));
           });
         });
}

void Exports::record(const QString& page, QSize size, TraceChoice trace,
                     std::function<void(const QPicture&, QSize)> take) {
  recorder_ = std::make_unique<PageRecorder>(workspace_, page, size, trace, &centre_);
  connect(recorder_.get(), &PageRecorder::recorded, this, [this, take](const QPicture& picture, QSize drawn) {
    recorder_.release()->deleteLater();
    take(picture, drawn);
  });
}

std::optional<TraceChoice> Exports::shown_trace(const QString& page) const {
  const QTabWidget& pages = *centre_.pages();
  for (int i = 0; i < pages.count(); ++i) {
    const auto* box = pages.widget(i)->findChild<TraceBox*>();
    if (box && name_of_page(pages, i) == page) return box->choice();
  }
  return std::nullopt;
}

void Exports::write(const ExportWish& wish, std::function<Exported(ExportTarget::Options)> how) {
  work(tr("Exporting %1").arg(wish.path),
       [how, overwrite = wish.overwrite, inputs = inputs(), share = share_](const std::stop_token& stop) {
         ExportTarget::Options options;
         options.existing = overwrite ? Existing::overwrite : Existing::refuse;
         options.inputs = inputs;
         options.stop = stop;
         options.on_progress = [share](double done) { share->store(done); };
         return Outcome{how(std::move(options)), {}, {}, false};
       });
}

void Exports::show_bar(const QString& label) {
  share_->store(0);
  if (bar_) return bar_->setLabelText(label);
  bar_ = std::make_unique<QProgressDialog>(label, tr("Cancel"), 0, bar_parts, &window_);
  bar_->setObjectName("exportProgress");
  bar_->setWindowTitle(tr("Export"));
  bar_->setMinimumDuration(bar_after_ms);
  bar_->setAutoClose(false);
  bar_->setAutoReset(false);
  bar_->setValue(0);
  connect(bar_.get(), &QProgressDialog::canceled, this, &Exports::cancel);
  bar_timer_.start();
}

// What is being written tells itself how it ended: it may be there already.
void Exports::cancel() {
  if (job_.is_busy()) return job_.stop();
  recorder_.reset();
  take({{}, {}, {}, true});
}

void Exports::work(const QString& label, std::function<Outcome(const std::stop_token&)> how) {
  show_bar(label);
  job_.make([how = std::move(how)](const std::stop_token& stop) -> Outcome {
    try {
      return how(stop);
    } catch (const Cancelled&) {
      return {{}, {}, {}, true};
    } catch (const Failure& failure) {
      return {{}, {}, failure.errors(), false};
    }
  });
}

void Exports::hide_bar() {
  bar_timer_.stop();
  if (!bar_) return;
  bar_->hide();
  bar_.release()->deleteLater();
}

void Exports::take(Outcome outcome) {
  hide_bar();
  if (outcome.cancelled) return emit reported(tr("Cancelled; nothing was written."));
  if (outcome.config) {
    if (workspace_.document.shared_config() != imported_into_)
      return emit reported(tr("The run file has changed meanwhile."));
    if (*outcome.config == *imported_into_)
      return emit reported(tr("Everything is sharded so already: %1").arg(imported_));
    workspace_.document.edit(std::move(*outcome.config), tr("specs of %1").arg(QFileInfo(imported_).fileName()));
    return emit reported(tr("Imported %1").arg(imported_));
  }
  if (!outcome.exported) return fail(tr("Nothing was written"), outcome.errors);
  last_.is_named = false;
  QString text = tr("Exported %1, %2").arg(qt(outcome.exported->path), qt(bytes_text(double(outcome.exported->bytes))));
  for (const std::string& note : outcome.exported->notes) text += ", " + qt(note);
  emit reported(text);
}

void Exports::fail(const QString& title, const std::vector<Error>& errors) {
  QStringList texts;
  for (const Error& error : errors) texts << qt(to_string(error));
  auto* box = new QMessageBox(QMessageBox::Warning, title, texts.join("\n"), QMessageBox::Ok, &window_);
  box->setObjectName("exportFailed");
  box->setAttribute(Qt::WA_DeleteOnClose);
  box->open();
}

std::vector<std::string> Exports::inputs() const {
  std::vector<std::string> inputs = input_paths(workspace_.document.config());
  if (!workspace_.document.path().isEmpty()) inputs.push_back(workspace_.document.path().toStdString());
  return inputs;
}

ExportSource Exports::source() const {
  ExportSource source{workspace_.planner.plan(), {}, inputs(), {}};
  const RunRecord* run = workspace_.matching_run();
  if (!run) return source;
  MeasuredRun measured;
  for (TraceChoice choice : {TraceChoice::median, TraceChoice::slowest, TraceChoice::latest})
    if (const TraceMessage* trace = run->trace(choice)) measured.traces.push_back(*trace);
  measured.replay = [hello = run->hello, steps = run->steps()](const std::function<void(const Message&)>& take) {
    if (hello) take(*hello);
    for (const StepMessage& step : steps) take(step);
  };
  source.run = std::move(measured);
  return source;
}

void Exports::copy_picture() {
  if (is_busy()) return emit reported(tr("The export before this one is not done yet."));
  if (!workspace_.planner.plan()) return emit reported(tr("There is no plan to draw."));
  const QString page = page_name(*centre_.pages());
  show_bar(tr("Drawing page %1").arg(page));
  record(page, centre_.pages()->currentWidget()->size(), shown_trace(page).value_or(TraceChoice::median),
         [this, page](const QPicture& picture, QSize size) {
           hide_bar();
           const QImage image = picture_image(picture, size, window_.devicePixelRatioF());
           if (image.isNull())
             return emit reported(tr("The picture of page %1 is too large to copy: export it").arg(page));
           QApplication::clipboard()->setImage(image);
           emit reported(tr("Copied the picture of page %1").arg(page));
         });
}

void Exports::copy_layout() {
  const std::shared_ptr<const Plan> plan = workspace_.planner.plan();
  const std::optional<ArrayFacts> facts = array_facts(workspace_, workspace_.selection.array());
  if (!plan || !facts || !facts->sharding || !divides(*facts->sharding, plan->mesh, facts->shape))
    return emit reported(tr("There is no array to copy the layout of."));
  QApplication::clipboard()->setText(
      qt(visualize_sharding(*facts->sharding, plan->mesh, facts->shape, devices_of_stages(*plan, facts->stages))));
  emit reported(tr("Copied the layout of %1").arg(facts->title));
}

void Exports::choose_specs() {
  const QString path = QFileDialog::getOpenFileName(&window_, tr("Import specs"), QFileInfo(last_.path).path(),
                                                    tr("Specs (*.json);;All files (*)"));
  if (!path.isEmpty()) import_specs(path);
}

void Exports::import_specs(const QString& path) {
  if (is_busy()) return;
  imported_ = path;
  imported_into_ = workspace_.document.shared_config();
  work(tr("Importing %1").arg(path), [config = imported_into_, file = path.toStdString()](const std::stop_token& stop) {
    const std::string text = read_file(file);
    throw_if_stopped(stop);
    return Outcome{{}, with_specs(*config, text, file), {}, false};
  });
}

}  // namespace shardscope
