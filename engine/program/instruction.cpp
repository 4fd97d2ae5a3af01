#include "engine/program/instruction.h"

namespace shardscope {

namespace {

// One function object for several types.
template <class... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};
template <class... Functions>
Overloaded(Functions...) -> Overloaded<Functions...>;

}  // namespace

InstructionKind Instruction::kind() const {
  return std::visit(Overloaded{[](const Compute&) { return InstructionKind::compute; },
                               [](const Slice&) { return InstructionKind::slice; },
                               [](const CollectiveStart& one) { return one.kind; },
                               [](const CollectiveDone&) { return InstructionKind::collective_done; },
                               [](const Send&) { return InstructionKind::send; },
                               [](const Receive&) { return InstructionKind::receive; }},
                    body);
}

InstructionKind Instruction::operation() const {
  const CollectiveDone* done = as<CollectiveDone>();
  return done ? done->collective : kind();
}

std::span<const int> Instruction::operands() const {
  return std::visit(Overloaded{[](const CollectiveDone&) { return std::span<const int>(); },
                               [](const Receive&) { return std::span<const int>(); },
                               [](const auto& one) { return std::span<const int>(one.operands); }},
                    body);
}

std::span<const int> Instruction::results() const {
  return std::visit(Overloaded{[](const CollectiveStart&) { return std::span<const int>(); },
                               [](const Send&) { return std::span<const int>(); },
                               [](const auto& one) { return std::span<const int>(one.results); }},
                    body);
}

std::span<const int> Instruction::destinations() const {
  return std::visit(Overloaded{[](const CollectiveStart& one) { return std::span<const int>(one.destinations); },
                               [](const CollectiveDone&) { return std::span<const int>(); },
                               [](const Send&) { return std::span<const int>(); },
                               [](const auto& one) { return std::span<const int>(one.results); }},
                    body);
}

std::span<const MovedArray> Instruction::moved() const {
  if (const Slice* slice = as<Slice>()) return slice->moved;
  if (const CollectiveStart* start = as<CollectiveStart>()) return start->moved;
  return {};
}

const AxisList& Instruction::axes() const {
  static const AxisList none;
  if (const Slice* slice = as<Slice>()) return slice->axes;
  const CollectiveStart* start = as<CollectiveStart>();
  return start ? start->axes : none;
}

int64_t Instruction::group_size() const {
  const CollectiveStart* start = as<CollectiveStart>();
  return start ? start->group_size : 1;
}

int64_t Instruction::payload_bytes() const {
  return std::visit(
      Overloaded{[](const Compute&) { return int64_t{0}; }, [](const Slice&) { return int64_t{0}; },
                 [](const CollectiveDone&) { return int64_t{0}; }, [](const auto& one) { return one.payload_bytes; }},
      body);
}

bool CollectiveStart::sends(int64_t member) const {
  if (receivers.empty()) return true;
  const int64_t to = ((member + shift) % group_size + group_size) % group_size;
  return std::ranges::binary_search(receivers, to);
}

double Instruction::wire_bytes() const {
  if (const CollectiveStart* start = as<CollectiveStart>()) return start->wire_bytes;
  const Send* send = as<Send>();
  return send ? static_cast<double>(send->payload_bytes) : 0;
}

double Instruction::bytes_touched() const {
  return std::visit(
      Overloaded{[](const Send& one) { return 2.0 * static_cast<double>(one.payload_bytes); },
                 [](const Receive& one) { return 2.0 * static_cast<double>(one.payload_bytes); },
                 [](const CollectiveDone&) { return 0.0; }, [](const auto& one) { return one.bytes_touched; }},
      body);
}

double Instruction::flops() const {
  const Compute* compute = as<Compute>();
  return compute ? compute->flops : 0;
}

int Instruction::channel() const {
  return std::visit(Overloaded{[](const Send& one) { return one.channel; },
                               [](const Receive& one) { return one.channel; }, [](const auto&) { return -1; }},
                    body);
}

}  // namespace shardscope
