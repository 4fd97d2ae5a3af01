#include "engine/runtime/executor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <utility>

#include "engine/graph/op_definition.h"
#include "engine/mesh/box_runs.h"
#include "engine/mesh/permute.h"

namespace shardscope {

namespace {

[[noreturn]] void rethrow_at(const std::string& step) {
  try {
    throw;
  } catch (const Failure& failure) {
    std::vector<Error> errors = failure.errors();
    for (Error& error : errors) error.place.step = step;
    throw Failure(std::move(errors));
  } catch (const std::exception& error) {
    Place place;
    place.step = step;
    throw Failure({"step", error.what(), std::move(place), ""});
  }
}

std::string words_of(const Plan& plan, const Sequence& sequence, int position) {
  return fmt::format("step {} ({})", position, plan.instruction_name(plan.program.instructions(sequence)[position]));
}

Failure inconsistent(const std::string& message) { return Failure({"plan", message, "", ""}); }

// What moves arrays gives one for each.
void require_pairs(const std::vector<int>& operands, const std::vector<int>& results,
                   const std::vector<MovedArray>& moved) {
  if (operands.size() != results.size() || operands.size() != moved.size())
    throw inconsistent("a reshard needs one result for each operand");
}

}  // namespace

class Executor::BoundInstruction {
 public:
  virtual ~BoundInstruction() = default;
  // What it cost to communicate; nothing, of what is local.
  virtual CommunicationRecord run(const StepContext& context) = 0;
};

class Executor::BoundCompute : public BoundInstruction {
 public:
  explicit BoundCompute(std::unique_ptr<Kernel> kernel) : kernel_(std::move(kernel)) {}
  CommunicationRecord run(const StepContext& context) override {
    kernel_->run(context);
    return {};
  }

 private:
  std::unique_ptr<Kernel> kernel_;
};

class Executor::BoundSlice : public BoundInstruction {
 public:
  void add(const TensorView& source, const TensorView& destination) {
    const Box held{source.offset, source.shape}, kept{destination.offset, destination.shape};
    if (!contains(held, kept)) throw inconsistent("a slice keeps what the device does not hold");
    copies_.push_back({BoxRuns(source.shape, relative_box(kept, held)), static_cast<const std::byte*>(source.data),
                       static_cast<std::byte*>(destination.data), byte_size(source.dtype)});
  }

  CommunicationRecord run(const StepContext&) override {
    for (const Copy& copy : copies_) {
      const size_t bytes = static_cast<size_t>(copy.runs.run_length() * copy.element_bytes);
      copy.runs.for_each([&](int64_t from, int64_t to) {
        std::memmove(copy.destination + to * copy.element_bytes, copy.source + from * copy.element_bytes, bytes);
      });
    }
    return {};
  }

 private:
  struct Copy {
    BoxRuns runs;
    const std::byte* source;
    std::byte* destination;
    int64_t element_bytes;
  };
  std::vector<Copy> copies_;
};

class Executor::BoundStart : public BoundInstruction {
 public:
  BoundStart(Communicator& group, InstructionKind kind, std::vector<CollectivePart> parts,
             std::vector<int> destination_of)
      : group_(group), kind_(kind), parts_(std::move(parts)), destination_of_(std::move(destination_of)) {}

  CommunicationRecord run(const StepContext&) override {
    ticket_ = start();
    return {};
  }
  CommunicationRecord finish() { return group_.finish(ticket_); }

 private:
  Communicator::Ticket start() {
    switch (kind_) {
      case InstructionKind::all_gather: return group_.start_all_gather(parts_);
      case InstructionKind::all_reduce: return group_.start_all_reduce(parts_);
      case InstructionKind::reduce_scatter: return group_.start_reduce_scatter(parts_);
      case InstructionKind::all_to_all: return group_.start_all_to_all(parts_);
      case InstructionKind::collective_permute: return group_.start_permute(parts_, destination_of_);
      default: throw inconsistent("this instruction is not a collective");
    }
  }

  Communicator& group_;
  InstructionKind kind_;
  std::vector<CollectivePart> parts_;
  std::vector<int> destination_of_;
  Communicator::Ticket ticket_ = 0;
};

// What a collective cost is known when it is done: all of it is the done's.
class Executor::BoundDone : public BoundInstruction {
 public:
  explicit BoundDone(BoundStart& start) : start_(start) {}
  CommunicationRecord run(const StepContext&) override { return start_.finish(); }

