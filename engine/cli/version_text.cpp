#include "engine/cli/version_text.h"

#include <fmt/format.h>
#include <openssl/crypto.h>

#include <CLI/CLI.hpp>
#include <Eigen/Core>
#include <nlohmann/json.hpp>

#include "engine/base/instruction_set.h"
#include "engine/base/version.h"
#include "engine/comm/mpi_version.h"
#include "engine/runtime/kernels/matrix_product.h"

namespace shardscope {

namespace {

constexpr const char* checks =
#ifdef NDEBUG
    "optimised";
#else
    "with assertions";
#endif

std::string openssl_version() {
  const std::string text = OpenSSL_version(OPENSSL_VERSION);  // "OpenSSL 3.0.15 3 Sep 2024 (Library: ...)"
  return text.substr(0, text.find(' ', text.find(' ') + 1));
}

}  // namespace

std::string version_text(const std::string& commit) {
  const std::string onednn = onednn_version();
  return fmt::format(
      "shardrun {}\n"
      "commit     {}\n"
      "build      GCC {}, {}\n"
      "processor  {}\n"
      "libraries  {}, {}, Eigen {}.{}.{}, {}, nlohmann-json {}.{}.{}, CLI11 {}, fmt {}.{}.{}",
      version, commit.empty() ? "unknown" : commit, __VERSION__, checks, name(machine_instruction_set()), mpi_version(),
      onednn.empty() ? "no oneDNN" : "oneDNN " + onednn, EIGEN_WORLD_VERSION, EIGEN_MAJOR_VERSION, EIGEN_MINOR_VERSION,
      openssl_version(), NLOHMANN_JSON_VERSION_MAJOR, NLOHMANN_JSON_VERSION_MINOR, NLOHMANN_JSON_VERSION_PATCH,
      CLI11_VERSION, FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100);
}

}  // namespace shardscope
