#pragma once

#include <QObject>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include "gui/planning/planner.h"

namespace shardscope {

// The config with another size of a mesh axis; where the strategy says the axes, with another degree of its own.
RunConfig with_axis_size(RunConfig config, int axis, int64_t size);

// Which sizes each mesh axis of a config may have, the others as they are. Found out in the background, for one config
// at a time. Sizes that are tried: up to 16, powers of two, and divisors of the sizes of arrays and of the batch.
class LegalSizes : public QObject {
  Q_OBJECT
 public:
  static constexpr int64_t largest = 16384;  // that an axis may have

  explicit LegalSizes(PlanSource source, QObject* parent = nullptr);
  ~LegalSizes() override;

  // For other hosts: nothing is known of any config.
  void forget();
  // What is known of another config is forgotten.
  void request(std::shared_ptr<const RunConfig> config, int axis);
  // Ascending, of the config that was requested last; nothing while they are not known.
  std::optional<std::vector<int64_t>> of(int axis) const;
  // The next one above `size`, or below; `size` itself where there is none, nothing where they are not known.
  std::optional<int64_t> next(int axis, int64_t size, bool up) const;

 signals:
  void known(int axis);
  void arrived();  // by the thread

 private:
  struct Request {
    uint64_t number = 0;
    std::shared_ptr<const RunConfig> config;
    int axis = 0;
  };
  struct Found {
    Request request;
    std::vector<int64_t> sizes;
  };
  void work(const std::stop_token& stop);
  bool is_legal(const RunConfig& config, const std::stop_token& stop) const;
  std::vector<int64_t> candidates(const RunConfig& config) const;
  void receive();

  PlanSource source_;
  std::shared_ptr<const RunConfig> config_;
  uint64_t number_ = 0;  // of the config
  std::map<int, std::optional<std::vector<int64_t>>> sizes_;

  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable_any wake_;
  std::vector<Request> waiting_;
  std::vector<Found> found_;
  uint64_t wanted_ = 0;  // number of the newest config
  std::jthread thread_;  // last: ends before the rest goes
};

// "2, 4 or 8"; of many the first ones: "1, 2, 3, 4, 5, 6 ...".
QString sizes_text(const std::vector<int64_t>& sizes);

}  // namespace shardscope