 private:
  BoundStart& start_;
};

// This device's end of a channel of the program: one of comm's for each message that may be on its way, in turns.
class Executor::Link {
 public:
  void add(std::unique_ptr<Channel> channel) { channels_.push_back(std::move(channel)); }
  // The turn of the next message.
  size_t next() { return count_++ % channels_.size(); }
  Channel& channel(size_t turn) { return *channels_[turn]; }

 private:
  std::vector<std::unique_ptr<Channel>> channels_;
  size_t count_ = 0;
};

// Copies what it sends, so that the values may change at once.
class Executor::BoundSend : public BoundInstruction {
 public:
  // `copies`: by turn.
  BoundSend(Link& link, std::vector<std::span<const std::byte>> values,
            std::vector<std::vector<std::span<std::byte>>> copies)
      : link_(link), values_(std::move(values)), copies_(std::move(copies)) {
    for (const auto& copy : copies_) messages_.emplace_back(copy.begin(), copy.end());
  }

  CommunicationRecord run(const StepContext&) override {
    const size_t turn = link_.next();
    CommunicationRecord record = link_.channel(turn).finish_send();
    for (size_t i = 0; i < values_.size(); ++i) {
      std::memcpy(copies_[turn][i].data(), values_[i].data(), values_[i].size());
    }
    return record += link_.channel(turn).start_send(messages_[turn]);
  }

 private:
  Link& link_;
  std::vector<std::span<const std::byte>> values_;
  std::vector<std::vector<std::span<std::byte>>> copies_;
  std::vector<std::vector<std::span<const std::byte>>> messages_;
};

class Executor::BoundReceive : public BoundInstruction {
 public:
  BoundReceive(Link& link, std::vector<std::span<std::byte>> values) : link_(link), values_(std::move(values)) {}
  CommunicationRecord run(const StepContext&) override { return link_.channel(link_.next()).receive(values_); }

