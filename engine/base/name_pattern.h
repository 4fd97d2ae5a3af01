#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shardscope {

// Patterns over names of parts joined by '/': in a part '*' stands for any text, the part '**' for any number of parts.
//   params/SelfAttentionBlock_*/MLP_0/Dense_0/kernel    params/**/bias    **
bool is_pattern(std::string_view name);

// Where a pattern that matches none of `names` leaves them: "below 'params/Block_*' there are 'MLP_0', 'LayerNorm_0'".
std::string pattern_hint(std::string_view pattern, const std::vector<std::string>& names);

// Many patterns as one automaton over parts: a name is read once, and what patterns share is compared once.
class NamePatterns {
 public:
  void add(std::string_view pattern, int id);
  // Appends the ids of all patterns that match, ascending. Returns how many parts were compared.
  int match(std::string_view name, std::vector<int>& ids) const;

 private:
  struct Node {
    std::map<std::string, int, std::less<>> literals;
    std::vector<std::pair<std::string, int>> globs;
    int rest = -1;       // the node of "**"
    bool stays = false;  // whether it is such a node
    std::vector<int> ids;

    bool is_leaf() const { return literals.empty() && globs.empty() && rest < 0; }
  };

  int step(int node, std::string_view part);
  void enter(int node, std::vector<int>& nodes, std::vector<int>& ids) const;

  std::vector<Node> nodes_ = std::vector<Node>(1);
};

}  // namespace shardscope
