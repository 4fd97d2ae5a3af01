#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <thread>

#include "engine/base/input_file.h"
#include "engine/base/output_file.h"
#include "engine/base/plural.h"
#include "engine/base/standard_streams.h"
#include "engine/base/units.h"
#include "engine/cli/cancel_on_signal.h"
#include "engine/cli/command_line.h"
#include "engine/cli/machine_argument.h"
#include "engine/cli/progress_line.h"
#include "engine/cli/quantity.h"
#include "engine/cli/run_file_arguments.h"
#include "engine/cli/text_table.h"
#include "engine/cli/written_run_file.h"
#include "engine/compile/compile.h"
#include "engine/mesh/device_count.h"
#include "engine/search/conclusion.h"
#include "engine/search/search.h"
#include "engine/search/search_json.h"
#include "engine/search/search_record.h"

namespace shardscope {

namespace {

struct SearchArguments {
  RunFileArguments run_file;
  MachineArgument machine;
  std::vector<std::string> fixed, at_most;
  std::string objective = "time", write, resume;
  int64_t devices = 0, candidate = 1;
  std::optional<double> seconds;
  int threads = 0;
  bool as_json = false, heuristic = false;

  // Of outputs what would be refused when all is found, before that.
  void check_outputs(const std::vector<std::string>& inputs) const {
    if (!write.empty()) check_late_output(write, Existing::refuse, inputs);
    refuse_two_documents(as_json, write);
    if (resume.empty()) return;
    if (is_stream(resume)) {
      throw Failure(Error{"bad_argument", "what was learned is kept in a file", at_argument("--resume " + resume),
                          "the name of a file"});
    }
    check_late_output(resume, Existing::overwrite, inputs);
    if (!write.empty()) require_different({resume, write});
  }

  SearchRequest request() const {
    if (seconds && !(*seconds > 0 && std::isfinite(*seconds))) {
      throw Failure(Error{"bad_argument", "a search needs time, in seconds",
                          at_argument(fmt::format("--seconds {}", *seconds)),
                          "such as 60; without --seconds it goes on until the result is exact"});
    }
    const RunConfig config = machine.with_machine(run_file.load());
    SearchRequest request;
    request.devices = devices > 0 ? devices : device_count(config.mesh_axes);
    request.plan = plan_request(for_devices(config, request.devices));
    for (const std::string& text : fixed) fix(request.fixed, text);
    for (const std::string& text : at_most) limit(text, request);
    request.objective = objective == "memory"         ? SearchObjective::memory
                        : objective == "device_hours" ? SearchObjective::device_hours
                                                      : SearchObjective::time;
    request.budget_seconds = seconds;
    request.heuristic = heuristic;
    request.result_when_stopped = true;
    const int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
    request.threads = threads > 0 ? threads : cores;
    return request;
  }

