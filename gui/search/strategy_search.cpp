#include "gui/search/strategy_search.h"

#include <algorithm>
#include <utility>

#include "gui/planning/errors_of_work.h"

namespace shardscope {
namespace {

constexpr int news_every_ms = 100;

}  // namespace

StrategySearch::StrategySearch(QObject* parent)
    : QObject(parent), job_([this](Outcome outcome) { take(std::move(outcome)); }, thread_) {
  timer_.setInterval(news_every_ms);
  connect(&timer_, &QTimer::timeout, this, &StrategySearch::take_news);
}

StrategySearch::Outcome StrategySearch::run(const RunConfig& config, const SearchWish& wish, News& news,
                                            const std::stop_token& stop) {
  std::unordered_set<int> known;
  Outcome outcome;
  outcome.errors = errors_of_work([&] {
    const auto request = std::make_shared<const SearchRequest>(search_request(config, wish));
    {
      const std::lock_guard lock(news.mutex);
      news.request = request;
    }
    outcome.result = search(*request, stop, [&](const SearchProgress& progress) {
      const std::lock_guard lock(news.mutex);
      news.done = progress.done;
      news.candidates = progress.candidates;
      for (const Found& found : *progress.found)
        if (known.insert(found.index).second) news.found.push_back(found);
    });
  });
  return outcome;
}

void StrategySearch::start(const RunConfig& config, const SearchWish& wish) {
  job_.cancel();
  next_config_ = config;
  next_wish_ = wish;
  errors_.clear();
  done_ = candidates_ = 0;
  if (found_.empty()) begin();
  news_ = std::make_shared<News>();
  job_.make([config, wish, news = news_](const std::stop_token& stop) { return run(config, wish, *news, stop); });
  timer_.start();
  emit started();
}

void StrategySearch::begin() {
  if (!next_config_) return;
  config_ = std::exchange(next_config_, std::nullopt);
  wish_ = next_wish_;
  request_.reset();
  found_.clear();
  front_rows_.clear();
  front_.clear();
  result_.reset();
  emit replaced();
}

void StrategySearch::stop() { job_.stop(); }

void StrategySearch::forget() {
  job_.cancel();
  timer_.stop();
  news_.reset();
  next_config_.reset();
  config_.reset();
  request_.reset();
  found_.clear();
  front_rows_.clear();
  front_.clear();
  result_.reset();
  errors_.clear();
  done_ = candidates_ = 0;
  emit ended();
}

void StrategySearch::keep_that_of(const StrategySearch& other) {
  forget();
  config_ = other.config_;
  wish_ = other.wish_;
  request_ = other.request_;
  done_ = other.done_;
  candidates_ = other.candidates_;
  result_ = other.result_;
  errors_ = other.errors_;
  emit replaced();
  add(other.found_);
  emit ended();
}

void StrategySearch::take_news() {
  std::vector<Found> found;
  std::shared_ptr<const SearchRequest> request;
  {
    const std::lock_guard lock(news_->mutex);
    found = std::exchange(news_->found, {});
    done_ = news_->done;
    candidates_ = news_->candidates;
    request = news_->request;
  }
  if (!found.empty()) begin();
  if (!next_config_) request_ = std::move(request);
  add(std::move(found));
}

void StrategySearch::add(std::vector<Found> found) {
  const int first = static_cast<int>(found_.size());
  found_.insert(found_.end(), std::make_move_iterator(found.begin()), std::make_move_iterator(found.end()));
  if (std::ssize(found_) > first) {
    front_.clear();
    for (const Found& each : pareto_front(found_)) front_.insert(each.index);
    front_rows_.clear();
    for (int row = 0; row < std::ssize(found_); ++row)
      if (is_on_front(row)) front_rows_.push_back(row);
    std::ranges::sort(front_rows_, {}, [&](int row) { return found_[static_cast<size_t>(row)].seconds; });
  }
  emit advanced(first);
}

void StrategySearch::take(Outcome outcome) {
  if (outcome.result && !outcome.result->stopped) begin();
  take_news();
  timer_.stop();
  news_.reset();
  errors_ = std::move(outcome.errors);
  if (!next_config_) result_ = std::move(outcome.result);
  next_config_.reset();
  emit ended();
}

}  // namespace shardscope
