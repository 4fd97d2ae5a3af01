#include "gui/planning/legal_sizes.h"

#include <QStringList>
#include <algorithm>
#include <set>

#include "engine/config/strategy.h"

namespace shardscope {
namespace {

constexpr int64_t all_below = 16;
constexpr size_t most_named = 10;

void add_divisors(int64_t number, std::set<int64_t>& sizes) {
  for (int64_t size = 1; size <= LegalSizes::largest && size * size <= number; ++size) {
    if (number % size != 0) continue;
    sizes.insert(size);
    if (number / size <= LegalSizes::largest) sizes.insert(number / size);
  }
}

// Then the axis may have the same sizes.
bool is_same_but_for(const RunConfig& one, const RunConfig& other, int axis) {
  const auto at = static_cast<size_t>(axis);
  if (one.mesh_axes.size() != other.mesh_axes.size() || at >= one.mesh_axes.size()) return false;
  RunConfig alike = with_axis_size(one, axis, other.mesh_axes[at].size);
  alike.mesh_devices = other.mesh_devices;
  return alike == other;
}

}  // namespace

RunConfig with_axis_size(RunConfig config, int axis, int64_t size) {
  MeshAxis& changed = config.mesh_axes.at(static_cast<size_t>(axis));
  if (!config.strategy) {
    changed.size = size;
    return config;
  }
  StrategyConfig strategy = *config.strategy;
  *find_degree(strategy, changed.name) = size;
  return with_strategy(std::move(config), std::move(strategy));
}

LegalSizes::LegalSizes(PlanSource source, QObject* parent) : QObject(parent), source_(std::move(source)) {
  connect(this, &LegalSizes::arrived, this, &LegalSizes::receive, Qt::QueuedConnection);
  thread_ = std::jthread([this](const std::stop_token& stop) { work(stop); });
}

LegalSizes::~LegalSizes() = default;

void LegalSizes::forget() {
  config_.reset();
  sizes_.clear();
  ++number_;
}

void LegalSizes::request(std::shared_ptr<const RunConfig> config, int axis) {
  if (config != config_) {
    const bool differs_there_alone = config_ && is_same_but_for(*config_, *config, axis);
    const auto kept = of(axis);
    config_ = config;
    ++number_;
    sizes_.clear();
    if (differs_there_alone && kept) sizes_[axis] = kept;
  }
  if (!sizes_.emplace(axis, std::nullopt).second) return;  // it is known, or on its way
  {
    const std::lock_guard lock(mutex_);
    if (wanted_ != number_) waiting_.clear();
    wanted_ = number_;
    waiting_.push_back({number_, std::move(config), axis});
  }
  wake_.notify_one();
}

std::optional<std::vector<int64_t>> LegalSizes::of(int axis) const {
  const auto found = sizes_.find(axis);
  return found == sizes_.end() ? std::nullopt : found->second;
}

std::optional<int64_t> LegalSizes::next(int axis, int64_t size, bool up) const {
  const std::optional<std::vector<int64_t>> sizes = of(axis);
  if (!sizes) return std::nullopt;
  if (up) {
    const auto above = std::ranges::upper_bound(*sizes, size);
    return above == sizes->end() ? size : *above;
  }
  const auto at = std::ranges::lower_bound(*sizes, size);
  return at == sizes->begin() ? size : *(at - 1);
}

std::vector<int64_t> LegalSizes::candidates(const RunConfig& config) const {
  std::set<int64_t> sizes;
  for (int64_t size = 1; size <= all_below; ++size) sizes.insert(size);
  for (int64_t size = 1; size <= LegalSizes::largest; size *= 2) sizes.insert(size);
  std::set<int64_t> numbers;
  for (const NamedOptions* section : {&config.model, &config.data})
    for (const auto& [name, value] : section->options)
      if (const auto* number = std::get_if<int64_t>(&value)) numbers.insert(*number);
  try {
    for (const ParameterInfo& info : source_.parameters(config))
      numbers.insert(info.type.shape.begin(), info.type.shape.end());
  } catch (const std::exception&) {
    // A model that cannot be built has no legal mesh either.
  }
  for (const int64_t number : numbers) add_divisors(number, sizes);
  return {sizes.begin(), sizes.end()};
}

bool LegalSizes::is_legal(const RunConfig& config, const std::stop_token& stop) const {
  try {
    if (source_.check) return source_.check(config).empty();
    source_.plan(config, stop);
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

void LegalSizes::work(const std::stop_token& stop) {
  while (true) {
    Request request;
    {
      std::unique_lock lock(mutex_);
      if (!wake_.wait(lock, stop, [this] { return !waiting_.empty(); })) return;
      request = std::move(waiting_.front());
      waiting_.erase(waiting_.begin());
    }
    const auto is_stale = [&] {
      const std::lock_guard lock(mutex_);
      return stop.stop_requested() || wanted_ != request.number;
    };
    Found found{request, {}};
    RunConfig asked = *request.config;
    asked.mesh_devices.clear();
    bool stale = false;
    try {
      for (const int64_t size : candidates(asked)) {
        if ((stale = is_stale())) break;
        if (is_legal(with_axis_size(asked, request.axis, size), stop)) found.sizes.push_back(size);
      }
    } catch (const Cancelled&) {
      return;
    }
    if (stale) continue;
    {
      const std::lock_guard lock(mutex_);
      found_.push_back(std::move(found));
    }
    emit arrived();
  }
}

void LegalSizes::receive() {
  std::vector<Found> found;
  {
    const std::lock_guard lock(mutex_);
    found.swap(found_);
  }
  for (Found& one : found) {
    if (one.request.number != number_) continue;
    sizes_[one.request.axis] = std::move(one.sizes);
    emit known(one.request.axis);
  }
}

QString sizes_text(const std::vector<int64_t>& sizes) {
  QStringList texts;
  for (size_t i = 0; i < std::min(sizes.size(), most_named); ++i) texts << QString::number(sizes[i]);
  if (sizes.size() > most_named) return texts.join(", ") + QString(" %1").arg(QChar(0x2026));
  if (texts.size() < 2) return texts.join(QString());
  const QString last = texts.takeLast();
  return LegalSizes::tr("%1 or %2").arg(texts.join(", "), last);
}

}  // namespace shardscope
