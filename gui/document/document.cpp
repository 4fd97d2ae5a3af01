#include "gui/document/document.h"

#include <QFileInfo>

#include "engine/compile/file_faults.h"
#include "engine/compile/file_paths.h"
#include "engine/config/strategy.h"
#include "engine/config/write.h"

namespace shardscope {
namespace {

std::string folder_of(const QString& path) { return QFileInfo(path).absolutePath().toStdString(); }

ReadRunFile read_whole(const QString& path) {
  ReadRunFile read = read_run_file(path.toStdString());
  read.config = with_absolute_paths(std::move(read.config), folder_of(path));
  if (!read.errors.empty()) throw Failure(all_faults(read, path.toStdString()));
  return read;
}

}  // namespace

class ConfigEdit : public QUndoCommand {
 public:
  ConfigEdit(Document& document, RunConfig after, const QString& text, const QString& merge_key)
      : QUndoCommand(text),
        document_(document),
        before_(document.config_),
        after_(std::make_shared<const RunConfig>(std::move(after))),
        merge_key_(merge_key),
        number_(document.open_edit_) {}

  int id() const override { return merge_key_.isEmpty() ? -1 : 1; }

  bool mergeWith(const QUndoCommand* other) override {
    const auto* next = static_cast<const ConfigEdit*>(other);
    if (next->merge_key_ != merge_key_ || next->number_ != number_) return false;
    after_ = next->after_;
    setText(next->text());
    setObsolete(*after_ == *before_);
    return true;
  }

  void redo() override {
    if (std::exchange(done_, true)) document_.close_edit();
    document_.set_config(after_);
  }
  void undo() override {
    document_.close_edit();
    document_.set_config(before_);
  }

 private:
  Document& document_;
  std::shared_ptr<const RunConfig> before_, after_;
  QString merge_key_;
  int number_;
  bool done_ = false;  // and may be done again
};

Document::Document(std::chrono::milliseconds pause) {
  pause_.setSingleShot(true);
  pause_.setInterval(pause);
  connect(&pause_, &QTimer::timeout, this, &Document::close_edit);
  connect(&undo_, &QUndoStack::cleanChanged, this, &Document::titleChanged);
}

QString Document::title() const { return path_.isEmpty() ? draft_name_ : QFileInfo(path_).fileName(); }

void Document::edit(RunConfig after, const QString& text, const QString& merge_key) {
  if (after == *config_) return;
  after.written_paths = config_->written_paths;
  // Values that do not follow from the strategy take its place.
  const bool leaves_strategy = after.strategy && !without_expansion(after);
  if (leaves_strategy) after.strategy.reset();
  undo_.push(new ConfigEdit(*this, std::move(after), text, merge_key));
  pause_.start();
  if (leaves_strategy) tell(tr("The strategy is written out: mesh and sharding are its own no longer."));
}

void Document::close_edit() {
  ++open_edit_;
  pause_.stop();
}

void Document::reset(RunConfig config, const QString& path, const QString& draft_name) {
  undo_.clear();
  path_ = path.isEmpty() ? path : QFileInfo(path).absoluteFilePath();
  draft_name_ = draft_name.isEmpty() ? tr("untitled") : draft_name;
  known_ = {};
  emit replaced();
  set_config(std::make_shared<const RunConfig>(std::move(config)));
  if (!path.isEmpty()) known_.config = config_;
  emit titleChanged();
}

void Document::load(const QString& path) {
  ReadRunFile read = read_whole(path);
  reset(std::move(read.config), path);
  known_.text = std::move(read.text);
}

void Document::reload() {
  ReadRunFile read = read_whole(path_);
  close_edit();
  edit(std::move(read.config), tr("reload %1").arg(title()));
  close_edit();
  known_ = {std::move(read.text), config_};
  undo_.setClean();
  emit titleChanged();
}

StoredFile Document::stored_file() const { return path_.isEmpty() ? StoredFile{} : look_at(path_, known_); }

void Document::save(const QString& path) {
  std::string text = write_run_config(with_relative_paths(*config_, folder_of(path)));
  replace_file(path.toStdString(), text);
  known_ = {std::move(text), config_};
  path_ = QFileInfo(path).absoluteFilePath();
  undo_.setClean();
  emit titleChanged();
}

void Document::set_config(std::shared_ptr<const RunConfig> config) {
  config_ = std::move(config);
  emit configChanged();
}

}  // namespace shardscope
