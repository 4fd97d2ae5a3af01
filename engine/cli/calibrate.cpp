#include <fmt/format.h>

#include <memory>

#include "engine/base/standard_streams.h"
#include "engine/cli/command_line.h"
#include "engine/machine/host_machine.h"
#include "engine/machine/machine_file.h"
#include "engine/runtime/calibration.h"

namespace shardscope {

void add_calibrate(CLI::App& app, CommandLine& line) {
  CLI::App* command = app.add_subcommand("calibrate", "Measure this machine, so that predicted times fit it");
  auto once = std::make_shared<bool>(false);
  command->add_flag("--once", *once, "do nothing where it was measured before");
  command->callback([&line, once] {
    line.action = [once] {
      if (*once && std::filesystem::exists(machine_path())) return exit_ok;
      if (!is_quiet()) print_lines("Measuring this machine, so that predicted times fit it ...\n");
      flush_lines();
      const Machine machine = calibrate();
      save_machine(machine, machine_path());
      const Device& device = machine.device;
      const Level& host = machine.levels.front();
      if (is_quiet()) return exit_ok;
      print_lines(
          fmt::format("matrix products   {:.0f} GFLOP/s a core\n"
                      "  of bf16         {:.0f} GFLOP/s a core ({})\n"
                      "memory            {:.1f} GB/s a core\n"
                      "collectives       {:.1f} GB/s a core, {:.0f} us latency\n"
                      "written to {}\n",
                      device.products.at(Precision::f32).flops_per_second / 1e9,
                      device.products.at(Precision::bf16).flops_per_second / 1e9, device.bf16_products,
                      device.memory.back().bytes_per_second / 1e9, host.bytes_per_second / 1e9, host.latency * 1e6,
                      machine_path().string()));
      return exit_ok;
    };
  });
}

}  // namespace shardscope