  static void limit(const std::string& text, SearchRequest& request) {
    const size_t equals = text.find('=');
    const std::string key = text.substr(0, equals), value = equals == std::string::npos ? "" : text.substr(equals + 1);
    if (key == "memory") {
      request.at_most_memory = bytes_argument(value, "--at-most");
      return;
    }
    size_t read = 0;
    double seconds = 0;
    try {
      seconds = std::stod(value, &read);
    } catch (const std::exception&) {
    }
    if (key != "time" || read != value.size() || !(seconds > 0)) {
      throw Failure(Error{"bad_argument", "no limit that can be read", at_argument("--at-most " + text),
                          "memory=70GB, or time=1.5 (seconds of a step)"});
    }
    request.at_most_seconds = seconds;
  }
};

std::string table_of(const std::vector<Found>& list) {
  using Align = TextTable::Align;
  TextTable table({{"", Align::right},
                   {"Step", Align::right},
                   {"Memory", Align::right},
                   {"MFU", Align::right},
                   {"Exposed", Align::right},
                   {"Bubble", Align::right},
                   {"Limited by"},
                   {"Strategy"}});
  int number = 0;
  for (const Found& found : list) {
    table.add_row({std::to_string(++number), fmt::format("{:.4g} s", found.seconds), bytes_text(found.memory_bytes),
                   found.mfu > 0 ? fmt::format("{:.1f} %", 100 * found.mfu) : "-",
                   fmt::format("{:.1f} %", 100 * found.exposed_share), fmt::format("{:.1f} %", 100 * found.bubble),
                   found.limit, text_of(found.candidate)});
  }
  return table.text();
}

std::string result_text(const SearchResult& result, const SearchRequest& request) {
  const SearchSpaceCounts& space = result.space;
  std::string text = fmt::format(
      "{} of {}: {} left out by their states alone, {} by compute alone, {} by plans that are better than their "
      "bounds; {} planned, of these {} refused and {} above a limit",
      counted(space.candidates, "candidate"), counted(request.devices, "device"), space.too_large, space.too_slow,
      space.dominated, space.planned, space.illegal, space.above_limit);
  text += space.open > 0 ? fmt::format("; {} open when the time was over\n", space.open) : "\n";
  if (result.fastest.empty()) return text + conclusion_of(result, request.objective) + "\n";
  text += "\nFastest\n" + table_of(result.fastest) + "\nFront of step time against memory\n" + table_of(result.front);
  if (result.stopped) text += "\nStopped: this is what was found so far.\n";
  return text + "\n" + conclusion_of(result, request.objective) + "\n";
}

// The candidate that --write takes, of those that were found.
void write_candidate(const SearchArguments& arguments, const SearchRequest& request, const SearchResult& result) {
  const auto count = static_cast<int64_t>(result.fastest.size());
  if (arguments.candidate > count) {
    throw Failure(Error{"bad_argument", fmt::format("{} were found", counted(count, "candidate")),
                        at_argument(fmt::format("--candidate {}", arguments.candidate)), "a number of the fastest"});
  }
  const Candidate& chosen = result.fastest[static_cast<size_t>(arguments.candidate - 1)].candidate;
  write_run_file(run_of(request.plan.config, chosen), arguments.write);
}

void write_record(const SearchArguments& arguments, const SearchRequest& request, const std::string& commit) {
  const std::string text = record_text(*request.record, request, commit);
  WholeFile file(arguments.resume, Existing::overwrite, arguments.run_file.inputs(request.plan.config),
                 static_cast<int64_t>(text.size()));
  put(file.file(), text, file.part());
  file.keep();
}

int run_search(const SearchArguments& arguments, const std::string& commit) {
  SearchRequest request = arguments.request();
  arguments.check_outputs(arguments.run_file.inputs(request.plan.config));
  SearchRecord record;
  if (!arguments.resume.empty()) {
    request.record = &record;
    if (std::filesystem::exists(arguments.resume))
      record = read_record(read_text(arguments.resume, std::numeric_limits<int64_t>::max()), request, commit,
                           arguments.resume);
  }
  const CancelOnSignal cancel;
  SearchResult result;
  try {
    ProgressLine line("searching");
    result = search(request, cancel.token(), [&](const SearchProgress& progress) {
      if (progress.candidates > 0)
        line.show(static_cast<double>(progress.done) / static_cast<double>(progress.candidates));
    });
  } catch (const Cancelled&) {
    say("cancelled; nothing was written");
    return exit_by_signal + cancel.first();
  } catch (const Failure& failure) {
    throw Failure(arguments.run_file.located(failure.errors()));
  }
  if (result.space.candidates == 0) refuse_fixed(model_limits(request.plan.config), request.devices, request.fixed);
  print_lines(arguments.as_json ? search_json(result, request) : result_text(result, request));
  flush_lines();
  std::vector<Error> faults;
  const auto try_to = [&](const auto& write) {
    try {
      write();
    } catch (const Failure& failure) {
      faults.insert(faults.end(), failure.errors().begin(), failure.errors().end());
    }
  };
  if (request.record) try_to([&] { write_record(arguments, request, commit); });
  if (!arguments.write.empty() && !result.fastest.empty()) {
    try_to([&] {
      write_candidate(arguments, request, result);
      if (result.stopped)
        say(fmt::format("{}: candidate {} of what was found until then", arguments.write, arguments.candidate));
    });
  }
  if (!faults.empty()) throw Failure(faults);
  if (result.stopped) return exit_by_signal + cancel.first();
  return result.fastest.empty() ? exit_failed_run : exit_ok;
}

}  // namespace

void add_search(CLI::App& app, CommandLine& line) {
  CLI::App* command = app.add_subcommand("search", "The best strategies for a model on so many devices");
  auto arguments = std::make_shared<SearchArguments>();
  arguments->run_file.add_to(*command);
  command->add_option("--devices", arguments->devices, "how many there are; without it as many as the run file's mesh")
      ->type_name("N")
      ->check(CLI::Range(1, 65536));
  arguments->machine.add_to(*command);
  command->add_option("--fix", arguments->fixed, "values that a number of the strategy may have: tensor=8, zero=0,1")
      ->type_name("NUMBER=VALUE,...")
      ->allow_extra_args(false);
  command->add_option("--at-most", arguments->at_most, "memory of a device, or time of a step: memory=70GB, time=1.5")
      ->type_name("LIMIT")
      ->allow_extra_args(false);
  command->add_option("--objective", arguments->objective, "what the gap is of: time, memory or device_hours")
      ->check(CLI::IsMember({"time", "memory", "device_hours"}));
  command->add_option("--seconds", arguments->seconds, "end after this time, with what is found and a proved gap")
      ->type_name("S");
  command
      ->add_option("--resume", arguments->resume,
                   "continue the search that this file is of, where it exists, and write to it what was learned")
      ->type_name("FILE");
  command->add_flag("--heuristic", arguments->heuristic,
                    "leave out what is likely not to be on the front, too: faster, not proved to be exact");
  command->add_option("--threads", arguments->threads, "that plan at a time; without it one for each core")
      ->type_name("N")
      ->check(CLI::Range(1, 256));
  command->add_flag("--json", arguments->as_json, "the same for scripts");
  CLI::Option* write = command->add_option("--write", arguments->write, "run file to write, with the fastest strategy");
  write->type_name("OUT")->transform(output_name);
  command->add_option("--candidate", arguments->candidate, "write this one of the fastest instead")
      ->type_name("K")
      ->check(CLI::Range(1, 10))
      ->needs(write);
  line.help(command)
      .paragraph(
          "Plans the strategies (docs/run-file.md) of the run file's model and batch on the devices: data, fsdp, "
          "tensor, "
          "context, expert and pipeline parallelism, sequence parallelism, ZeRO, virtual stages and schedules, "
          "microbatch "
          "size, recompute, and replicas within or outside of stages. The layout mode is as_written; `--fix "
          "mode=fastest` is the other one. `--fix` takes the strategy's keys; `order` is megatron (replicas within "
          "stages), replicas_outermost or axes with blanks between them. What has no effect on a strategy, such as "
          "a schedule where there is no pipeline, leaves none out.")
      .paragraph(
          "A strategy is left out where bounds prove that it is not on the front of step time against memory, nor "
          "among "
          "the ten fastest: states above the memory of a device, or compute and bubble alone above what a plan takes. "
          "Without `--seconds` the result is exact: that of planning all of them. With it, what is left could be "
          "better "
          "by the gap at most. The result is the same for any number of threads. `--json` counts what `--heuristic` "
          "dropped (`space.dropped_by_heuristic`) and says whether the search was `stopped`.")
      .paragraph(
          "The code is 1 where nothing is within the limits, nothing is found in the time, or all is refused, which "
          "the text tells apart; a value of `--fix` that no strategy of the devices has is an error. Ctrl+C ends the "
          "search with what is found so far, which `--write` writes, too. `--resume` keeps plans and bounds in a file, "
          "by which the same search goes on where it ended, with the result of one that was not interrupted; a file of "
          "another request is an error.")
      .example("shardrun search run.json --devices 64 --machine dgx_h100 --seconds 60", "on eight nodes, for a minute")
      .example("shardrun search run.json --fix tensor=8 --at-most memory=70GB --write best.json",
               "with eight-way tensor parallelism, and the fastest as a run file")
      .example("shardrun search run.json --seconds 30 --resume run.search", "for another half minute, each time");
  command->callback(
      [&line, arguments] { line.action = [&line, arguments] { return run_search(*arguments, line.commit); }; });
}

}  // namespace shardscope
