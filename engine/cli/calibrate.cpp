#include <fmt/format.h>

#include <memory>

#include "engine/base/standard_streams.h"
#include "engine/cli/command_line.h"
#include "engine/runtime/calibration.h"

namespace shardscope {

void add_calibrate(CLI::App& app, CommandLine& line) {
  CLI::App* command = app.add_subcommand("calibrate", "Measure this machine, so that predicted times fit it");
  auto once = std::make_shared<bool>(false);
  command->add_flag("--once", *once, "do nothing where it was measured before");
  command->callback([&line, once] {
    line.action = [once] {
      if (*once && std::filesystem::exists(profile_path())) return exit_ok;
      if (!is_quiet()) print_lines("Measuring this machine, so that predicted times fit it ...\n");
      flush_lines();
      const DeviceProfile profile = calibrate();
      save_profile(profile, profile_path());
      if (is_quiet()) return exit_ok;
      print_lines(fmt::format(
          "matrix products   {:.0f} GFLOP/s a core\n"
          "  of bf16         {:.0f} GFLOP/s a core ({})\n"
          "memory            {:.1f} GB/s a core\n"
          "collectives       {:.1f} GB/s a core, {:.0f} us latency\n"
          "written to {}\n",
          profile.matrix_flops_per_core / 1e9, profile.matrix_flops_per_core_bf16 / 1e9, profile.bf16_products,
          profile.memory_bytes_per_core / 1e9, profile.collective_bytes_per_core / 1e9,
          profile.collective_latency * 1e6, profile_path().string()));
      return exit_ok;
    };
  });
}

}  // namespace shardscope
