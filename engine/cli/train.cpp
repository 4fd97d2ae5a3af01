#include <fmt/format.h>
#include <fmt/ranges.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <stop_token>
#include <utility>

#include "engine/base/control_group.h"
#include "engine/base/error.h"
#include "engine/base/plural.h"
#include "engine/base/standard_streams.h"
#include "engine/checkpoint/stored_identity.h"
#include "engine/cli/checkpoint_arguments.h"
#include "engine/cli/command_line.h"
#include "engine/cli/host_arguments.h"
#include "engine/cli/machine_argument.h"
#include "engine/cli/run_file_arguments.h"
#include "engine/cli/run_output.h"
#include "engine/cli/signals_to_run.h"
#include "engine/cli/train_outputs.h"
#include "engine/cli/training_output.h"
#include "engine/compile/compile.h"
#include "engine/plan/host_memory.h"
#include "engine/session/deadlines.h"
#include "engine/session/run_process.h"
#include "engine/worker/mpi_worker.h"

namespace shardscope {

namespace {

struct TrainArguments {
  RunFileArguments run_file;
  HostArguments hosts;
  TrainOutputPaths outputs;
  CheckpointArguments checkpoints;
  std::string socket;
  bool keep_going = false, bind_cpus = false;
  MachineArgument machine;
  std::vector<std::string> deadlines;
  int max_restarts = 0;