 private:
  Link& link_;
  std::vector<std::span<std::byte>> values_;
};

Executor::Executor(const Plan& plan, int device, std::byte* arena, Communicator& world, ExecutionObserver* observer)
    : plan_(plan), device_(device), stage_(plan.stage_of(device)), arena_(arena), world_(world), observer_(observer) {
  split_groups();
  open_channels();
  tasks_.resize(plan.program.tasks.size());
  for (const Sequence& sequence : plan.program.sequences) {
    if (sequence.purpose != Purpose::initialise && sequence.stage == stage_) bind_tasks(sequence);
  }
}

Executor::~Executor() = default;

void Executor::run(Purpose purpose, const StepContext& context, const RunHooks& hooks) {
  const Sequence* sequence = plan_.program.find(purpose, stage_);
  if (!sequence) throw inconsistent(fmt::format("there is no sequence to {}", name(purpose)));
  const bool only_now = purpose == Purpose::initialise;
  if (only_now) bind_tasks(*sequence);
  ExecutionObserver* observer = sequence == &plan_.program.main(stage_) ? observer_ : nullptr;
  if (hooks.observer) observer = hooks.observer;
  StepContext here = context;
  int begun = -1;
  for (const TaskRun& run : sequence->runs) {
    here.microbatch = run.microbatch;
    here.first = run.is_first;
    if (run.microbatch > begun) {
      begun = run.microbatch;
      if (hooks.begin_microbatch) hooks.begin_microbatch(begun);
    }
    if (hooks.should_continue && !hooks.should_continue(plan_.program.tasks[run.task])) break;
    int position = run.first;
    const std::vector<BoundTask>& variants = tasks_[run.task];
    for (BoundInstruction* instruction : variants[static_cast<size_t>(run.microbatch) % variants.size()].order) {
      world_.progress();
      if (observer) observer->begin(position);
      CommunicationRecord cost;
      try {
        cost = instruction->run(here);
      } catch (...) {
        rethrow_at(words_of(plan_, *sequence, position));
      }
      if (observer) observer->end(position, cost.waited_ns, std::llround(cost.wire_bytes));
      ++position;
    }
  }
  if (!only_now) return;
  for (const TaskRun& run : sequence->runs) tasks_[run.task].clear();
}

std::span<std::byte> Executor::value(int program_value, int microbatch) const {
  const ProgramValue& value = plan_.program.values.at(program_value);
  return {arena_ + plan_.buffer(program_value).slot_offset(microbatch), static_cast<size_t>(value.bytes())};
}

TensorView Executor::view(int program_value, int microbatch) const {
  const ProgramValue& value = plan_.program.values.at(program_value);
  TensorView view;
  view.data = this->value(program_value, microbatch).data();
  view.dtype = value.dtype;
  view.shape = value.local_shape;
  view.global_shape = value.shape;
  view.offset = shard_box(value.sharding, plan_.mesh, value.shape, device_).start;
  return view;
}

void Executor::split_groups() {
  for (const AxisList& list : plan_.program.groups) {
    const std::vector<AxisIndex> axes(list.begin(), list.end());
    const int color = plan_.mesh.group(device_, axes).front();
    groups_.push_back(world_.split(color, static_cast<int>(plan_.mesh.group_index(device_, axes))));
  }
}

void Executor::open_channels() {
  if (plan_.program.channels.empty()) return;
  const std::vector<AxisIndex> along{*plan_.pipeline.axis};
  std::vector<ChannelEnds> ends;
  std::vector<size_t> of;  // the program's channel
  for (size_t i = 0; i < plan_.program.channels.size(); ++i) {
    const StageChannel& channel = plan_.program.channels[i];
    for (int turn = 0; turn < channel.capacity; ++turn) {
      for (int device : plan_.devices_of_stage(channel.from)) {
        ends.push_back({device, plan_.mesh.group(device, along)[static_cast<size_t>(channel.to)]});
        of.push_back(i);
      }
    }
  }
  std::vector<std::unique_ptr<Channel>> opened = world_.open_channels(ends);
  links_.resize(plan_.program.channels.size());
  for (size_t i = 0; i < opened.size(); ++i) {
    if (opened[i]) links_[of[i]].add(std::move(opened[i]));
  }
}

Communicator& Executor::group(const AxisList& axes) const {
  const std::vector<AxisList>& groups = plan_.program.groups;
  const auto found = std::ranges::find(groups, axes);
  if (found == groups.end()) throw inconsistent("a collective's group is not among the program's");
  return *groups_[found - groups.begin()];
}

void Executor::bind_tasks(const Sequence& sequence) {
  for (const TaskRun& run : sequence.runs) {
    std::vector<BoundTask>& variants = tasks_[run.task];
    if (!variants.empty()) continue;
    int count = 1;
    for (const Instruction& instruction : plan_.program.tasks[run.task].instructions) {
      for (const std::span<const int> values : {instruction.operands(), instruction.results()}) {
        for (int value : values) count = std::lcm(count, plan_.buffer(value).slot_count);
      }
    }
    for (int variant = 0; variant < count; ++variant) variants.push_back(bind_task(sequence, run, variant));
  }
}

Executor::BoundTask Executor::bind_task(const Sequence& sequence, const TaskRun& run, int microbatch) {
  const Task& task = plan_.program.tasks[run.task];
  BoundTask bound;
  bound.instructions.resize(task.instructions.size());
  for (int place = 0; place < task.size(); ++place) {
    const int index = task.order.index(place);
    try {
      bound.instructions[static_cast<size_t>(index)] = bind({run.task, index}, microbatch, bound);
    } catch (...) {
      rethrow_at(words_of(plan_, sequence, run.first + place));
    }
    bound.order.push_back(bound.instructions[static_cast<size_t>(index)].get());
  }
  return bound;
}

std::unique_ptr<Executor::BoundInstruction> Executor::bind(InstructionId id, int microbatch, const BoundTask& task) {
  const Instruction& instruction = plan_.program.tasks[id.task].instructions[id.index];
  if (const Compute* compute = instruction.as<Compute>()) return bind_compute(*compute, instruction.op, id, microbatch);
  if (const Slice* slice = instruction.as<Slice>()) return bind_slice(*slice, microbatch);
  if (const CollectiveStart* start = instruction.as<CollectiveStart>()) return bind_start(*start, microbatch);
  if (const Send* send = instruction.as<Send>()) return bind_send(*send, id, microbatch);
  if (const Receive* receive = instruction.as<Receive>()) return bind_receive(*receive, microbatch);
  const size_t started = static_cast<size_t>(instruction.as<CollectiveDone>()->start);
  auto* start =
      started < task.instructions.size() ? dynamic_cast<BoundStart*>(task.instructions[started].get()) : nullptr;
  if (!start) throw inconsistent("a collective is done before it is started");
  return std::make_unique<BoundDone>(*start);
}

std::unique_ptr<Executor::BoundInstruction> Executor::bind_compute(const Compute& compute, OpId id, InstructionId at,
                                                                   int microbatch) {
  const Op& op = plan_.graph->ops.at(id);
  KernelArguments arguments;
  arguments.attributes = &op.attributes;
  for (int operand : compute.operands) arguments.inputs.push_back(view(operand, microbatch));
  for (int result : compute.results) arguments.outputs.push_back(view(result, microbatch));
  const ArenaLayout& arena = plan_.arenas[static_cast<size_t>(stage_)];
  if (const int buffer = arena.workspace[at]; buffer >= 0) {
    const Buffer& workspace = arena.buffers.at(buffer);
    arguments.workspace = arena_ + workspace.offset;
    arguments.workspace_bytes = workspace.bytes;
  }
  arguments.threads = plan_.threads_per_rank;
  return std::make_unique<BoundCompute>(make_kernel(op.definition->name(), std::move(arguments)));
}

std::unique_ptr<Executor::BoundInstruction> Executor::bind_slice(const Slice& slice, int microbatch) {
  require_pairs(slice.operands, slice.results, slice.moved);
  auto bound = std::make_unique<BoundSlice>();
  for (size_t i = 0; i < slice.operands.size(); ++i)
    bound->add(view(slice.operands[i], microbatch), view(slice.results[i], microbatch));
  return bound;
}

std::unique_ptr<Executor::BoundInstruction> Executor::bind_send(const Send& send, InstructionId at, int microbatch) {
  const ArenaLayout& arena = plan_.arenas[static_cast<size_t>(stage_)];
  const Buffer& outgoing = arena.buffers.at(arena.workspace[at]);
  const MessageLayout layout = message_layout(plan_.program, send);
  std::vector<std::span<const std::byte>> values;
  for (int operand : send.operands) values.push_back(value(operand, microbatch));
  std::vector<std::vector<std::span<std::byte>>> copies(static_cast<size_t>(outgoing.slot_count));
  for (int turn = 0; turn < outgoing.slot_count; ++turn) {
    for (size_t i = 0; i < values.size(); ++i) {
      copies[static_cast<size_t>(turn)].push_back(
          {arena_ + outgoing.slot_offset(turn) + layout.offsets[i], values[i].size()});
    }
  }
  return std::make_unique<BoundSend>(links_.at(send.channel), std::move(values), std::move(copies));
}

std::unique_ptr<Executor::BoundInstruction> Executor::bind_receive(const Receive& receive, int microbatch) {
  std::vector<std::span<std::byte>> values;
  for (int result : receive.results) values.push_back(value(result, microbatch));
  return std::make_unique<BoundReceive>(links_.at(receive.channel), std::move(values));
}

std::unique_ptr<Executor::BoundInstruction> Executor::bind_start(const CollectiveStart& collective, int microbatch) {
  std::vector<int> moved = collective.operands;
  if (collective.counted) moved.resize(1);
  require_pairs(moved, collective.destinations, collective.moved);
  std::vector<CollectivePart> parts;
  std::vector<int> destination_of;
  for (size_t i = 0; i < moved.size(); ++i) {
    const ProgramValue& from = plan_.program.values.at(collective.operands[i]);
    const ProgramValue& to = plan_.program.values.at(collective.destinations[i]);
    CollectivePart part;
    part.source = value(collective.operands[i], microbatch).data();
    part.destination = value(collective.destinations[i], microbatch).data();
    part.shape = from.local_shape;
    part.dtype = from.dtype;
    part.split_dim = collective.moved[i].split_dim;
    part.concat_dim = collective.moved[i].concat_dim;
    part.reduction = collective.reduction;
    if (collective.counted) {
      const TensorView counts = view(collective.operands.at(2), microbatch);
      part.sent_rows = view(collective.operands.at(1), microbatch).i32();
      part.received_rows = counts.i32();
      part.row_groups = counts.shape.back();
    }
    parts.push_back(std::move(part));
    if (collective.kind != InstructionKind::collective_permute) continue;
    if (collective.shift != 0) {
      destination_of = ring_destinations(collective.group_size, collective.shift, collective.receivers);
      continue;
    }
    const std::vector<int> members = plan_.mesh.group(device_, {collective.axes.begin(), collective.axes.end()});
    std::vector<int> destinations = permute_destinations(plan_.mesh, from.shape, from.sharding, to.sharding, members);
    if (i > 0 && destinations != destination_of) throw inconsistent("the parts of a permute go to different devices");
    destination_of = std::move(destinations);
  }
  return std::make_unique<BoundStart>(group(collective.axes), collective.kind, std::move(parts),
                                      std::move(destination_of));
}

}  // namespace shardscope
