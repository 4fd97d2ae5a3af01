#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <memory>
#include <stop_token>
#include <utility>

#include "engine/base/error.h"
#include "engine/cli/checkpoint_arguments.h"
#include "engine/cli/command_line.h"
#include "engine/cli/host_arguments.h"
#include "engine/cli/run_file_arguments.h"
#include "engine/cli/trained_output.h"
#include "engine/cli/training_lines.h"
#include "engine/cli/training_output.h"
#include "engine/compile/compile.h"
#include "engine/config/write.h"
#include "engine/plan/host_memory.h"
#include "engine/session/deadlines.h"
#include "engine/session/run_process.h"
#include "engine/worker/mpi_worker.h"

namespace shardscope {

namespace {

struct TrainArguments {
  RunFileArguments run_file;
  HostArguments hosts;
  std::string jsonl;
  TrainedPaths trained;
  CheckpointArguments checkpoints;
  std::string socket;
  bool append = false;
  bool force = false;
  bool keep_going = false;
  std::string profile_file;
  std::vector<std::string> deadlines;
  int max_restarts = 0;

  DeviceProfile profile() const { return profile_file.empty() ? host_profile() : load_profile(profile_file); }
  TrainingOutput open_training_output() const {
    if (jsonl.empty()) return {"", nullptr};
    const Existing existing = force ? Existing::overwrite : append ? Existing::append : Existing::refuse;
    return {jsonl, open_output(jsonl, existing, inputs())};
  }
  TrainedOutput open_trained_output(const Plan& plan) const {
    std::vector<std::string> not_these = inputs();
    if (!jsonl.empty()) not_these.push_back(jsonl);
    return {plan, trained, force ? Existing::overwrite : Existing::refuse, std::move(not_these)};
  }
  std::vector<std::string> rank_arguments(bool again) const {
    std::vector<std::string> list;
    if (!trained.gathered().empty()) list = {"--parameters", trained.gathered()};
    if (keep_going) list.push_back("--keep-going");
    for (const std::string& argument : checkpoints.rank_arguments(again)) list.push_back(argument);
    return list;
  }

 private:
  std::vector<std::string> inputs() const {
    return {run_file.file, profile_file.empty() ? profile_path().string() : profile_file};
  }
};

std::atomic<RunProcess*> current_run = nullptr;
std::atomic<int> first_signal = 0;

void interrupt_run(int signal) {
  int none = 0;
  if (first_signal.compare_exchange_strong(none, signal)) {
    for (std::string_view text :
         {std::string_view(signal == SIGTERM ? "SIGTERM: " : ""), interrupt_note, std::string_view("\n")}) {
      [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
    }
  }
  if (RunProcess* run = current_run.load()) run->interrupt();
}

void pause_run(int) {
  if (RunProcess* run = current_run.load()) run->pause();
}

// While it lives, Ctrl-C, SIGTERM and SIGHUP end the run in order, Ctrl-Z stops its ranks, too, and a closed pipe is an
// error of write().
class SignalsToRun {
 public:
  explicit SignalsToRun(RunProcess& run) {
    current_run = &run;
    struct sigaction action {};
    action.sa_handler = interrupt_run;
    for (int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaction(signal, &action, nullptr);
    action.sa_handler = pause_run;
    ::sigaction(SIGTSTP, &action, nullptr);
    ::signal(SIGPIPE, SIG_IGN);
  }
  ~SignalsToRun() {
    for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGTSTP, SIGPIPE}) ::signal(signal, SIG_DFL);
    current_run = nullptr;
  }
};

// Ranks' own words go to standard error at once. mpirun's are kept, and said only where no rank is to blame.
class RunLog {
 public:
  RunLog() : logger_("shardrun", std::make_shared<spdlog::sinks::stderr_sink_mt>()) { logger_.set_pattern("%v"); }