  RunConfig config() const { return hosts.with_hosts(machine.with_machine(run_file.load())); }
  // `config` is that of the plan.
  TrainOutputs open_outputs(const RunConfig& config, const Plan& plan) const {
    return {plan, outputs, run_file.inputs(config)};
  }
  bool prints_lines() const { return !is_quiet() && !outputs.take_standard_output(); }
  std::vector<std::string> rank_arguments(bool again) const {
    std::vector<std::string> list;
    const std::string gathered = outputs.trained.gathered();
    if (!gathered.empty()) list = {"--parameters", gathered};
    if (keep_going) list.push_back("--keep-going");
    if (bind_cpus) list.push_back("--bind-cpus");
    if (is_quiet()) list.push_back("--quiet");
    for (const std::string& argument : checkpoints.rank_arguments(again)) list.push_back(argument);
    return list;
  }
};

RunOptions run_options(const RunConfig& config, const Plan& plan, const TrainArguments& arguments,
                       const DataIdentity& data) {
  RunOptions options;
  options.data_json = write_data_identity(data);
  options.config_json = plan.run_file;
  options.machine = plan.machine;
  options.plan_hash = plan.hash;
  options.ranks = plan.mesh.device_count();
  options.steps = plan.training.steps;
  options.rank_bytes = rank_memory_bytes(plan);
  const std::vector<int64_t> checkpoint_bytes = arguments.checkpoints.bytes(plan);
  options.checkpoint_bytes = RankRange{0, options.ranks}.sum(checkpoint_bytes);
  options.limits = deadlines_of(plan, plan.training.data.reads_files(), data.sampled_bytes());
  for (const std::string& deadline : arguments.deadlines) set_deadline(options.limits, deadline);
  options.max_restarts = arguments.max_restarts;
  options.socket_path = arguments.socket;
  options.metrics = metric_names(plan.metrics);
  options.expert_layers = plan.expert_layers;
  options.plan_steps = plan_step_names(plan);
  std::string program = std::filesystem::read_symlink("/proc/self/exe");
  options.hosts = arguments.hosts.options(config, program);
  if (options.hosts) {
    options.hosts->rank_bytes = options.rank_bytes;
    if (!arguments.outputs.force) {
      options.hosts->needed_bytes = plan.totals.memory_total;
      options.hosts->checkpoint_bytes = checkpoint_bytes;
    }
    options.hosts->start_ns = options.limits.agent_ns;
    options.hosts->silence_ns = options.limits.host_ns;
    options.hosts->command = [program, &arguments, ranks = options.ranks,
                              again = false](const MpirunHosts& hosts) mutable {
      return mpirun_command(program, hosts, ranks, arguments.rank_arguments(std::exchange(again, true)));
    };
  }
  options.command = [program, &arguments, ranks = options.ranks, again = false](const std::string& session) mutable {
    return mpirun_command(program, session, ranks, arguments.rank_arguments(std::exchange(again, true)));
  };
  options.restart_step = [&arguments] { return arguments.checkpoints.restart_step(); };
  options.incomplete_checkpoints = [&arguments] { return arguments.checkpoints.incomplete(); };
  return options;
}

int exit_code(RunEnd end, int signal) {
  if (end == RunEnd::failed) return exit_failed_run;
  return end == RunEnd::interrupted ? exit_by_signal + signal : exit_ok;
}

int supervise(const Plan& plan, RunProcess& run, HeldSignals& held, TrainOutputs& outputs, RunOutput& output) {
  const SignalsToRun signals(run);
  const HeldSignals::Released released(held);
  try {
    if (!output.begin(plan)) run.stop();
    const RunOutcome outcome = run.run([&](const ReportedMessage& message) {
      const bool is_kept = outputs.logs().take(message), is_reported = output.take(message);
      if (!is_kept || !is_reported) run.stop();
    });
    outputs.trained().finish();
    const std::string& problem = outputs.logs().problem();
    if (!problem.empty()) output.say(problem);
    if (outcome.end == RunEnd::stopped || outcome.end == RunEnd::interrupted) {
      const std::string_view how = signals.first() == SIGTERM ? "terminated" : name(outcome.end);
      output.note(fmt::format("{} after {} of {}", how, outcome.steps, counted(plan.training.steps, "step")));
    }
    const int code = exit_code(outcome.end, signals.first());
    return code == exit_ok && !problem.empty() ? exit_failed_run : code;
  } catch (const Failure& failure) {
    output.say(failure.what());
    return exit_failed_run;
  }
}

// Null where there can be none, which is said.
std::unique_ptr<RunProcess> make_run(const RunOptions& options) {
  try {
    return std::make_unique<RunProcess>(options);
  } catch (const Failure& failure) {
    say(failure.what());
    return nullptr;
  }
}

int train_by_ranks(const RunConfig& config, const Plan& plan, const TrainArguments& arguments, const DataIdentity& data,
                   HeldSignals& held) {
  TrainOutputs outputs = arguments.open_outputs(config, plan);
  std::unique_ptr<RunProcess> run = make_run(run_options(config, plan, arguments, data));
  if (!run) return exit_failed_run;
  outputs.begin();
  RunOutput output(outputs.steps(), arguments.prints_lines());
  int code = supervise(plan, *run, held, outputs, output);
  run.reset();  // the end may be by a signal
  held.release();
  code = output.finish(code);
  for (const std::string& line : outputs.end(code == exit_ok)) note(line);
  return code;
}

// Else it trains here all the same, in the memory of this host.
bool is_for_a_host(const Plan& plan) { return plan.machine.device.kind == DeviceKind::host_cores; }

int start_ranks(const TrainArguments& arguments) {
  const RunConfig config = arguments.config();
  const Plan plan = compile(arguments.run_file.request(config));
  // Else each host tells.
  if (plan.training.refusal) throw Failure(*plan.training.refusal);
  if (config.hosts.empty()) {
    const bool force = arguments.outputs.force;
    const std::vector<int64_t> copied = arguments.checkpoints.bytes(plan);
    require_host_memory(plan, force, copied);
    if (!is_for_a_host(plan))
      require_host_memory(plan, {0, plan.mesh.device_count()}, usable_memory_bytes(), force, copied);
  }
  const DataIdentity data = identify_data(plan.training.data);
  const std::optional<std::string> nothing_to_do = arguments.checkpoints.check(plan, data);
  if (nothing_to_do && arguments.outputs.trained.gathered().empty()) {
    note(*nothing_to_do);
    return exit_ok;
  }
  HeldSignals held;
  const int code = train_by_ranks(config, plan, arguments, data, held);
  if (code == exit_by_signal + SIGPIPE) ::raise(SIGPIPE);
  return code;
}

// As mpirun says, which by default gives a host ranks that follow each other.
RankRange ranks_on_this_host(const Plan& plan) {
  const auto number = [](const char* variable) {
    const char* text = std::getenv(variable);
    return text ? std::atoi(text) : 0;
  };
  const RankRange ranks{number("OMPI_COMM_WORLD_RANK") - number("OMPI_COMM_WORLD_LOCAL_RANK"),
                        number("OMPI_COMM_WORLD_LOCAL_SIZE")};
  const int all = plan.mesh.device_count();
  const bool is_known = ranks.first >= 0 && ranks.count > 0 && ranks.first + ranks.count <= all;
  return is_known ? ranks : RankRange{0, all};
}

// What is left to write and to say on the rank that writes, whose training has ended with `code`.
int finish_outputs(TrainOutputs& outputs, const TrainingOutput& output, int code, const FinishedMessage& finished) {
  try {
    if (code == exit_ok) outputs.logs().take(Message(finished));
    outputs.trained().finish();
  } catch (const Failure& failure) {
    say(failure.what());
    return exit_failed_run;
  }
  const std::optional<Error> loss = outputs.steps() ? outputs.steps()->loss() : std::nullopt;
  bool is_well = finished.end == RunEnd::finished;
  for (const std::string& problem : {outputs.logs().problem(), output.lines().problem(), output.steps().problem(),
                                     loss ? to_string(*loss) : std::string()}) {
    if (!problem.empty()) say(problem);
    is_well = is_well && problem.empty();
  }
  return code == exit_ok && !is_well ? exit_failed_run : code;
}

// Under a person's own mpirun this process is one of the ranks.
int be_a_rank(const CommandLine& line, const TrainArguments& arguments) {
  std::unique_ptr<TrainOutputs> outputs;
  std::unique_ptr<TrainingOutput> output;
  int64_t steps_done = 0;
  std::stop_source unwritable;
  RunConfig config;
  RankOptions options;
  options.plan = [&](const Machine& machine) {
    config = arguments.machine.with_machine(arguments.run_file.load());
    return compile({config, machine});
  };
  options.machine = [&arguments] { return plan_request(arguments.config()).machine; };
  options.check_plan = [&](const Plan& plan) {
    const bool is_given = !config.machine.empty() && is_for_a_host(plan);
    require_host_memory(plan, ranks_on_this_host(plan),
                        is_given ? plan.machine.device.memory_bytes : usable_memory_bytes(), arguments.outputs.force,
                        arguments.checkpoints.bytes(plan));
  };
  options.on_plan = [&](const Plan& plan) {
    for (const Error& warning : plan.warnings) note("warning: " + to_string(warning));
    outputs = std::make_unique<TrainOutputs>(arguments.open_outputs(config, plan));
  };
  options.on_begin = [&](const Plan& plan, int64_t first) {
    const bool has_nothing_to_do = plan.trains() && first >= plan.training.steps;
    if (has_nothing_to_do && arguments.outputs.trained.gathered().empty()) return;
    outputs->begin();
    output =
        std::make_unique<TrainingOutput>(arguments.prints_lines() ? TextSink("standard output", stdout) : TextSink(),
                                         outputs->steps() ? TextSink(*outputs->steps()) : TextSink());
    if (!output->begin(plan)) unwritable.request_stop();
  };
  options.on_step = [&](const StepMessage& step) {
    steps_done = step.step + 1;
    const bool is_kept = outputs->logs().take(Message(step)), is_reported = output->step(step);
    if (!is_kept || !is_reported) unwritable.request_stop();
  };
  options.on_failure = [&] {
    for (const std::string& text : output ? outputs->end(false) : std::vector<std::string>()) note(text);
    output.reset();
    outputs.reset();
  };
  options.stop = unwritable.get_token();
  options.parameter_file = arguments.outputs.trained.gathered();
  options.keep_going = arguments.keep_going;
  options.bind_cpus = arguments.bind_cpus;
  options.checkpoints = arguments.checkpoints.options();
  int code = run_rank(line.argc, line.argv, options);
  if (!output) return code;
  const RunEnd end = unwritable.stop_requested() ? RunEnd::stopped : RunEnd::finished;
  code = finish_outputs(*outputs, *output, code, {end, steps_done});
  for (const std::string& text : outputs->end(code == exit_ok)) note(text);
  return code;
}

int train_command(const CommandLine& line, const TrainArguments& arguments) {
  if (std::getenv("OMPI_COMM_WORLD_SIZE")) {
    if (!arguments.socket.empty()) {
      throw Failure(Error{"bad_argument", "--socket needs shardrun to start the ranks itself", at_argument("train"),
                          "call it without mpirun"});
    }
    if (arguments.run_file.file == standard_stream) {
      throw Failure(Error{"bad_argument", "each rank reads the run file, and standard input is there for one of them",
                          in_file(arguments.run_file.file), "name a file, or call it without mpirun"});
    }
    return be_a_rank(line, arguments);
  }
  return start_ranks(arguments);
}

void describe_training(HelpText& help) {
  help.paragraph(
          "Trains on one MPI rank for each device of the mesh. `mpirun -n 8 shardrun train FILE` under a launcher of "
          "your own works as well; what the run then does not control is in SECURITY.md.")
      .paragraph(fmt::format(
          "Deadlines are those of the phases of a rank, of a rank that is `stopped` or takes long to end, of an "
          "`agent` "
          "to come from its host, and of a `host` not to answer: {}. When one passes, the rank, its phase and the "
          "ranks "
          "that wait for it are named. By default a phase may take 11 seconds and what the plan's size, planning time, "
          "ranks and files ask for beyond; a stopped rank 2, an agent 12, a host 10. `saving` is the wait for a call "
          "that writes a checkpoint, also after an interrupt.",
          fmt::join(deadline_names(), ", ")))
      .paragraph(
          "A line of the `--jsonl` file has the step, each metric, `step_ms` of the slowest rank and, for each rank, "
          "the "
          "keys below. Collectives between hosts count waiting for their messages as busy, since MPI does not report "
          "when one arrived. Every step is in the file: a rank that is far ahead of a stopped launcher waits for it.")
      .table(
          "Keys of train --jsonl",
          {{"expert_imbalance",
            "a metric of models with experts: tokens that chose the busiest expert over the mean, of the layer that is "
            "least even; dropped ones count"},
           {"dropped_tokens",
            "a metric where `model.capacity_factor` bounds the room: choices of experts that found none, of all "
            "layers, microbatches and ranks"},
           {"arena_bytes, parameter_bytes, optimizer_bytes",
            "bytes of the arena that were overwritten; parameters and optimizer state as counted when they were "
            "initialised"},
           {"heap_bytes, outside_bytes",
            "heap taken since training began; all that the kernel counts as the process's own"},
           {"wire_bytes_sent", "counted from the calls by the ring convention: the same on every transport"},
           {"moved_bytes",
            "what the transport moved: each byte that it copied, read from a peer, summed or handed to MPI (one that "
            "is packed, sent and unpacked counts three times)"},
           {"busy_ms, cpu_ms, wait_ms",
            "milliseconds not waiting for peers, of these on a processor, and waiting; each has four entries: "
            "forward, backward, update, and recomputed forward results (0 without `rematerialise`)"}})
      .example("shardrun train run.json --steps 100 --jsonl steps.jsonl", "a hundred steps, and a file of all numbers")
      .example("shardrun train run.json --checkpoint checkpoints --save-every 50", "with checkpoints")
      .example("shardrun train run.json --resume checkpoints --set mesh.data=8", "continued on another mesh")
      .example("shardrun train run.json --record record", "with a record for `export` and the window");
}

}  // namespace

void add_train(CLI::App& app, CommandLine& line) {
  CLI::App* command = app.add_subcommand("train", "Train the plan on MPI ranks, one for each device of the mesh");
  auto arguments = std::make_shared<TrainArguments>();
  arguments->run_file.add_to(*command);
  command
      ->add_option_function<std::string>(
          "--steps",
          [arguments](const std::string& steps) { arguments->run_file.assign("steps", steps, "--steps " + steps); },
          "training steps, instead of the run file's")
      ->type_name("N");
  auto* jsonl = command
                    ->add_option("--jsonl", arguments->outputs.jsonl,
                                 "write one JSON object for each step to this new file, with the keys below")
                    ->type_name("OUT")
                    ->transform(output_name);
  auto* append = command->add_flag("--append", arguments->outputs.append, "add to the `--jsonl` file where it exists");
  command
      ->add_option("--parameters", arguments->outputs.trained.parameters,
                   "at the end gather all parameters into one new safetensors file; "
                   "`flax.traverse_util.unflatten_dict(load_file(OUT), sep=\"/\")` is the tree that Flax applies")
      ->type_name("OUT");
  command
      ->add_option("--predictions", arguments->outputs.trained.predictions,
                   "write what the trained model predicts of each example of its data, one JSON object for each (data "
                   "with an end: `quadratic`)")
      ->type_name("OUT");
  command
      ->add_option(
          "--record", arguments->outputs.logs.record,
          "keep a record of the run in this new folder, for `export`: run file, machine, plan hash, all steps, and "
          "three steps (latest, slowest, median) with the times of everything in them")
      ->type_name("DIR");
  command
      ->add_option("--tensorboard", arguments->outputs.logs.tensorboard,
                   "write metrics as an event file of TensorBoard during training")
      ->type_name("DIR");
  auto* force = command->add_flag("--force", arguments->outputs.force,
                                  "replace files that exist, and train what needs more memory than there is");
  append->needs(jsonl);
  force->excludes(append);
  command->add_flag("--keep-going", arguments->keep_going,
                    "train on after a loss that is infinite or NaN; else such a loss ends the run before its "
                    "update, with the step and the first op that made it");
  command->add_flag("--bind-cpus", arguments->bind_cpus, "keep each rank to its own share of its host's CPUs");
  command
      ->add_option("--deadline", arguments->deadlines, "how long a phase of the run may take, one of the names below")
      ->type_name("NAME=SECONDS")
      ->allow_extra_args(false);
  arguments->machine.add_to(*command);
  command
      ->add_option(
          "--max-restarts", arguments->max_restarts,
          "start all ranks again, up to N times, after one was lost (killed, stopped, stuck); the `--jsonl` file "
          "gets a line `{\"restart\": 1, \"from_step\": 0, ...}`, and the steps from there on once more")
      ->type_name("N")
      ->check(CLI::NonNegativeNumber);
  arguments->hosts.add_to(*command);
  arguments->checkpoints.add_to(*command);
  command
      ->add_option("--socket", arguments->socket,
                   "where clients connect (a local socket), such as the window's Attach to a socket")
      ->type_name("PATH");
  describe_training(line.help(command));
  command->callback(
      [&line, arguments] { line.action = [&line, arguments] { return train_command(line, *arguments); }; });
}

}  // namespace shardscope
