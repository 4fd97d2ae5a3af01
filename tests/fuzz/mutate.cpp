#include "tests/fuzz/mutate.h"

#include <algorithm>
#include <cstdlib>

namespace shardscope::fuzz {

namespace {

using Kind = JsonNode::Kind;

constexpr size_t most_bytes = size_t{1} << 20;

const std::vector<std::string> odd_scalars = {"0",
                                              "-1",
                                              "1",
                                              "-0",
                                              "-0.0",
                                              "0.1",
                                              "1e-320",
                                              "5e-324",
                                              "1e308",
                                              "-1e308",
                                              "1e400",
                                              "2147483647",
                                              "2147483648",
                                              "-2147483648",
                                              "4294967295",
                                              "4294967296",
                                              "9007199254740993",
                                              "9223372036854775807",
                                              "9223372036854775808",
                                              "-9223372036854775808",
                                              "-9223372036854775809",
                                              "18446744073709551615",
                                              "18446744073709551616",
                                              "1e18",
                                              "1e19",
                                              "3037000500",
                                              "65536",
                                              "65537",
                                              "1000000007",
                                              "0.30000000000000000000000000004",
                                              "1E+2",
                                              "1.0",
                                              "2.5",
                                              "true",
                                              "false",
                                              "null",
                                              "NaN",
                                              "Infinity",
                                              "-Infinity",
                                              "0x10",
                                              "01",
                                              "+1",
                                              ".5",
                                              "1.",
                                              "\"\"",
                                              "\" \"",
                                              "\"a\"",
                                              "\"null\"",
                                              "\"NaN\"",
                                              "\"data\"",
                                              "\"model\"",
                                              "\"*\"",
                                              "\"**\"",
                                              "\"**/kernel\"",
                                              "\"../../etc/passwd\"",
                                              "\"/dev/zero\"",
                                              "\"\\u0000\"",
                                              "\"\\ud800\"",
                                              "\"\\udc00\\ud800\"",
                                              "\"\\u001b[31mred\\u001b[0m\"",
                                              "\"\\r\\n\\t\"",
                                              "\"\\u202e\"",
                                              "\"\xc3\xa9\"",
                                              "\"\xf0\x9f\x92\xa5\"",
                                              "\"\xff\xfe\"",
                                              "\"\xed\xa0\x80\"",
                                              "\"%s%n%d\"",
                                              "\"{}{0}\"",
                                              "\"a.b[0].c\"",
                                              "\"x=y\"",
                                              "[]",
                                              "{}",
                                              "[[]]",
                                              "[null]",
                                              "{\"\":0}"};

const std::vector<std::string> odd_bytes = {"{",
                                            "}",
                                            "[",
                                            "]",
                                            ",",
                                            ":",
                                            "\"",
                                            "\\",
                                            "\\u",
                                            "\n",
                                            "\r",
                                            " ",
                                            "\t",
                                            std::string(1, '\0'),
                                            "\x1b",
                                            "\x7f",
                                            "\xff",
                                            "\xc0\x80",
                                            "\xef\xbb\xbf",
                                            "//",
                                            "/* */",
                                            "-",
                                            "e",
                                            ".",
                                            "0",
                                            "9",
                                            "=",
                                            "..",
                                            "$",
                                            "'",
                                            "null"};

std::string quoted_name(Random& random) {
  static const std::vector<std::string> letters = {"a", "_", "/", "0", ".", "\xc3\xa9", "\\n", "\\\"", "\xe2\x80\xae"};
  const std::string letter = random.of(letters);
  const size_t count = random.one_in(20) ? random.size(100'000) : random.size(40);
  std::string text = "\"";
  for (size_t i = 0; i < count; ++i) text += letter;
  return text + "\"";
}

JsonNode nested(JsonNode inside, Random& random) {
  const size_t depth = random.one_in(10) ? random.size(20'000) : random.size(40);
  const bool object = random.one_in(2);
  std::string text;
  for (size_t i = 0; i < depth; ++i) text += object ? "{\"a\":" : "[";
  text += print_json(inside);
  for (size_t i = 0; i < depth; ++i) text += object ? "}" : "]";
  return scalar(text);
}

std::string tweaked(const std::string& text, Random& random) {
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  if (end != text.c_str() && *end == '\0' && text.find_first_of(".eE") == std::string::npos) {
    const int64_t whole = std::strtoll(text.c_str(), nullptr, 10);  // the nearest there is
    const int64_t factors[] = {-1, 2, 3, 10, 1000, 65536};
    if (random.one_in(2))
      return std::to_string(static_cast<int64_t>(static_cast<uint64_t>(whole) + random.below(5) - 2));
    if (std::abs(number) < 1e12) return std::to_string(whole * factors[random.below(std::size(factors))]);
    return text + "0";
  }
  std::string result = text;
  mutate(result, random);
  return result;
}

void change_key(JsonNode& object, const std::vector<JsonNode*>& nodes, Random& random) {
  const size_t at = random.below(object.keys.size());
  const JsonNode* other = nodes[random.below(nodes.size())];
  switch (random.below(6)) {
    case 0: object.keys[at] = quoted_name(random); break;
    case 1: object.keys[at] = tweaked(object.keys[at], random); break;
    case 2:
      if (!other->keys.empty()) object.keys[at] = other->keys[random.below(other->keys.size())];
      break;
    case 3:  // the same key twice
      object.keys.push_back(object.keys[at]);
      object.children.push_back(random.one_in(2) ? JsonNode(object.children[at]) : scalar(odd_scalar(random)));
      break;
    case 4:
      object.keys.erase(object.keys.begin() + static_cast<std::ptrdiff_t>(at));
      object.children.erase(object.children.begin() + static_cast<std::ptrdiff_t>(at));
      break;
    default: object.keys.push_back(quoted_name(random)); object.children.push_back(scalar(odd_scalar(random)));
  }
}

void change_elements(JsonNode& array, Random& random) {
  const size_t at = random.below(array.children.size());
  const JsonNode element = array.children[at];
  switch (random.below(4)) {
    case 0: array.children.erase(array.children.begin() + static_cast<std::ptrdiff_t>(at)); break;
    case 1: array.children.insert(array.children.end(), random.one_in(20) ? random.size(3000) : 1, element); break;
    case 2: std::swap(array.children[at], array.children[random.below(array.children.size())]); break;
    default: array.children.push_back(scalar(odd_scalar(random)));
  }
}

}  // namespace

std::string odd_scalar(Random& random) { return random.one_in(5) ? quoted_name(random) : random.of(odd_scalars); }

void mutate(JsonNode& document, Random& random) {
  const std::vector<JsonNode*> nodes = all_nodes(document);
  JsonNode& node = *nodes[random.below(nodes.size())];
  const JsonNode other = *nodes[random.below(nodes.size())];
  if (!node.keys.empty() && random.one_in(2)) return change_key(node, nodes, random);
  if (node.kind == Kind::array && !node.children.empty() && random.one_in(2)) return change_elements(node, random);
  if (node.kind == Kind::scalar && random.one_in(2)) {
    node.text = tweaked(node.text, random);
    return;
  }
  switch (random.below(6)) {
    case 0: node = nested(node, random); break;
    case 1: node = other; break;
    case 2: {
      JsonNode list;
      list.kind = Kind::array;
      list.children = {node};
      node = list;
      break;
    }
    case 3:
      if (!node.children.empty()) node = JsonNode(node.children[random.below(node.children.size())]);
      break;
    default: node = scalar(odd_scalar(random));
  }
}

void mutate(std::string& text, Random& random) {
  const size_t from = random.below(text.size() + 1);
  const size_t count = std::min(random.size(64), text.size() - from);
  switch (random.below(7)) {
    case 0: text.resize(from); break;
    case 1: text.erase(from, count); break;
    case 2: text.insert(from, text.substr(from, count)); break;
    case 3: text.insert(from, random.of(odd_bytes)); break;
    case 4:
      if (from < text.size()) text[from] = static_cast<char>(random.number());
      break;
    case 5: text.insert(from, random.of(odd_scalars)); break;
    default:
      text.insert(from,
                  std::string(random.one_in(50) ? random.size(100'000) : random.size(30), random.of(odd_bytes)[0]));
  }
}

std::string mutant_of_json(std::string_view json, Random& random) {
  std::string text(json);
  auto document = parse_json(json);
  if (document && !random.one_in(10)) {
    for (size_t count = random.size(6); count > 0; --count) mutate(*document, random);
    text = print_json(*document);
  }
  if (random.one_in(4)) {
    for (size_t count = random.size(4); count > 0; --count) mutate(text, random);
  }
  if (text.size() > most_bytes) text.resize(most_bytes);
  return text;
}

}  // namespace shardscope::fuzz
