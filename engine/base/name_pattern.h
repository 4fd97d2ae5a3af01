#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shardscope {

// Patterns over names of parts joined by '/': in a part '*' stands for any text, the part '**' for any number of parts,
// and '{a,b}' for a or b, each of which may have parts and braces of its own.
//   params/SelfAttentionBlock_*/MLP_0/Dense_0/kernel    params/**/bias    params/**/{query,key}/{kernel,bias}    **
bool is_pattern(std::string_view name);

// The patterns without braces that a pattern stands for, in their order: "a/{b,c/d}" -> "a/b", "a/c/d". Braces without
// a comma, or that are not closed, are plain text, as all are in what would stand for more than 1000.
std::vector<std::string> alternatives(std::string_view pattern);

// The patterns of a list with commas, of which those in braces are not, without spaces around them: "a/{b,c}, d" ->
// "a/{b,c}", "d".
std::vector<std::string> split_patterns(std::string_view list);

// One pattern for all of a list, and back; empty where a pattern is not such a one: {"a/b", "c"} <-> "{a/b,c}".
std::string pattern_of_list(const std::vector<std::string>& patterns);
std::vector<std::string> list_of_pattern(std::string_view pattern);

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
