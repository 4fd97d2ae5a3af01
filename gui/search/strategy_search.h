#pragma once

#include <QObject>
#include <QTimer>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_set>
#include <vector>

#include "gui/background/background.h"
#include "gui/search/search_wish.h"

namespace shardscope {

// A search in the background, on a thread of its own, and what it has found so far.
class StrategySearch : public QObject {
  Q_OBJECT
 public:
  explicit StrategySearch(QObject* parent = nullptr);

  // Ends what is running. What a search before it has found stays until this one has found something, or has come to
  // its end; it stays, too, where this one cannot be made.
  void start(const RunConfig& config, const SearchWish& wish);
  void stop();  // what was found stays, with what is proved of the rest
  void forget();
  void keep_that_of(const StrategySearch& other);  // what it has found so far

  bool is_running() const { return job_.is_busy(); }
  bool is_stopped() const { return result_ && result_->stopped; }  // before its end
  bool any() const { return config_.has_value(); }
  // In the order in which they came; of those of one candidate the last holds.
  const std::vector<Found>& found() const { return found_; }
  // Whether found()[row] is on the front so far.
  bool is_on_front(int row) const { return front_.contains(found_[static_cast<size_t>(row)].index); }
  // Rows of the front so far, by time.
  const std::vector<int>& front() const { return front_rows_; }
  int64_t done() const { return done_; }
  int64_t candidates() const { return candidates_; }
  // At the end, and of a search that was stopped.
  const std::optional<SearchResult>& result() const { return result_; }
  const std::vector<Error>& errors() const { return errors_; }
  // What was searched: of found().
  const RunConfig& config() const { return *config_; }
  const SearchWish& wish() const { return wish_; }
  const std::shared_ptr<const SearchRequest>& request() const { return request_; }  // null before the first candidate

 signals:
  void started();
  void replaced();           // nothing of found() is of before: it is empty, and of config() and wish()
  void advanced(int first);  // there are more: from this row on
  void ended();

 private:
  struct News {
    std::mutex mutex;  // guards what follows
    std::vector<Found> found;
    int64_t done = 0, candidates = 0;
    std::shared_ptr<const SearchRequest> request;
  };
  struct Outcome {
    std::optional<SearchResult> result;
    std::vector<Error> errors;
  };

  static Outcome run(const RunConfig& config, const SearchWish& wish, News& news, const std::stop_token& stop);
  void begin();
  void take_news();
  void take(Outcome outcome);
  void add(std::vector<Found> found);

  std::optional<RunConfig> next_config_;  // of a search of which nothing is found yet, and what it is to find
  SearchWish next_wish_;
  std::optional<RunConfig> config_;
  SearchWish wish_;
  std::shared_ptr<const SearchRequest> request_;
  std::vector<Found> found_;
  std::vector<int> front_rows_;
  std::unordered_set<int> front_;
  int64_t done_ = 0, candidates_ = 0;
  std::optional<SearchResult> result_;
  std::vector<Error> errors_;
  std::shared_ptr<News> news_;
  QTimer timer_;
  WorkerThreads thread_{1};
  Background<Outcome> job_;
};

}  // namespace shardscope
