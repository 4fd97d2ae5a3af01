#include <fmt/format.h>

#include <cstdio>
#include <memory>

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
      fmt::print("Measuring this machine, so that predicted times fit it ...\n");
      std::fflush(stdout);
      DeviceProfile profile = calibrate();
      save_profile(profile, profile_path());
      fmt::print("matrix products   {:.0f} GFLOP/s a core\n", profile.matrix_flops_per_core / 1e9);
      fmt::print("  of bf16         {:.0f} GFLOP/s a core ({})\n", profile.matrix_flops_per_core_bf16 / 1e9,
                 profile.bf16_products);
      fmt::print("memory            {:.1f} GB/s a core\n", profile.memory_bytes_per_core / 1e9);
      fmt::print("collectives       {:.1f} GB/s a core, {:.0f} us latency\n", profile.collective_bytes_per_core / 1e9,
                 profile.collective_latency * 1e6);
      fmt::print("written to {}\n", profile_path().string());
      return exit_ok;
    };
  });
}

}  // namespace shardscope
