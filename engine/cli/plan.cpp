#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "engine/base/standard_streams.h"
#include "engine/cli/command_line.h"
#include "engine/cli/host_arguments.h"
#include "engine/cli/machine_argument.h"
#include "engine/cli/plan_report.h"
#include "engine/cli/run_file_arguments.h"
#include "engine/cli/what_next_text.h"
#include "engine/compile/compile.h"

namespace shardscope {

namespace {

std::string compared(const RunFileArguments& arguments, const HostArguments& hosts, const MachineArgument& machine,
                     const std::string& text) {
  const size_t equals = text.find('=');
  const std::string setting = text.substr(0, equals);
  if (equals == std::string::npos) {
    throw Failure(Error{"bad_argument", "no values are given", at_argument("--compare " + text),
                        "PATH=A,B,..., such as schedule.microbatches=1,2,4"});
  }
  std::vector<NamedPlan> plans;
  RunFileArguments changed = arguments;
  for (size_t begin = equals; begin < text.size();) {
    const size_t end = std::min(text.find(',', begin + 1), text.size());
    const std::string value = text.substr(begin + 1, end - begin - 1);
    changed.assign(setting, value, fmt::format("--compare {}={}", setting, value));
    const RunConfig config = hosts.with_hosts(machine.with_machine(changed.load()));
    changed.assignments.pop_back();
    plans.push_back({value, compile(plan_request(config))});
    begin = end;
  }
  return plan_comparison(setting, plans);
}

}  // namespace

void add_plan(CLI::App& app, CommandLine& line) {
  CLI::App* command =
      app.add_subcommand("plan", "Memory per device, collectives and predicted time of a training step");
  auto arguments = std::make_shared<RunFileArguments>();
  auto hosts = std::make_shared<HostArguments>();
  auto machine = std::make_shared<MachineArgument>();
  auto as_json = std::make_shared<bool>(false), steps = std::make_shared<bool>(false);
  auto next = std::make_shared<bool>(false), each_layer = std::make_shared<bool>(false);
  arguments->add_to(*command);
  auto compare = std::make_shared<std::string>();
  hosts->add_list_to(*command);
  machine->add_to(*command);
  CLI::Option* json = command->add_flag("--json", *as_json, "the plan for scripts, with the keys below");
  CLI::Option* by_step =
      command->add_flag("--steps", *steps, "forward and backward line by line: `In[B, D] = AllGather(In[B, D_Y])`")
          ->excludes(json);
  command
      ->add_flag("--what-next", *next,
                 "which setting, changed by one notch, makes the step shorter or saves memory: half an axis moved to "
                 "another, two axes in each other's place, twice or half the microbatches, rematerialisation, a ZeRO "
                 "stage more or less, pipeline schedule, overlap, layout mode")
      ->excludes(json)
      ->excludes(by_step);
  command
      ->add_flag("--each-layer", *each_layer,
                 "a line for each parameter and collective; without it those that differ in the number of their layer "
                 "alone share one")
      ->excludes(json)
      ->excludes(by_step);
  command
      ->add_option("--compare", *compare,
                   "a line for each value of a setting: memory, bytes sent, FLOPs, predicted time")
      ->type_name("PATH=A,B,...")
      ->excludes(json);
  line.help(command)
      .paragraph(
          "Memory per device, collectives with their causes, bytes sent, FLOPs and predicted time of a training step, "
          "warnings and advice: what `shardrun lint` finds in the plan alone.")
      .table(
          "Keys of plan --json",
          {{"mesh.axes, mesh.devices", "names and sizes, order of the devices"},
           {"memory.CATEGORY, memory.allocator, memory.total",
            "bytes of each category at the peak, of the allocator, and of all, on the heaviest device, as the software "
            "stack holds them; of this program the arena"},
           {"memory.ranks",
            "of distinct ranks, one of each stage: `stage`, `rank` (the first), `ranks` (how many), bytes of each "
            "category, `allocator` and `total`"},
           {"memory.live_lower_bound, memory.fragmentation",
            "of this program: bytes alive at once, at least; share of the arena that is unused at its peak"},
           {"wire_bytes_per_device", "bytes that the device sends that sends most, in a step, by the ring convention"},
           {"flops_per_device, seconds_per_step", "floating-point operations of a device, predicted seconds of a step"},
           {"communication",
            "by stage: `exposed_seconds`, in which the device waits for collectives, and `hidden_seconds`, in which "
            "they run beside computation; `exposed_by_axes`: the former by mesh axes"},
           {"causes",
            "what the stage that works longest is busy with or waits for, by cause: `cause`, `seconds`, which add up "
            "to those of the step, of communication `hidden_seconds` beside computation and what it is mostly "
            "`behind`, `wire_bytes`, and the `count` of instructions"},
           {"work", "by stage: what instructions take, each alone, by family and mesh axes: `seconds` and `count`"},
           {"stack, evidence",
            "the software stack; the number of published `measurements` of its machine, and of those with memory, "
            "`memory_measurements`; `time_error` and `memory_error`, their mean errors, and the ranges that these "
            "give: `seconds_per_step` and `memory`, each the prediction divided by and times 1 + the error"},
           {"tokens_per_step, tokens_per_second_per_device", "elements of the largest input of integers"},
           {"model_flops_per_step, hardware_flops_per_step, mfu, hfu", "utilisation of the devices (predictions.md)"},
           {"device_hours_per_billion_tokens, cost_per_billion_tokens",
            "the cost where the machine has a `price_per_device_hour`"},
           {"hash, planning_ms", "the plan's hash, and the milliseconds that planning took"},
           {"collectives",
            "each collective and send: kind, axes, group, bytes, count in a step, phase, op, cause, `seconds` of each, "
            "of a send those of its message, which the receive takes, and besides `hidden_seconds`, which the stack "
            "hides behind a pass"},
           {"parameters", "each parameter: path, shape, spec, why, local shape, bytes per device"},
           {"warnings, advice", "texts"},
           {"pipeline", "with a pipeline: axis, schedule, layers, stages, `bubble`, `bubble_of_equal_stages`"}})
      .example("shardrun plan run.json", "the whole plan")
      .example("shardrun plan run.json --compare schedule.rematerialise=none,full,attention,mlp",
               "what each choice of a setting costs")
      .example("shardrun plan run.json --machine dgx_h100 --json | jq .seconds_per_step",
               "the predicted step time on another machine, for a script");
  command->callback([&line, arguments, hosts, machine, as_json, steps, next, compare, each_layer] {
    line.action = [arguments, hosts, machine, as_json, steps, next, compare, each_layer] {
      if (!compare->empty()) {
        print_lines(compared(*arguments, *hosts, *machine, *compare));
        return exit_ok;
      }
      const RunConfig config = hosts->with_hosts(machine->with_machine(arguments->load()));
      const Plan plan = compile(arguments->request(config));
      if (*next) {
        print_lines(what_next_text(what_next(plan)));
        return exit_ok;
      }
      print_lines(*as_json ? plan_json(plan) : *steps ? plan_steps_text(plan) : plan_text(plan, *each_layer));
      return exit_ok;
    };
  });
}

}  // namespace shardscope
