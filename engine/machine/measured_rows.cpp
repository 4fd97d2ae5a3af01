#include "engine/machine/measured_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "engine/base/error.h"
#include "engine/base/units.h"

namespace shardscope {

namespace {

template <class... Cases>
struct OfKind : Cases... {
  using Cases::operator()...;
};

Machine without_products(Machine machine) {
  machine.device.products.clear();
  return machine;
}

}  // namespace

std::vector<int> members_of(const MeasuredCollective& work) {
  std::vector<int> members;
  for (int i = 0; i < work.ranks; ++i) members.push_back(i * work.stride);
  return members;
}

std::string kind_of(const MeasuredRow& row) {
  static constexpr std::array<const char*, 3> names = {"product", "collective", "step"};
  static_assert(names.size() == std::variant_size_v<decltype(row.work)>);
  return names[row.work.index()];
}

std::string to_string(const MeasuredRow& row) {
  return std::visit(OfKind{[](const PricedProduct& product) {
                             const std::string batch = product.batch > 1 ? fmt::format("{} x ", product.batch) : "";
                             return fmt::format("{}{} {} x {} x {}", batch, name(product.precision), product.m,
                                                product.k, product.n);
                           },
                           [](const MeasuredCollective& work) {
                             return fmt::format("{} of {} among {}{}", name(work.collective),
                                                bytes_text(static_cast<double>(work.bytes)), work.ranks,
                                                work.stride > 1 ? fmt::format(", {} apart", work.stride) : "");
                           },
                           [](const MeasuredStepTime& step) { return step.run_file; }},
                    row.work);
}

InstructionKind collective_of(const std::string& name, const Place& place) {
  std::vector<std::string> names;
  for (InstructionKind kind :
       {InstructionKind::all_gather, InstructionKind::all_reduce, InstructionKind::reduce_scatter,
        InstructionKind::all_to_all, InstructionKind::collective_permute}) {
    std::string known(shardscope::name(kind)), with_underscores = known;
    std::ranges::replace(with_underscores, '-', '_');
    const bool is_of_nccl = (kind == InstructionKind::all_to_all && name == "alltoall") ||
                            (kind == InstructionKind::collective_permute && name == "sendrecv");
    if (name == known || name == with_underscores || is_of_nccl) return kind;
    names.push_back(std::move(known));
  }
  throw Failure(
      Error{"unknown_collective", fmt::format("plans have no collective '{}'", name), place, name_hint(name, names)});
}

RowPrices::RowPrices(const Machine& machine) : links_(without_products(machine)), alone_(machine, 1) {}

double RowPrices::seconds(const MeasuredCollective& work) {
  const Group& all = group(work);
  return all.prices.collective_seconds(work.collective, static_cast<double>(work.bytes), all.placement);
}

const RowPrices::Group& RowPrices::group(const MeasuredCollective& work) {
  const std::pair key(work.ranks, work.stride);
  if (const auto known = groups_.find(key); known != groups_.end()) return known->second;
  MachinePrices prices(links_, work.ranks * work.stride);
  GroupPlacement placement = prices.place({members_of(work)});
  return groups_.emplace(key, Group{std::move(prices), std::move(placement)}).first->second;
}

}  // namespace shardscope