  void add(const LogMessage& log) {
    const std::string speaker = fmt::format("rank {}: ", log.rank);
    if (log.rank == LogMessage::supervisor) logger_.info("{}", log.text);
    else if (log.rank < 0) kept_.push_back(log.text);
    else logger_.info("{}{}", log.text.starts_with(speaker) ? "" : speaker, log.text);
    if (kept_.size() > 100) kept_.pop_front();
  }
  void tell(const FailureMessage& failure) {
    if (failure.rank < 0) {
      for (const std::string& text : kept_) logger_.info("{}", text);
    }
    logger_.error("{}", failure.message);
  }
  void tell(const RestartMessage& restart) {
    logger_.warn("{}; starting again from step {} (restart {})", restart.failure.message, restart.from_step,
                 restart.restart);
  }

 private:
  spdlog::logger logger_;
  std::deque<std::string> kept_;
};

RunOptions run_options(const Plan& plan, const TrainArguments& arguments) {
  RunOptions options;
  options.config_json = write_run_config(plan.config);
  options.profile = plan.profile;
  options.plan_hash = plan.hash;
  options.ranks = plan.mesh.device_count();
  options.steps = plan.config.steps;
  options.rank_bytes = rank_memory_bytes(plan);
  options.limits = deadlines_of(plan);
  for (const std::string& deadline : arguments.deadlines) set_deadline(options.limits, deadline);
  options.max_restarts = arguments.max_restarts;
  options.socket_path = arguments.socket;
  options.metrics = metric_names(plan.metrics);
  options.plan_steps = plan_step_names(plan);
  std::string program = std::filesystem::read_symlink("/proc/self/exe");
  options.hosts = arguments.hosts.options(options.ranks, program);
  if (options.hosts) {
    options.hosts->rank_bytes = options.rank_bytes;
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
  return options;
}

Failure with_hint(const Failure& failure) {
  std::vector<Error> errors = failure.errors();
  for (Error& error : errors) {
    if (error.code == "start_program") error.hint = "install openmpi-bin, or put Open MPI's mpirun on the PATH";
  }
  return Failure(errors);
}

int exit_code(RunEnd end) {
  if (end == RunEnd::failed) return exit_failed_run;
  return end == RunEnd::interrupted ? exit_by_signal + first_signal : exit_ok;
}

int start_ranks(const Plan& plan, const TrainArguments& arguments) {
  require_host_memory(plan, arguments.force);
  arguments.checkpoints.check(plan);
  const RunOptions options = run_options(plan, arguments);
  TrainingOutput output = arguments.open_training_output();
  TrainedOutput trained = arguments.open_trained_output(plan);
  RunLog log;
  try {
    RunProcess run(options);
    SignalsToRun signals(run);
    bool writable = output.begin(plan);
    if (!writable) run.interrupt();
    RunOutcome outcome = run.run([&](const Message& message) {
      if (auto* step = std::get_if<StepMessage>(&message)) {
        if (writable && !(writable = output.step(*step))) run.interrupt();
      }
      if (auto* restart = std::get_if<RestartMessage>(&message)) {
        log.tell(*restart);
        if (writable && !(writable = output.restart(*restart))) run.interrupt();
      }
      if (auto* line = std::get_if<LogMessage>(&message)) log.add(*line);
      if (auto* failure = std::get_if<FailureMessage>(&message)) log.tell(*failure);
    });
    trained.finish();
    if (outcome.end == RunEnd::stopped || outcome.end == RunEnd::interrupted) {
      const std::string_view how = first_signal == SIGTERM ? "terminated" : name(outcome.end);
      fmt::print(stderr, "{} after {} of {} steps\n", how, outcome.steps, plan.config.steps);
    }
    return writable ? exit_code(outcome.end) : exit_failed_run;
  } catch (const Failure& failure) {
    fmt::print(stderr, "{}\n", with_hint(failure).what());
    return exit_failed_run;
  }
}

// Under a person's own mpirun this process is one of the ranks.
int be_a_rank(const CommandLine& line, const TrainArguments& arguments) {
  std::unique_ptr<TrainingOutput> output;
  std::unique_ptr<TrainedOutput> trained;
  std::stop_source unwritable;
  RankOptions options;
  options.config = [&arguments] { return arguments.run_file.load(); };
  options.profile = [&arguments] { return arguments.profile(); };
  options.on_plan = [&](const Plan& plan) {
    output = std::make_unique<TrainingOutput>(arguments.open_training_output());
    trained = std::make_unique<TrainedOutput>(arguments.open_trained_output(plan));
    if (!output->begin(plan)) unwritable.request_stop();
  };
  options.on_step = [&](const StepMessage& step) {
    if (!output->step(step)) unwritable.request_stop();
  };
  options.stop = unwritable.get_token();
  options.parameter_file = arguments.trained.gathered();
  options.keep_going = arguments.keep_going;
  options.checkpoints = arguments.checkpoints.options();
  const int code = run_rank(line.argc, line.argv, options);
  try {
    if (trained) trained->finish();
  } catch (const Failure& failure) {
    fmt::print(stderr, "{}\n", failure.what());
    return exit_failed_run;
  }
  return code == exit_ok && unwritable.stop_requested() ? exit_failed_run : code;
}

int train_command(const CommandLine& line, const TrainArguments& arguments) {
  if (std::getenv("OMPI_COMM_WORLD_SIZE")) {
    if (!arguments.socket.empty()) {
      throw Failure(Error{"bad_argument", "--socket needs shardrun to start the ranks itself", at_argument("train"),
                          "call it without mpirun"});
    }
    return be_a_rank(line, arguments);
  }
  const RunConfig config = arguments.run_file.load();
  return start_ranks(compile(config, arguments.hosts.with_hosts(arguments.profile(), config)), arguments);
}

}  // namespace

void add_train(CLI::App& app, CommandLine& line) {
  CLI::App* command = app.add_subcommand("train", "Train the plan on MPI ranks, one for each device of the mesh");
  auto arguments = std::make_shared<TrainArguments>();
  arguments->run_file.add_to(*command);
  command->add_option_function<std::string>(
      "--steps", [arguments](const std::string& steps) { arguments->run_file.assignments.push_back("steps=" + steps); },
      "instead of the run file's");
  auto* jsonl = command->add_option("--jsonl", arguments->jsonl, "write one JSON object a step to this new file");
  auto* append = command->add_flag("--append", arguments->append, "add to the --jsonl file where it exists");
  command->add_option("--parameters", arguments->trained.parameters,
                      "write all parameters, whole, to this new safetensors file at the end");
  command->add_option("--predictions", arguments->trained.predictions,
                      "write what the trained model predicts of each example of its data to this new file");
  auto* force =
      command->add_flag("--force", arguments->force,
                        "lose what is in files to write that exist, and train what needs more memory than there is");
  append->needs(jsonl);
  force->excludes(append);
  command->add_flag("--keep-going", arguments->keep_going, "train on where the loss is infinite or nan");
  command
      ->add_option("--deadline", arguments->deadlines,
                   "how long a phase of the run may take: " + fmt::format("{}", fmt::join(deadline_names(), ", ")))
      ->type_name("NAME=SECONDS")
      ->allow_extra_args(false);
  command->add_option("--profile", arguments->profile_file, "plan with this device profile, instead of this machine's");
  command->add_option("--max-restarts", arguments->max_restarts, "start the ranks again after one was lost, so often")
      ->check(CLI::NonNegativeNumber);
  arguments->hosts.add_to(*command);
  arguments->checkpoints.add_to(*command);
  command->add_option("--socket", arguments->socket, "where watchers connect (a local socket)");
  command->callback(
      [&line, arguments] { line.action = [&line, arguments] { return train_command(line, *arguments); }; });
}

}  // namespace shardscope
