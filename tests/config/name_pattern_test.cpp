#include "engine/base/name_pattern.h"

#include <QTest>
#include <random>

#include "engine/base/path.h"
#include "engine/config/run_config.h"
#include "tests/test_program.h"

namespace name_pattern_test {

using namespace shardscope;

namespace {

bool matches(const std::string& pattern, const std::string& name) {
  NamePatterns patterns;
  patterns.add(pattern, 7);
  std::vector<int> ids;
  patterns.match(name, ids);
  return ids == std::vector<int>{7};
}

// Whether it also matches no part at all.
bool only_any(std::string_view pattern) {
  return pattern == "**" || (pattern.starts_with("**/") && only_any(pattern.substr(3)));
}

// By definition, at any cost: letter by letter, '/' closing a part.
bool matches_by_definition(std::string_view pattern, std::string_view name) {
  if (only_any(pattern)) return true;
  if (pattern.starts_with("**/")) {
    if (matches_by_definition(pattern.substr(3), name)) return true;
    const size_t slash = name.find('/');
    return slash != std::string_view::npos && matches_by_definition(pattern, name.substr(slash + 1));
  }
  std::string_view part = pattern.substr(0, pattern.find('/')), text = name.substr(0, name.find('/'));
  auto part_matches = [](auto& self, std::string_view p, std::string_view t) -> bool {
    if (p.empty()) return t.empty();
    if (p[0] == '*') return self(self, p.substr(1), t) || (!t.empty() && self(self, p, t.substr(1)));
    return !t.empty() && p[0] == t[0] && self(self, p.substr(1), t.substr(1));
  };
  if (!part_matches(part_matches, part, text)) return false;
  const bool pattern_ends = part.size() == pattern.size(), name_ends = text.size() == name.size();
  if (name_ends && !pattern_ends) return only_any(pattern.substr(part.size() + 1));
  if (pattern_ends || name_ends) return pattern_ends && name_ends;
  return matches_by_definition(pattern.substr(part.size() + 1), name.substr(text.size() + 1));
}

std::string random_text(std::mt19937& random, const std::vector<std::string>& parts) {
  std::string text;
  for (size_t i = 1 + random() % 5; i > 0; --i) text += (text.empty() ? "" : "/") + parts[random() % parts.size()];
  return text;
}

}  // namespace

class NamePatternTest : public QObject {
  Q_OBJECT

 private slots:
  void a_star_stands_for_text_within_one_part() {
    QVERIFY(matches("params/Block_*/kernel", "params/Block_12/kernel"));
    QVERIFY(matches("params/Block_*/kernel", "params/Block_/kernel"));
    QVERIFY(matches("*a*b*", "xaxxbx"));
    QVERIFY(!matches("params/Block_*/kernel", "params/Block_1/Dense_0/kernel"));
    QVERIFY(!matches("params/Block_*", "params/Bloc_1"));
    QVERIFY(!matches("*", "a/b"));
    QVERIFY(!matches("params", "params/a") && !matches("params/a", "params"));
  }

  void two_stars_stand_for_any_number_of_parts() {
    for (const char* name : {"kernel", "params/kernel", "params/a/b/kernel"}) QVERIFY(matches("**/kernel", name));
    for (const char* name : {"params", "params/a", "params/a/b"}) QVERIFY(matches("params/**", name));
    QVERIFY(matches("params/**/Dense_*/**/bias", "params/A/Dense_0/bias"));
    QVERIFY(matches("**/**/a", "a"));
    QVERIFY(!matches("params/**/bias", "params/A/kernel"));
    QVERIFY(!matches("params/**", "state/a"));
  }

