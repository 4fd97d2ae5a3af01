#include <fmt/format.h>

#include <memory>

#include "engine/base/standard_streams.h"
#include "engine/cli/command_line.h"
#include "engine/cli/correct_by_record.h"
#include "engine/cli/fit_to_measurements.h"
#include "engine/machine/host_machine.h"
#include "engine/machine/machine_file.h"
#include "engine/machine/machine_prices.h"
#include "engine/runtime/calibration.h"

namespace shardscope {

namespace {

struct CalibrateOptions {
  bool once = false, thorough = false, keep = false;
};

std::string rates_text(const Machine& machine) {
  const Device& device = machine.device;
  const Level& host = machine.levels.front();
  const std::vector<int> all = {0, 1, 2, 3, 4, 5, 6, 7};
  const MachinePrices prices(machine, static_cast<int>(all.size()));
  std::string text = fmt::format(
      "matrix products   {:.0f} GFLOP/s a core\n"
      "  of bf16         {:.0f} GFLOP/s a core ({})\n",
      device.products.at(Precision::f32).flops_per_second / 1e9,
      device.products.at(Precision::bf16).flops_per_second / 1e9, device.bf16_products);
  for (const MemoryLevel& level : device.memory) {
    const double cores = level.shared ? device.cores : 1;
    text += fmt::format("{:18}{:.1f} GB/s a core\n", level.name, level.bytes_per_second / cores / 1e9);
  }
  return text + fmt::format(
                    "other kernels     {} families\n"
                    "instructions      {:.2f} us latency\n"
                    "collectives       {:.1f} GB/s a core, {:.0f} us latency among eight ranks\n",
                    device.kernels.size(), device.instruction_latency * 1e6, host.bytes_per_second / 1e9,
                    prices.collective_seconds(InstructionKind::all_reduce, 0, prices.place({all})) * 1e6);
}

int calibrate(const CalibrateOptions& options) {
  const auto path = machine_path();
  if (options.once && std::filesystem::exists(path)) return exit_ok;
  const double seconds = options.thorough ? thorough_calibration_seconds : usual_calibration_seconds;
  if (!is_quiet()) print_lines(fmt::format("Measuring this machine for some {:.0f} s ...\n", seconds));
  flush_lines();
  const Measurements measured = measure(seconds);
  const bool is_kept = !is_disturbed(measured) || options.keep || options.once;
  const Machine machine = machine_of(measured);
  if (is_kept) save_machine(machine, path);
  if (!is_quiet()) print_lines(rates_text(machine));
  const std::string load = fmt::format("other work used {:.0f} % of the cores meanwhile, so rates may be too low",
                                       100 * measured.other_work);
  if (!is_kept) {
    say(load + ": nothing is written; --keep keeps them nevertheless");
    return exit_failed_run;
  }
  if (is_disturbed(measured)) note(load + "; run 'shardrun calibrate' again when the machine is idle");
  if (!is_quiet()) print_lines(fmt::format("written to {}\n", path.string()));
  return exit_ok;
}

// What is done with --from.
int calibrate_from(const FitArguments& arguments) {
  const std::vector<std::string>& from = arguments.measurements;
  if (!arguments.machine.empty()) return fit_to_measurements(arguments);
  if (std::filesystem::is_regular_file(from.front())) {
    throw Failure(Error{"bad_argument", "which machine these are measurements of is not said",
                        at_argument("--from " + from.front()), "--machine FILE"});
  }
  if (from.size() > 1) {
    throw Failure(
        Error{"bad_argument", "a machine is corrected by one recorded run", at_argument("--from " + from[1]), ""});
  }
  return correct_by_record({from.front(), arguments.out, arguments.keep});
}

}  // namespace

void add_calibrate(CLI::App& app, CommandLine& line) {
  CLI::App* command = app.add_subcommand("calibrate", "Measure this machine for predictions");
  auto options = std::make_shared<CalibrateOptions>();
  auto* once = command->add_flag("--once", options->once,
                                 "do nothing where it was measured before; keep what other work disturbed");
  auto* thorough =
      command->add_flag("--thorough", options->thorough,
                        fmt::format("measure for {:.0f} s, larger products too", thorough_calibration_seconds));
  command->add_flag(
      "--keep", options->keep,
      "keep the result even where other work disturbed it; with --from, the correction; with --machine, in "
      "that file");
  auto fit = std::make_shared<FitArguments>();
  auto* from =
      command
          ->add_option("--from", fit->measurements,
                       "measure nothing: say which instructions of this recorded run took another time than its "
                       "machine predicts, and correct that machine by them; with --machine, fit that machine to the "
                       "measurements in this file")
          ->type_name("DIR|FILE")
          ->allow_extra_args(false);
  command
      ->add_option("--machine", fit->machine,
                   "the machine to fit: one that `shardrun machines` lists, or a file (resources/machine.schema.json)")
      ->type_name("NAME|FILE")
      ->needs(from);
  command->add_option("--out", fit->out, "write the corrected, or fitted, machine to this new file")
      ->type_name("FILE")
      ->needs(from);
  for (CLI::Option* measuring : {once, thorough}) from->excludes(measuring);
  line.help(command)
      .paragraph(fmt::format("Measures this machine's rates for predictions, in {:.0f} s: matrix products of many "
                             "shapes, memory and caches, "
                             "other kernels, collectives. The rates are kept in `~/.config/shardscope/machine.json`. "
                             "Where other work used "
                             "more than {:.0f} % of the cores meanwhile, it says so, ends with 1 and writes nothing, "
                             "unless with `--keep`.",
                             usual_calibration_seconds, 100 * most_other_work))
      .paragraph(
          "With `--from` it measures nothing: it lists what each family of instructions took in a recorded run (`train "
          "--record DIR`) beside what its machine predicts (median of measured over predicted), names those that are "
          "off by more than 10 %, and writes the machine corrected by that to `--out` or, with `--keep`, as this "
          "host's.")
      .paragraph(
          "With `--machine` and `--from` it fits a machine that is not this host to what was measured there: times of "
          "matrix products, of collectives (also as nccl-tests print them) and of training steps, as "
          "docs/predictions.md says. It prints each row beside the prediction, with the errors by kind, and writes "
          "the fitted machine to `--out` or, with `--keep`, in place of the file that `--machine` names.")
      .example("shardrun calibrate --thorough", "the most exact rates, on an idle machine")
      .example("shardrun calibrate --from record --out corrected.json", "correct a machine by a recorded run")
      .example("shardrun calibrate --machine dgx_h100 --from nccl.txt --from products.csv --out ours.json",
               "a machine of the library with what was measured on such a cluster");
  command->callback([&line, options, fit] {
    line.action = [options, fit] {
      fit->keep = options->keep;
      return fit->measurements.empty() ? calibrate(*options) : calibrate_from(*fit);
    };
  });
}

}  // namespace shardscope
