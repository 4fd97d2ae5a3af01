#include "engine/machine/machine_prices.h"

#include <algorithm>
#include <map>
#include <mutex>

#include "engine/base/enum_count.h"
#include "engine/base/error.h"
#include "engine/machine/product_tiles.h"

namespace shardscope {

struct MachinePrices::Placed {
  std::mutex mutex;
  std::map<std::vector<int64_t>, GroupPlacement> known;
  std::map<std::pair<int, int>, TransferRate> transfers;
};

namespace {

// Sizes of the mesh's axes from outside in, of neighbours that are both in the groups or both not together; 0 first
// where the outermost is in them. Nothing where devices are in no order.
std::vector<int64_t> pattern_of(const Mesh& mesh, const std::vector<AxisIndex>& axes) {
  std::vector<int64_t> pattern;
  if (!std::ranges::is_sorted(mesh.devices())) return pattern;
  bool was_in = false;
  for (AxisIndex axis = 0; axis < mesh.axis_count(); ++axis) {
    if (mesh.axis_size(axis) == 1) continue;
    const bool is_in = std::ranges::find(axes, axis) != axes.end();
    if (pattern.empty() && is_in) pattern.push_back(0);
    if (pattern.empty() || is_in != was_in || pattern.back() == 0) pattern.push_back(mesh.axis_size(axis));
    else pattern.back() *= mesh.axis_size(axis);
    was_in = is_in;
  }
  return pattern;
}

}  // namespace

MachinePrices::MachinePrices(Machine machine, int ranks)
    : machine_(std::move(machine)),
      topology_(machine_.levels, ranks),
      links_(links_of(machine_, topology_)),
      placed_(std::make_shared<Placed>()) {
  static_assert(std::tuple_size_v<decltype(products_of_)> == enum_count<Precision>);
  const Device& device = machine_.device;
  if (device.kind == DeviceKind::host_cores) {
    ranks_on_host_ = shardscope::ranks_on_host(machine_, topology_);
    share_ = share_of_rank(device, static_cast<int>(ranks_on_host_));
  }
  latency_ = device.instruction_latency / std::min(1.0, share_);

  std::vector<MemoryShare> memory;
  for (const MemoryLevel& level : device.memory) {
    const double share = level.shared ? 1 / ranks_on_host_ : share_;
    const double reached = &level == &device.memory.back() ? device.memory_efficiency : 1;
    memory.push_back(
        {static_cast<double>(level.capacity_bytes) * share, 1 / (level.bytes_per_second * share * reached)});
  }
  memory_ = MemoryTime(memory);

  std::map<const ProductRate*, int> numbers = {{nullptr, -1}};
  for (size_t i = 0; i < products_of_.size(); ++i) {
    const ProductRate* rate = find_products(device, static_cast<Precision>(i));
    const auto [known, is_new] = numbers.emplace(rate, static_cast<int>(products_.size()));
    products_of_[i] = known->second;
    if (!is_new) continue;
    Products& products = products_.emplace_back();
    products.seconds_per_flop = 1 / (rate->flops_per_second * share_);
    products.units = rate->units;
    products.tiles = rate->tiles;
    products.plain = ProductEfficiency(rate->efficiency);
    products.transposed_left =
        rate->transposed_left.empty() ? products.plain : ProductEfficiency(rate->transposed_left);
  }
}

int64_t MachinePrices::memory_bytes() const {
  return machine_.device.memory_bytes / static_cast<int64_t>(ranks_on_host_);
}

double MachinePrices::matrix_product_seconds(const PricedProduct& product) const {
  const auto [precision, m, n, k, batch, transposed_left] = product;
  const auto of = [](int64_t a, int64_t b) { return static_cast<double>(a) * static_cast<double>(b); };
  const double flops = 2 * of(m, n) * of(k, batch);
  if (flops == 0) return std::max(machine_.device.least_seconds(), latency_);
  const double bytes = static_cast<double>(batch) * (of(m, k) + of(k, n) + of(m, n)) * byte_size(precision);
  const int number = products_of_[static_cast<size_t>(precision)];
  if (number < 0) {
    throw Failure(Error{"no_product_rate", "the machine has no rate of products in " + std::string(name(precision)),
                        "device.products", "state that of f32"});
  }
  const Products& products = products_[static_cast<size_t>(number)];
  const double efficiency = (transposed_left ? products.transposed_left : products.plain).at(m, n, k) *
                            tiled_share(products.tiles, products.units, static_cast<double>(m), static_cast<double>(n),
                                        static_cast<double>(k), static_cast<double>(batch));
  const double seconds = std::max(flops * products.seconds_per_flop / efficiency, memory_.seconds(bytes));
  return std::max(machine_.device.least_seconds(), latency_ + seconds);
}

double MachinePrices::peak_seconds(double flops, Precision precision) const {
  const int number = products_of_[static_cast<size_t>(precision)];
  return number < 0 ? 0 : flops * products_[static_cast<size_t>(number)].seconds_per_flop;
}

double MachinePrices::local_seconds(std::string_view family, double bytes, double flops, Precision precision) const {
  double rate = machine_.device.vector_flops, efficiency = 1;
  if (const auto kernel = machine_.device.kernels.find(family); kernel != machine_.device.kernels.end()) {
    efficiency = kernel->second.efficiency;
    for (Precision substitute : substitutes(precision)) {
      const auto own = kernel->second.flops_per_second.find(substitute);
      if (own == kernel->second.flops_per_second.end()) continue;
      rate = own->second;
      break;
    }
  }
  const double computing = rate > 0 ? flops / (rate * share_) : 0;
  return std::max(machine_.device.least_seconds(), latency_ + std::max(memory_.seconds(bytes), computing) / efficiency);
}

GroupPlacement MachinePrices::place(std::vector<std::vector<int>> groups) const {
  return place_groups(machine_.levels, topology_, links_, std::move(groups));
}

GroupPlacement MachinePrices::place(const Mesh& mesh, const std::vector<AxisIndex>& axes) const {
  const std::vector<int64_t> pattern = pattern_of(mesh, axes);
  if (!pattern.empty()) {
    const std::lock_guard lock(placed_->mutex);
    if (const auto known = placed_->known.find(pattern); known != placed_->known.end()) return known->second;
  }
  GroupPlacement placement = place(groups_over(mesh, axes));
  if (pattern.empty()) return placement;
  const std::lock_guard lock(placed_->mutex);
  return placed_->known.try_emplace(pattern, std::move(placement)).first->second;
}

double MachinePrices::collective_seconds(InstructionKind collective, double payload,
                                         const GroupPlacement& groups) const {
  return shardscope::collective_seconds(collective, payload, groups, machine_);
}

TransferRate MachinePrices::transfer_rate(std::span<const std::pair<int, int>> transfers) const {
  return shardscope::transfer_rate(machine_.levels, topology_, links_, transfers);
}

double MachinePrices::transfer_seconds(int from, int to, double bytes) const {
  const std::pair<int, int> transfer(from, to);
  const std::lock_guard lock(placed_->mutex);
  auto known = placed_->transfers.find(transfer);
  if (known == placed_->transfers.end())
    known = placed_->transfers.emplace(transfer, transfer_rate({&transfer, 1})).first;
  return known->second.seconds(bytes);
}

}  // namespace shardscope
