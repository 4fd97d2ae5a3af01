#include <fmt/format.h>

#include <memory>
#include <string>

#include "engine/base/standard_streams.h"
#include "engine/base/units.h"
#include "engine/cli/command_line.h"
#include "engine/cli/text_table.h"
#include "engine/machine/chosen_machine.h"
#include "engine/machine/chosen_stack.h"
#include "engine/machine/host_machine.h"
#include "engine/machine/machine_file.h"
#include "engine/machine/machine_library.h"

namespace shardscope {

namespace {

std::string size_text(const Level& level) {
  if (!level.dims.empty()) {
    std::string text;
    for (int size : level.dims) text += (text.empty() ? "" : "x") + std::to_string(size);
    return text;
  }
  return level.count.empty() ? "any" : std::to_string(level.count.front());
}

std::string rate_text(const Device& device, Precision precision) {
  const ProductRate* rate = find_products(device, precision);
  return rate ? fmt::format("{:.4g}", rate->flops_per_second / 1e12) : "-";
}

// "nvlink: 8 of 450 GB/s, infiniband: any of 50 GB/s".
std::string links_text(const Machine& machine) {
  std::string text;
  for (const Level& level : machine.levels) {
    text += fmt::format("{}{}: {} of {:.4g} GB/s", text.empty() ? "" : ", ", level.name, size_text(level),
                        level.bytes_per_second / 1e9);
  }
  return text;
}

std::vector<std::string> machine_names() {
  std::vector<std::string> names = {std::string(host_name)};
  for (std::string_view name : library_names()) names.emplace_back(name);
  return names;
}

// Of published measurements that the stacks' numbers for a machine were fitted to and judged by.
std::string measurements_text(std::string_view machine) {
  const std::string choice = machine_choice(std::string(machine));
  int64_t count = 0;
  for (std::string_view name : stack_names()) {
    const Stack stack = chosen_stack(stack_choice(std::string(name)));
    if (stack.machines.contains(machine)) count += chosen_machine(choice, {}, stack).evidence.measurements;
  }
  return count > 0 ? std::to_string(count) : "unverified";
}

std::string machines_table() {
  using enum TextTable::Align;
  TextTable table({{"machine"},
                   {"memory", right},
                   {"GB/s", right},
                   {"bf16 TFLOP/s", right},
                   {"fp8", right},
                   {"measurements", right},
                   {"links"}});
  const auto add = [&](const std::string& name, const Machine& machine, const std::string& measurements) {
    table.add_row({name, bytes_text(static_cast<double>(machine.device.memory_bytes)),
                   fmt::format("{:.4g}", machine.device.memory.back().bytes_per_second / 1e9),
                   rate_text(machine.device, Precision::bf16), rate_text(machine.device, Precision::fp8), measurements,
                   links_text(machine)});
  };
  add(std::string(host_name), host_machine(), host_machine() == standard_host() ? "not calibrated" : "calibrated");
  for (std::string_view name : library_names()) add(std::string(name), *library_machine(name), measurements_text(name));
  return table.text();
}

}  // namespace

void add_machines(CLI::App& app, CommandLine& line) {
  CLI::App* command = app.add_subcommand("machines", "The machines that plans can be made for");
  auto name = std::make_shared<std::string>();
  command->add_option("NAME", *name, "one of them, whole, as a machine's file to start from");
  line.help(command)
      .paragraph(
          "This host, as calibrated, and those that come with the program. Their rates are those of data sheets, each "
          "with its source in the file: with the stack shardscope matrix products and links reach them, and "
          "predictions "
          "are lower bounds. Other software stacks have efficiencies that were fitted to published measurements; the "
          "column measurements counts them, and unverified says that there are none.")
      .values("NAME", machine_names())
      .example("shardrun machines", "all of them")
      .example("shardrun machines dgx_h100 > mine.json", "one's whole file, to start your own from");
  command->callback([&line, name] {
    line.action = [name] {
      print_lines(name->empty() ? machines_table() : machine_text(find_machine(*name)));
      return exit_ok;
    };
  });
}

}  // namespace shardscope
