#include "engine/config/host_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <span>
#include <unordered_map>

#include "engine/base/error.h"
#include "engine/base/number_text.h"
#include "engine/base/plural.h"

namespace shardscope {

namespace {

constexpr int most_slots = 1'000'000;
constexpr size_t most_hosts = 65536;
constexpr size_t longest_name = 255;

[[noreturn]] void refuse(std::string message, Place where, std::string hint = "") {
  throw Failure(Error{"bad_hosts", std::move(message), std::move(where), std::move(hint)});
}

std::optional<int> number(std::string_view text) {
  const auto value = number_of<int>(text);
  return value && *value >= 1 && *value <= most_slots ? value : std::nullopt;
}

int slots_of(std::string_view text, const Place& where) {
  auto slots = number(text);
  if (!slots)
    refuse(fmt::format("'{}' is not a number of ranks", text.substr(0, longest_name)), where, "a number from 1 on");
  return *slots;
}

// A launcher must not take a name for an option, nor a shell for anything else.
void check_name(std::string_view name, const Place& where) {
  auto plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || std::string_view("._-@").find(c) != std::string_view::npos;
  };
  if (!name.empty() && name[0] != '-' && name.size() <= longest_name && std::ranges::all_of(name, plain)) return;
  refuse(fmt::format("'{}' is not the name of a host", name.substr(0, longest_name)), where,
         "letters, digits, '.', '-', '_', and USER@ before it");
}

std::vector<std::string_view> pieces(std::string_view text, char separator) {
  std::vector<std::string_view> result;
  int depth = 0;
  size_t first = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] == '[') ++depth;
    if (i < text.size() && text[i] == ']') --depth;
    if (i < text.size() && (text[i] != separator || depth > 0)) continue;
    result.push_back(text.substr(first, i - first));
    first = i + 1;
  }
  return result;
}

// Hosts in the order in which they are first named.
class HostCollection {
 public:
  void add(HostSlots host, const Place& where) {
    check_name(host.name, where);
    const auto [known, is_new] = indices_.emplace(host.name, hosts_.size());
    if (is_new) {
      if (hosts_.size() == most_hosts) refuse(fmt::format("more than {} hosts", most_hosts), where);
      hosts_.push_back(std::move(host));
      return;
    }
    std::optional<int>& ranks = hosts_[known->second].ranks;
    if (!ranks || !host.ranks) {
      refuse(fmt::format("host '{}' comes twice", host.name), where, "once, or with its ranks each time: NAME:2");
    }
    if (*ranks > most_slots - *host.ranks) refuse("too many ranks", where);
    *ranks += *host.ranks;
  }
  std::vector<HostSlots> take() { return std::move(hosts_); }

 private:
  std::vector<HostSlots> hosts_;
  std::unordered_map<std::string, size_t> indices_;
};

std::vector<std::string_view> words(std::string_view line) {
  std::vector<std::string_view> result;
  constexpr std::string_view blank = " \t\r";
  for (size_t at = line.find_first_not_of(blank); at != std::string_view::npos;) {
    const size_t end = std::min(line.size(), line.find_first_of(blank, at));
    result.push_back(line.substr(at, end - at));
    at = line.find_first_not_of(blank, end);
  }
  return result;
}

struct NumberRange {
  int first = 0, last = 0;
  size_t digits = 0;
};

// "07" or "01-03".
NumberRange range_of(std::string_view text, const Place& where) {
  const size_t dash = text.find('-');
  const std::string_view low = text.substr(0, dash),
                         high = dash == std::string_view::npos ? low : text.substr(dash + 1);
  const auto value = [&](std::string_view digits) {
    return digits.size() <= longest_name ? number_of<int>(digits).value_or(-1) : -1;
  };
  const NumberRange range{value(low), value(high), low.size()};
  if (range.first < 0 || range.last < range.first || range.last - range.first >= static_cast<int>(most_hosts)) {
    refuse(fmt::format("'{}' is not a range of hosts", text.substr(0, longest_name)), where);
  }
  return range;
}

// "node[01-03,07]" -> node01, node02, node03, node07; more than one pair of brackets multiplies.
void expand(std::string_view pattern, const std::string& prefix, std::vector<std::string>& names) {
  const Place where = at_name("SLURM_JOB_NODELIST");
  const size_t open = pattern.find('[');
  if (prefix.size() + std::min(open, pattern.size()) > longest_name) refuse("the name of a host is too long", where);
  if (open == std::string_view::npos) {
    if (names.size() == most_hosts) refuse(fmt::format("more than {} hosts", most_hosts), where);
    names.push_back(prefix + std::string(pattern));
    return;
  }
  const size_t close = pattern.find(']', open);
  if (close == std::string_view::npos) refuse("a '[' without its ']'", where);
  for (std::string_view text : pieces(pattern.substr(open + 1, close - open - 1), ',')) {
    const NumberRange range = range_of(text, where);
    for (int i = range.first; i <= range.last; ++i) {
      expand(pattern.substr(close + 1), fmt::format("{}{}{:0{}}", prefix, pattern.substr(0, open), i, range.digits),
             names);
    }
  }
}

