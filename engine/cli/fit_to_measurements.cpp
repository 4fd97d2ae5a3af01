#include "engine/cli/fit_to_measurements.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "engine/base/output_file.h"
#include "engine/base/plural.h"
#include "engine/base/standard_streams.h"
#include "engine/base/units.h"
#include "engine/cli/command_line.h"
#include "engine/cli/run_file_arguments.h"
#include "engine/cli/text_table.h"
#include "engine/compile/compile.h"
#include "engine/machine/chosen_machine.h"
#include "engine/machine/fit_levels.h"
#include "engine/machine/fit_products.h"
#include "engine/machine/fit_steps.h"
#include "engine/machine/host_machine.h"
#include "engine/machine/machine_file.h"
#include "engine/machine/measured_rows.h"

namespace shardscope {

namespace {

namespace fs = std::filesystem;

// Of a row, on the machine as it was and as it is fitted, s.
struct RowPrediction {
  MeasuredRow row;
  bool is_held_out = false;  // a step, where others are fitted to
  double before = 0, after = 0;

  double error_before() const { return before / row.seconds - 1; }
  double error() const { return after / row.seconds - 1; }
};

bool is_this_hosts(const std::string& path) { return true_path(path) == true_path(machine_path().string()); }

[[noreturn]] void refuse_to_fit(std::string option, std::string message, std::string hint) {
  throw Failure(Error{"bad_argument", std::move(message), at_argument(std::move(option)), std::move(hint)});
}

// The file that --machine names; empty: this host's, or one of the library.
std::string check_outputs(const FitArguments& arguments) {
  const std::string file = machine_file(machine_choice(arguments.machine));
  if (arguments.keep && (file.empty() || is_this_hosts(file))) {
    refuse_to_fit("--keep",
                  file.empty() ? fmt::format("'{}' is no file", arguments.machine)
                               : "this host's machine is what it measured itself",
                  "--out FILE");
  }
  if (arguments.out.empty()) return file;
  if (is_this_hosts(arguments.out))
    refuse_to_fit("--out " + arguments.out, "this host's machine is what it measured itself", "another file");
  std::vector<std::string> inputs = arguments.measurements;
  if (!file.empty()) inputs.push_back(file);
  check_late_output(arguments.out, Existing::refuse, inputs);
  return file;
}

std::vector<MeasuredRow> all_rows(const std::vector<std::string>& files) {
  std::vector<MeasuredRow> rows;
  std::vector<Error> errors;
  for (const std::string& file : files) {
    try {
      std::ranges::move(load_measurements(file), std::back_inserter(rows));
    } catch (const Failure& failure) {
      append(errors, failure.errors());
    }
  }
  if (!errors.empty()) throw Failure(std::move(errors));
  return rows;
}

// "fitted to 12 products of rows.csv".
std::string fit_source(const std::vector<MeasuredRow>& rows, const char* kind) {
  std::set<std::string> files;
  int64_t count = 0;
  for (const MeasuredRow& row : rows) {
    if (kind_of(row) != kind) continue;
    ++count;
    files.insert(row.place.file);
  }
  return fmt::format("fitted to {} of {}", counted(count, kind), fmt::join(files, ", "));
}

// As its file will say it.
Machine fitted_machine(const Machine& machine, const std::vector<MeasuredRow>& rows) {
  Machine fitted = machine;
  std::vector<Error> errors;
  const auto fit = [&](auto fit_rows, const char* kind) {
    try {
      fitted = fit_rows(fitted, rows, fit_source(rows, kind));
    } catch (const Failure& failure) {
      append(errors, failure.errors());
    }
  };
  fit(fit_products, "product");
  fit(fit_levels, "collective");
  if (!errors.empty()) throw Failure(std::move(errors));
  return parse_machine(machine_text(fitted), "the fitted machine");
}

// Throws Failure at the row; what is wrong in its run file with the place there.
double step_seconds(const MeasuredRow& row, const Machine& machine) {
  const auto& step = std::get<MeasuredStepTime>(row.work);
  const Place place = in_file(row.place.file, row.place.line, step.column);
  if (!fs::is_regular_file(step.run_file)) {
    throw Failure(Error{"no_file", fmt::format("there is no run file '{}'", step.run_file), place,
                        "relative to the file that names it"});
  }
  try {
    RunFileArguments file;
    file.file = step.run_file;
    RunConfig config = file.load();
    config.machine = machine_choice(machine);
    return compile(plan_request(config)).totals.seconds_per_step;
  } catch (const Failure& failure) {
    std::vector<Error> errors = failure.errors();
    for (Error& error : errors) {
      if (error.place.file.empty()) error.place.file = step.run_file;
      error.message = fmt::format("{}: {}", to_string(error.place), error.message);
      error.place = place;
    }
    throw Failure(std::move(errors));
  }
}

// Of the steps among the rows that are to be fitted to, or none.
std::vector<const MeasuredRow*> steps_to_fit(const std::vector<MeasuredRow>& rows) {
  std::vector<const MeasuredRow*> steps;
  std::vector<std::string> names;
  for (const MeasuredRow& row : rows) {
    if (!row.is_step()) continue;
    steps.push_back(&row);
    names.push_back(std::get<MeasuredStepTime>(row.work).name);
  }
  std::vector<const MeasuredRow*> fitted;
  const std::vector<bool> is_fitted = fitted_half(names);
  for (size_t i = 0; i < steps.size(); ++i)
    if (is_fitted[i]) fitted.push_back(steps[i]);
  return fitted;
}

Machine fitted_to_steps(const Machine& machine, const std::vector<MeasuredRow>& rows,
                        const std::vector<const MeasuredRow*>& steps) {
  DecidedRates decided;
  RowPrices prices(machine);
  for (const MeasuredRow& row : rows) {
    if (const auto* product = std::get_if<PricedProduct>(&row.work)) decided.products.insert(product->precision);
    if (const auto* work = std::get_if<MeasuredCollective>(&row.work))
      decided.levels.insert(machine.levels[static_cast<size_t>(prices.placement(*work).level())].name);
  }
  std::vector<double> measured;
  for (const MeasuredRow* step : steps) measured.push_back(step->seconds);
  const auto predict = [&](const Machine& changed) {
    std::vector<double> seconds;
    for (const MeasuredRow* step : steps) seconds.push_back(step_seconds(*step, changed));
    return seconds;
  };
  const std::string source = fmt::format("fitted to {}", counted(static_cast<int64_t>(steps.size()), "step time"));
  return parse_machine(machine_text(fit_steps(machine, measured, decided, predict, source)), "the fitted machine");
}

// Throws Failure with the faults of all rows.
std::vector<double> predictions_of(const std::vector<MeasuredRow>& rows, const Machine& machine) {
  RowPrices prices(machine);
  const auto predict = [&](const MeasuredRow& row) {
    if (row.is_step()) return step_seconds(row, machine);
    if (const auto* product = std::get_if<PricedProduct>(&row.work)) return prices.seconds(*product);
    return prices.seconds(std::get<MeasuredCollective>(row.work));
  };
  std::vector<double> seconds;
  std::vector<Error> errors;
  for (const MeasuredRow& row : rows) {
    try {
      seconds.push_back(predict(row));
    } catch (const Failure& failure) {
      append(errors, failure.errors());
    }
  }
  if (!errors.empty()) throw Failure(std::move(errors));
  return seconds;
}

std::string percent(double error) { return ratio_text(1 + error, 1); }

std::string rows_table(const std::vector<RowPrediction>& predictions) {
  using enum TextTable::Align;
  TextTable table({{"Row"}, {"Work"}, {"Measured", right}, {"Before", right}, {"Fitted", right}, {"Error", right}});
  for (const RowPrediction& one : predictions) {
    table.add_row({to_string(one.row.place), to_string(one.row) + (one.is_held_out ? " (held out)" : ""),
                   seconds_text(one.row.seconds), seconds_text(one.before), seconds_text(one.after),
                   percent(one.error())});
  }
  return table.text();
}

// Errors as bench/truth has them.
struct ErrorSummary {
  int rows = 0;
  double mean = 0;   // of absolute errors
  double worst = 0;  // with its sign

