#include "engine/machine/fit_steps.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/base/hash.h"

namespace shardscope {

namespace {

constexpr double pull = 0.03;         // as bench/truth_fit.py has it
constexpr double difference = 0.05;   // of a logarithm, for slopes
constexpr double least_slope = 0.01;  // of a step's logarithm by that of a factor
constexpr double least_share = 1e-3;  // that a fit gives
constexpr double least_gain = 1e-4;   // of the sum that a round makes smaller
constexpr int most_rounds = 6, sweeps = 200;

// One share of a machine: how much slower it may be made, and at which logarithm of the time it is at 1.
struct Share {
  double fastest = 0;
  std::function<void(Machine&, double)> multiply;
};

template <class Each>
void each_efficiency(ProductRate& rate, const Each& each) {
  for (auto* samples : {&rate.efficiency, &rate.transposed_left})
    for (ProductSample& sample : *samples) each(sample.efficiency, sample.source);
  for (ProductTile& tile : rate.tiles) each(tile.efficiency, tile.source);
}

class StepFit {
 public:
  StepFit(const Machine& machine, std::span<const double> measured, const DecidedRates& decided,
          const StepSeconds& predict, const std::string& source)
      : machine_(machine), measured_(measured), predict_(predict), source_(source) {
    for (const auto& [precision, rate] : machine.device.products)
      if (!decided.products.contains(precision)) add_products(precision, rate);
    add_attention();
    add_memory();
    for (size_t i = 0; i < machine.levels.size(); ++i)
      if (!decided.levels.contains(machine.levels[i].name)) add_level(i);
  }

  Machine fit() {
    std::vector<double> at(shares_.size());
    std::vector<double> errors = errors_at(at);
    double sum = objective(errors, at);
    for (int round = 0; round < most_rounds; ++round) {
      const double before = sum;
      const std::vector<double> aim = minimum(errors, slopes(at, errors), at);
      for (double part = 1; part > 0.2 && sum == before; part /= 2) {
        std::vector<double> there(at.size());
        for (size_t i = 0; i < at.size(); ++i) there[i] = std::lerp(at[i], aim[i], part);
        std::vector<double> found = errors_at(there);
        if (const double smaller = objective(found, there); smaller < sum) {
          sum = smaller;
          at = std::move(there);
          errors = std::move(found);
        }
      }
      if (before - sum < least_gain * before) break;
    }
    return changed(at);
  }

 private:
  void note_in(std::string& source, const char* key) const {
    source += (source.empty() ? "" : "; ") + std::string(key) + " " + source_;
  }

  void add_products(Precision precision, const ProductRate& rate) {
    double most = 0;
    ProductRate copy = rate;
    each_efficiency(copy, [&](double efficiency, const std::string&) { most = std::max(most, efficiency); });
    shares_.push_back({most > 0 ? std::log(most) : 0, [this, precision](Machine& machine, double factor) {
                         ProductRate& of = machine.device.products.at(precision);
                         if (of.efficiency.empty() && of.tiles.empty()) of.efficiency = {{4096, 4096, 4096, 1, {}}};
                         each_efficiency(of, [&](double& efficiency, std::string& source) {
                           efficiency = std::max(least_share, efficiency * factor);
                           note_in(source, "efficiency");
                         });
                       }});
  }

  void add_attention() {
    const ProductRate* rate = find_products(machine_.device, Precision::bf16);
    double most = 0;
    for (const char* family : attention) {
      const auto kernel = machine_.device.kernels.find(family);
      if (kernel != machine_.device.kernels.end()) most = std::max(most, kernel->second.efficiency);
    }
    if (most == 0 && !rate) return;
    const double peak = rate ? rate->flops_per_second : 0;
    shares_.push_back({most > 0 ? std::log(most) : 0, [this, peak](Machine& machine, double factor) {
                         for (const char* family : attention) {
                           const auto [kernel, is_new] = machine.device.kernels.try_emplace(family);
                           if (is_new && peak > 0) kernel->second.flops_per_second[Precision::bf16] = peak;
                           kernel->second.efficiency = std::max(least_share, kernel->second.efficiency * factor);
                           note_in(kernel->second.source, "efficiency");
                         }
                       }});
  }