std::vector<int> expand_tasks(std::string_view text) {
  std::vector<int> tasks;
  const Place where = at_name("SLURM_TASKS_PER_NODE");
  for (std::string_view piece : pieces(text, ',')) {
    const size_t open = piece.find("(x");
    const bool repeated = open != std::string_view::npos && piece.ends_with(')');
    const int count = repeated ? slots_of(piece.substr(open + 2, piece.size() - open - 3), where) : 1;
    const int slots = slots_of(piece.substr(0, open), where);
    if (tasks.size() + static_cast<size_t>(count) > most_hosts)
      refuse(fmt::format("more than {} hosts", most_hosts), where);
    tasks.insert(tasks.end(), static_cast<size_t>(count), slots);
  }
  return tasks;
}

}  // namespace

std::vector<HostSlots> parse_host_list(std::string_view text, const Place& where) {
  HostCollection hosts;
  for (std::string_view piece : pieces(text, ',')) {
    const size_t colon = piece.find(':');
    HostSlots host{std::string(piece.substr(0, colon)), std::nullopt};
    if (colon != std::string_view::npos) host.ranks = slots_of(piece.substr(colon + 1), where);
    hosts.add(std::move(host), where);
  }
  return hosts.take();
}

std::vector<HostSlots> parse_host_file(std::string_view text, const std::string& file) {
  HostCollection collected;
  int line_number = 0;
  for (std::string_view line : pieces(text, '\n')) {
    const Place where = in_file(file, ++line_number);
    std::vector<std::string_view> parts = words(line.substr(0, line.find('#')));
    if (parts.empty()) continue;
    HostSlots host{std::string(parts[0]), std::nullopt};
    for (std::string_view option : std::span(parts).subspan(1)) {
      const size_t equals = option.find('=');
      const std::string_view key = option.substr(0, equals);
      if (equals == std::string_view::npos || (key != "slots" && key != "max_slots" && key != "max-slots")) {
        refuse(fmt::format("'{}' is not known", option.substr(0, longest_name)), where, "NAME slots=N max_slots=N");
      }
      const int value = slots_of(option.substr(equals + 1), where);
      if (key == "slots") host.ranks = value;
    }
    collected.add(std::move(host), where);
  }
  std::vector<HostSlots> hosts = collected.take();
  if (hosts.empty()) refuse("names no host", in_file(file));
  return hosts;
}

std::vector<HostSlots> parse_slurm_hosts(std::string_view nodes, std::string_view tasks) {
  std::vector<std::string> names;
  for (std::string_view piece : pieces(nodes, ',')) expand(piece, "", names);
  const std::vector<int> slots = tasks.empty() ? std::vector<int>() : expand_tasks(tasks);
  if (!slots.empty() && slots.size() != names.size()) {
    refuse(fmt::format("SLURM_TASKS_PER_NODE speaks of {}, SLURM_JOB_NODELIST of {}",
                       counted(std::ssize(slots), "host"), names.size()),
           at_name("SLURM_TASKS_PER_NODE"));
  }
  HostCollection hosts;
  for (size_t i = 0; i < names.size(); ++i) {
    hosts.add({names[i], slots.empty() ? std::nullopt : std::optional(slots[i])}, at_name("SLURM_JOB_NODELIST"));
  }
  return hosts.take();
}

std::vector<HostRanks> lay_over_hosts(const std::vector<HostSlots>& hosts, int ranks, const Place& place) {
  int64_t said = 0, open = 0;
  for (const HostSlots& host : hosts) {
    said += host.ranks.value_or(0);
    open += !host.ranks;
  }
  if (open == 0 && said < ranks) {
    refuse(fmt::format("they take {}, the mesh has {}", counted(said, "rank"), counted(ranks, "device")), place,
           "more ranks a host (NAME:N), or a smaller mesh");
  }
  std::vector<HostRanks> laid;
  int next = 0;
  int64_t left_for_open = std::max<int64_t>(0, ranks - said);
  for (const HostSlots& host : hosts) {
    int64_t takes = host.ranks.value_or(0);
    if (!host.ranks) {
      takes = (left_for_open + open - 1) / open;
      left_for_open -= takes;
      --open;
    }
    const int here = static_cast<int>(std::min<int64_t>(takes, ranks - next));
    if (here > 0) laid.push_back({host.name, next, here});
    next += here;
  }
  return laid;
}

std::vector<int> ranks_per_host(const std::vector<HostRanks>& hosts) {
  std::vector<int> ranks;
  for (const HostRanks& host : hosts) ranks.push_back(host.ranks);
  return ranks;
}

std::string host_list_text(const std::vector<HostRanks>& hosts) {
  std::string text;
  for (const HostRanks& host : hosts) text += fmt::format("{}{}:{}", text.empty() ? "" : ",", host.name, host.ranks);
  return text;
}

}  // namespace shardscope