  void braces_stand_for_each_of_their_alternatives() {
    for (const char* name : {"params/A/query/kernel", "params/A/key/bias", "params/query/bias"})
      QVERIFY2(matches("params/**/{query,key}/{kernel,bias}", name), name);
    QVERIFY(!matches("params/**/{query,key}/{kernel,bias}", "params/A/value/kernel"));
    QVERIFY(matches("{a/b,c}/*", "a/b/x") && matches("{a/b,c}/*", "c/x") && !matches("{a/b,c}/*", "a/x"));
    QVERIFY(matches("x{,_{0,1*}}", "x") && matches("x{,_{0,1*}}", "x_0") && matches("x{,_{0,1*}}", "x_17"));
    QVERIFY(is_pattern("{a,b}") && !is_pattern("{a}") && !is_pattern("{a,b"));
    QVERIFY(matches("{a}", "{a}") && matches("{a,b", "{a,b") && matches("{{a,b}", "{a"));
    using Names = std::vector<std::string>;
    QCOMPARE(alternatives("a/{b,c/{d,e}}/{f}"), (Names{"a/b/{f}", "a/c/d/{f}", "a/c/e/{f}"}));
    std::string many = "a";
    for (int i = 0; i < 9; ++i) many += "{0,1}";
    QCOMPARE(alternatives(many).size(), size_t{512});
    QCOMPARE(alternatives(many + "{0,1}"), Names{many + "{0,1}"});
    QCOMPARE(alternatives(std::string(10000, '{')).size(), size_t{1});
  }

  void a_list_is_split_at_commas_outside_of_braces_and_is_one_pattern() {
    using Names = std::vector<std::string>;
    QCOMPARE(split_patterns(" a/{b,c}, d ,,e{f"), (Names{"a/{b,c}", "d", "e{f"}));
    QCOMPARE(split_patterns(""), Names{});
    QCOMPARE(pattern_of_list({"a/b", "c{d,e}"}), std::string("{a/b,c{d,e}}"));
    QCOMPARE(list_of_pattern("{a/b,c{d,e}}"), (Names{"a/b", "c{d,e}"}));
    for (const char* other : {"{a,b}c", "{a,b}{c,d}", "{,a}", "{a}", "a"}) QCOMPARE(list_of_pattern(other), Names{});
  }

  void many_patterns_together_match_as_each_alone() {
    std::mt19937 random(3);
    int matched = 0;
    for (int round = 0; round < 2000; ++round) {
      std::vector<std::string> all;
      NamePatterns patterns;
      for (int id = 0; id < 6; ++id) {
        all.push_back(random_text(random, {"a", "b", "ab", "a*", "*b", "*", "**", "**", "a*b*"}));
        patterns.add(all.back(), id);
      }
      const std::string name = random_text(random, {"a", "b", "ab", "aab", "abb"});
      std::vector<int> ids, expected;
      patterns.match(name, ids);
      for (int id = 0; id < 6; ++id) {
        if (matches_by_definition(all[static_cast<size_t>(id)], name)) expected.push_back(id);
      }
      QVERIFY2(ids == expected, (name + " in " + join_path(all)).c_str());
      matched += static_cast<int>(ids.size());
    }
    QVERIFY(matched > 1000);
  }

  void a_pattern_that_matches_nothing_is_reported_how_far_it_came() {
    const std::vector<std::string> names = {"params/Block_0/MLP_0/kernel", "params/Block_1/Norm_0/scale",
                                            "params/Out/bias"};
    QCOMPARE(pattern_hint("params/Block_*/MLP_9/kernel", names),
             std::string("below 'params/Block_*' there are 'MLP_0', 'Norm_0'"));
    QCOMPARE(pattern_hint("params/Block_*/MLP_*/bias", names),
             std::string("below 'params/Block_*/MLP_*' there are 'kernel'"));
    QCOMPARE(pattern_hint("state/**", names), std::string("names begin with 'params'"));
    QCOMPARE(pattern_hint("**/none", names), std::string("names begin with 'params'"));
    QCOMPARE(pattern_hint("*", {}), std::string("there are none"));
  }

  void an_exact_name_decides_before_a_pattern_and_of_patterns_the_first() {
    ShardingConfig sharding;
    sharding.parameters = {{{"params", "*", "kernel"}, {{{"x"}}}},
                           {{"params", "A", "**"}, {{{"y"}}}},
                           {{"params", "A", "kernel"}, {{{"z"}}}}};
    auto place = [&](std::vector<std::string> path) {
      const ParameterSpec* found = find_parameter_spec(sharding, path);
      return found ? found - sharding.parameters.data() : -1;
    };
    QCOMPARE(place({"params", "A", "kernel"}), 2);
    QCOMPARE(place({"params", "B", "kernel"}), 0);
    QCOMPARE(place({"params", "A", "bias"}), 1);
    QCOMPARE(place({"params", "B", "bias"}), -1);
  }
};

REGISTER_TEST(NamePatternTest)

}  // namespace name_pattern_test

#include "name_pattern_test.moc"
