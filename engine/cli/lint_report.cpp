#include "engine/cli/lint_report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "engine/base/units.h"
#include "engine/session/host_network.h"

namespace shardscope {
namespace {

using Json = nlohmann::ordered_json;

// As a shell reads it back.
std::string typed(const std::string& setting) {
  const bool is_plain = setting.find_first_of(" \"'\\$`&|;<>()[]{}*?!#~") == std::string::npos;
  return is_plain ? setting : shell_quoted({setting});
}

std::string typed(const Settings& settings) {
  std::string text;
  for (const std::string& setting : settings) text += " --set " + typed(setting);
  return text;
}

std::string paragraph(const Finding& finding) {
  std::string text = fmt::format("{}: {} [{}]\n", to_string(finding.place), finding.message, finding.rule);
  if (const std::string cost = cost_text(finding); !cost.empty()) text += fmt::format("    {}\n", cost);
  if (finding.fix) {
    text += fmt::format("    fix:{}\n", typed(finding.fix->settings));
    for (const Fix& other : finding.other_fixes)
      text += fmt::format("    or:{} (a step of {}, {})\n", typed(other.settings), seconds_text(other.after.seconds),
                          bytes_text(static_cast<double>(other.after.bytes)));
  } else if (!finding.no_fix.empty()) {
    text += fmt::format("    no fix: {}\n", finding.no_fix);
  }
  return text + fmt::format("    {}\n", chapter(finding));
}

// "mesh.data=8" -> {"path": "mesh.data", "value": 8}; text that is not JSON is itself.
Json setting_json(const std::string& setting) {
  const size_t equals = setting.find('=');
  const std::string value = setting.substr(equals + 1);
  Json parsed = Json::parse(value, nullptr, false);
  return {{"path", setting.substr(0, equals)}, {"value", parsed.is_discarded() ? Json(value) : std::move(parsed)}};
}

Json settings_json(const Settings& settings) {
  Json list = Json::array();
  for (const std::string& setting : settings) list.push_back(setting_json(setting));
  return list;
}

Json finding_json(const Finding& finding) {
  Json fix = nullptr, others = Json::array();
  if (finding.fix) fix = settings_json(finding.fix->settings);
  for (const Fix& other : finding.other_fixes)
    others.push_back({{"settings", settings_json(other.settings)},
                      {"seconds_per_step", other.after.seconds},
                      {"bytes", other.after.bytes}});
  return {{"rule", finding.rule},
          {"place", to_string(finding.place)},
          {"message", finding.message},
          {"cost", {{"seconds", finding.seconds}, {"bytes", finding.bytes}}},
          {"fix", std::move(fix)},
          {"other_fixes", std::move(others)},
          {"no_fix", finding.fix ? "" : finding.no_fix},
          {"chapter", chapter(finding)}};
}

Json findings_json(const std::vector<Finding>& findings) {
  Json list = Json::array();
  for (const Finding& finding : findings) list.push_back(finding_json(finding));
  return list;
}

}  // namespace

std::string lint_text(const LintReport& report) {
  std::string text;
  for (const Finding& finding : report.findings) text += paragraph(finding);
  for (const auto& [rule, reason] : report.off) text += fmt::format("off: {}: {}\n", rule, reason);
  return text;
}

std::string lint_json(const LintReport& report, const std::vector<Finding>& fixed) {
  Json off = Json::object();
  for (const auto& [rule, reason] : report.off) off[rule] = reason;
  const Json json = {{"findings", findings_json(report.findings)}, {"off", off}, {"fixed", findings_json(fixed)}};
  return json.dump(1) + '\n';
}

}  // namespace shardscope
