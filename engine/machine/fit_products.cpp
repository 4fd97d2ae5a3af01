#include "engine/machine/fit_products.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "engine/base/error.h"
#include "engine/machine/product_efficiency.h"

namespace shardscope {

namespace {

constexpr double least_efficiency = 1e-6;  // of machine files
constexpr double rounding = 1e-9;

Machine at_full_efficiency(Machine machine) {
  for (auto& [precision, rate] : machine.device.products) rate.efficiency.clear();
  return machine;
}

// What products take by computing alone at the peak.
class PeakPrices {
 public:
  explicit PeakPrices(const Machine& machine) : prices_(computing_alone(at_full_efficiency(machine)), 1) {}

  double latency() const { return prices_.matrix_product_seconds({.m = 0}); }
  double seconds(const PricedProduct& product) const { return prices_.matrix_product_seconds(product) - latency(); }

 private:
  static Machine computing_alone(Machine machine) {
    machine.device.issue_seconds = 0;
    machine.device.memory = {{"memory", 0, 1e100, false, ""}};
    machine.device.memory_efficiency = 1;
    return machine;
  }

  MachinePrices prices_;
};

// Of a shape the logarithm of m n k / efficiency, by which products rise in time: the mean over its rows.
struct ProductTime {
  double logarithm = 0;
  int rows = 0;

  void add(double other) { logarithm += (other - logarithm) / ++rows; }
};
using ProductShape = std::array<int64_t, 3>;  // m, n, k
using ProductTimes = std::map<ProductShape, ProductTime>;

double log_size(const ProductShape& shape) {
  double sum = 0;
  for (int64_t size : shape) sum += std::log(static_cast<double>(size));
  return sum;
}

bool is_within(const ProductShape& inner, const ProductShape& outer) {
  return inner[0] <= outer[0] && inner[1] <= outer[1] && inner[2] <= outer[2];
}

// Such that no shape takes less time than one within it.
std::vector<ProductSample> samples_of(const ProductTimes& times) {
  std::vector<ProductSample> samples;
  for (const auto& [shape, time] : times) {
    double most_within = time.logarithm, least_around = time.logarithm;
    for (const auto& [other, its] : times) {
      if (is_within(other, shape)) most_within = std::max(most_within, its.logarithm);
      if (is_within(shape, other)) least_around = std::min(least_around, its.logarithm);
    }
    const double efficiency = std::exp(log_size(shape) - (most_within + least_around) / 2);
    samples.push_back({shape[0], shape[1], shape[2], std::clamp(efficiency, least_efficiency, 1.0), ""});
  }
  return samples;
}

Error too_fast(const MeasuredRow& row, const PricedProduct& product, double seconds, const Machine& machine) {
  const double flops = 2 * static_cast<double>(product.m) * static_cast<double>(product.n) *
                       static_cast<double>(product.k) * static_cast<double>(product.batch);
  const ProductRate& rate = *find_products(machine.device, product.precision);
  const std::string of = seconds > 0 ? fmt::format("{:.4g} TFLOP/s", flops / seconds / 1e12) : "less than the latency";
  return {
      "above_peak",
      fmt::format("{} is above the peak: the machine's peak for {} is {:.4g} TFLOP/s{}", of, name(product.precision),
                  rate.flops_per_second / 1e12, rate.tiles.empty() ? "" : ", of which its tiles reach a part"),
      row.place, "check dtype, shape and seconds, or correct flops_per_second in the machine's file"};
}

}  // namespace

Machine fit_products(Machine machine, std::span<const MeasuredRow> rows, const std::string& source) {
  const PeakPrices peak(machine);
  std::map<Precision, ProductTimes> measured;
  std::map<Precision, Place> places;
  std::vector<Error> errors;
  RowPrices fastest(at_full_efficiency(machine));
  for (const MeasuredRow& row : rows) {
    const auto* product = std::get_if<PricedProduct>(&row.work);
    if (!product) continue;
    const double at_peak = peak.seconds(*product), seconds = row.seconds - peak.latency();
    if (seconds <= 0 || at_peak > seconds * (1 + rounding)) {
      errors.push_back(too_fast(row, *product, seconds, machine));
      continue;
    }
    const double efficiency = std::clamp(at_peak / seconds, least_efficiency, 1.0);
    if (efficiency == least_efficiency && fastest.seconds(*product) < row.seconds * (1 - rounding)) {
      errors.push_back({"below_peak", fmt::format("{:.1e} of the machine's peak is reached", at_peak / seconds),
                        row.place, "the time is in seconds"});
      continue;
    }
    places.try_emplace(product->precision, row.place);
    const ProductShape shape = {product->m, product->n, product->k};
    measured[product->precision][shape].add(log_size(shape) - std::log(efficiency));
  }
  for (const auto& [precision, shapes] : measured) {
    ProductRate rate = *find_products(machine.device, precision);
    rate.efficiency = samples_of(shapes);
    if (const size_t nodes = ProductEfficiency::node_count(rate.efficiency); nodes > ProductEfficiency::max_nodes) {
      errors.push_back({"too_many_samples",
                        fmt::format("distinct m x distinct n x distinct k of {} are {}, more than {}", name(precision),
                                    nodes, ProductEfficiency::max_nodes),
                        places.at(precision), "take the shapes from a grid"});
    }
    rate.source = source;
    machine.device.products[precision] = std::move(rate);
  }
  if (!errors.empty()) throw Failure(std::move(errors));
  return machine;
}

}  // namespace shardscope