  void add_memory() {
    shares_.push_back({std::log(machine_.device.memory_efficiency), [this](Machine& machine, double factor) {
                         double& share = machine.device.memory_efficiency;
                         share = std::max(least_share, share * factor);
                         note_in(machine.device.source, "memory_efficiency");
                       }});
  }

  void add_level(size_t number) {
    shares_.push_back({0, [this, number](Machine& machine, double factor) {
                         machine.levels[number].bytes_per_second *= factor;
                         note_in(machine.levels[number].source, "bytes_per_second");
                       }});
  }

  // What takes exp(at) times as long.
  Machine changed(const std::vector<double>& at) const {
    Machine machine = machine_;
    for (size_t i = 0; i < at.size(); ++i)
      if (at[i] != 0) shares_[i].multiply(machine, std::exp(-at[i]));
    return machine;
  }

  // Logarithms of predicted to measured.
  std::vector<double> errors_at(const std::vector<double>& at) const {
    std::vector<double> errors = predict_(changed(at));
    for (size_t i = 0; i < errors.size(); ++i) errors[i] = std::log(errors[i] / measured_[i]);
    return errors;
  }

  double weight() const { return pull * pull * static_cast<double>(measured_.size()); }

  double objective(const std::vector<double>& errors, const std::vector<double>& at) const {
    const auto squares = [](const std::vector<double>& of) {
      return std::inner_product(of.begin(), of.end(), of.begin(), 0.0);
    };
    return squares(errors) + weight() * squares(at);
  }

  // By share, then row.
  std::vector<std::vector<double>> slopes(const std::vector<double>& at, const std::vector<double>& errors) const {
    std::vector<std::vector<double>> slopes;
    for (size_t i = 0; i < at.size(); ++i) {
      std::vector<double> slower = at;
      slower[i] += difference;
      std::vector<double>& slope = slopes.emplace_back(errors_at(slower));
      for (size_t row = 0; row < slope.size(); ++row) slope[row] = (slope[row] - errors[row]) / difference;
      if (std::ranges::max(slope) < least_slope) std::ranges::fill(slope, 0);
    }
    return slopes;
  }

  // Of the objective with these slopes, one share after the other until none moves.
  std::vector<double> minimum(std::vector<double> errors, const std::vector<std::vector<double>>& slopes,
                              std::vector<double> at) const {
    for (int sweep = 0; sweep < sweeps; ++sweep) {
      for (size_t i = 0; i < at.size(); ++i) {
        const std::vector<double>& slope = slopes[i];
        const double curvature = std::inner_product(slope.begin(), slope.end(), slope.begin(), 0.0);
        if (curvature == 0) continue;
        const double downwards = std::inner_product(slope.begin(), slope.end(), errors.begin(), 0.0);
        const double moved =
            std::max(shares_[i].fastest, at[i] - (downwards + weight() * at[i]) / (curvature + weight())) - at[i];
        at[i] += moved;
        for (size_t row = 0; row < errors.size(); ++row) errors[row] += moved * slope[row];
      }
    }
    return at;
  }

  static constexpr const char* attention[] = {"attention", "attention_grad"};

  const Machine& machine_;
  std::span<const double> measured_;
  const StepSeconds& predict_;
  const std::string& source_;
  std::vector<Share> shares_;
};

}  // namespace

Machine fit_steps(const Machine& machine, std::span<const double> measured, const DecidedRates& decided,
                  const StepSeconds& predict, const std::string& source) {
  return StepFit(machine, measured, decided, predict, source).fit();
}

std::vector<bool> fitted_half(std::span<const std::string> names) {
  std::vector<bool> is_fitted(names.size());
  if (names.size() < fewest_steps) return is_fitted;
  std::vector<size_t> order(names.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, {}, [&](size_t i) { return hash_bytes(std::string_view(names[i])); });
  for (size_t i = 0; i < (names.size() + 1) / 2; ++i) is_fitted[order[i]] = true;
  return is_fitted;
}

}  // namespace shardscope