  void add(double error) {
    mean += (std::abs(error) - mean) / ++rows;
    if (std::abs(error) > std::abs(worst)) worst = error;
  }
};

std::string summary_table(const std::vector<RowPrediction>& predictions) {
  using enum TextTable::Align;
  std::map<std::string, std::pair<ErrorSummary, ErrorSummary>> kinds;
  for (const RowPrediction& one : predictions) {
    const std::string kind = kind_of(one.row);
    for (const std::string& of : {kind, one.is_held_out ? kind + ", held out" : std::string()}) {
      if (of.empty()) continue;
      auto& [before, after] = kinds[of];
      before.add(one.error_before());
      after.add(one.error());
    }
  }
  TextTable table({{"Kind"},
                   {"Rows", right},
                   {"Mean error", right},
                   {"Worst", right},
                   {"Mean before", right},
                   {"Worst before", right}});
  for (const auto& [kind, summaries] : kinds) {
    const auto& [before, after] = summaries;
    table.add_row({kind, fmt::format("{}", after.rows), share_text(after.mean), percent(after.worst),
                   share_text(before.mean), percent(before.worst)});
  }
  return table.text();
}

std::string changes_text(const Machine& before, const Machine& after) {
  std::string text;
  for (size_t i = 0; i < after.levels.size(); ++i) {
    const Level &was = before.levels[i], &is = after.levels[i];
    if (was.latency == is.latency && was.bytes_per_second == is.bytes_per_second) continue;
    text +=
        fmt::format("{}: {:.4g} GB/s and {} a message (before: {:.4g} GB/s, {})\n", is.name, is.bytes_per_second / 1e9,
                    seconds_text(is.latency), was.bytes_per_second / 1e9, seconds_text(was.latency));
  }
  for (const auto& [precision, rate] : after.device.products) {
    const auto own = before.device.products.find(precision);
    const bool was_there = own != before.device.products.end();
    if (was_there && own->second.tiles != rate.tiles) {
      const double tile = std::ranges::max(rate.tiles, {}, &ProductTile::efficiency).efficiency;
      text += fmt::format("{}: tiles at {:.3g} of the peak at most\n", name(precision), tile);
    }
    if ((was_there && own->second.efficiency == rate.efficiency) || rate.efficiency.empty()) continue;
    const auto [least, most] = std::ranges::minmax(rate.efficiency, {}, &ProductSample::efficiency);
    text += fmt::format("{}: {} at {:.3g} to {:.3g} of the peak of {:.4g} TFLOP/s\n", name(precision),
                        counted(static_cast<int64_t>(rate.efficiency.size()), "shape"), least.efficiency,
                        most.efficiency, rate.flops_per_second / 1e12);
  }
  for (const auto& [family, kernel] : after.device.kernels) {
    const auto own = before.device.kernels.find(family);
    if (own == before.device.kernels.end() || own->second.efficiency != kernel.efficiency)
      text += fmt::format("{}: {:.3g} of its rate\n", family, kernel.efficiency);
  }
  if (before.device.memory_efficiency != after.device.memory_efficiency)
    text += fmt::format("memory: {:.3g} of its rate\n", after.device.memory_efficiency);
  return text;
}

void set_evidence(Machine& machine, const std::vector<RowPrediction>& predictions) {
  ErrorSummary all, held_out;
  for (const RowPrediction& one : predictions) {
    if (one.row.is_step()) all.add(one.error());
    if (one.is_held_out) held_out.add(one.error());
  }
  if (held_out.rows > 0)
    machine.evidence = {.measurements = all.rows,
                        .time_error = held_out.mean,
                        .source = "step times; errors of the half that was not fitted to"};
  else if (all.rows > 0)
    machine.evidence = {
        .measurements = all.rows, .time_error = all.mean, .source = "step times, to which nothing was fitted"};
}

}  // namespace

int fit_to_measurements(const FitArguments& arguments) {
  const std::string file = check_outputs(arguments);
  const Machine machine = find_machine(arguments.machine);
  const std::vector<MeasuredRow> rows = all_rows(arguments.measurements);
  const std::vector<double> before = predictions_of(rows, machine);
  Machine fitted = fitted_machine(machine, rows);
  const std::vector<const MeasuredRow*> steps = steps_to_fit(rows);
  if (!steps.empty()) fitted = fitted_to_steps(fitted, rows, steps);
  const std::vector<double> after = fitted == machine ? before : predictions_of(rows, fitted);
  std::vector<RowPrediction> predictions;
  for (size_t i = 0; i < rows.size(); ++i) {
    const bool is_held_out = !steps.empty() && rows[i].is_step() && !std::ranges::count(steps, &rows[i]);
    predictions.push_back({rows[i], is_held_out, before[i], after[i]});
  }
  const std::string changes = changes_text(machine, fitted);
  print_lines(rows_table(predictions) + '\n' + summary_table(predictions) + (changes.empty() ? "" : '\n' + changes));
  flush_lines();
  set_evidence(fitted, predictions);
  if (!arguments.out.empty()) {
    write_new_file(arguments.out, machine_text(fitted));
    note(fmt::format("{}: the fitted machine", arguments.out));
  }
  if (arguments.keep) {
    save_machine(fitted, file);
    note(fmt::format("{}: the fitted machine", file));
  }
  if (arguments.out.empty() && !arguments.keep) note("--out FILE writes the fitted machine to a new file");
  return exit_ok;
}

}  // namespace shardscope
