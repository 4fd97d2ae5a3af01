#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "engine/base/error.h"

namespace shardscope {

using TextList = std::vector<std::string>;
using NumberList = std::vector<double>;
struct Null {
  bool operator==(const Null&) const = default;
};
// No option that is declared is a list of numbers or null; what stands in open ones may be.
using OptionValue = std::variant<bool, int64_t, double, std::string, TextList, NumberList, Null>;
using OptionList = std::vector<std::pair<std::string, OptionValue>>;

// A named choice with its hyperparameters in file order: {"name": "adam", "learning_rate": 1e-3}. Which keys and
// types are legal is declared by the registry of models, optimizers or data sources.
struct NamedOptions {
  std::string name;
  OptionList options;

  const OptionValue* find(const std::string& key) const;
  bool operator==(const NamedOptions&) const = default;
};

// A hyperparameter that a model, optimizer or data source declares. The type is that of `default_value`; `required`
// ones must be in the file. Numbers must lie in [minimum, maximum], text must be one of the choices.
struct OptionDefinition {
  std::string name;
  OptionValue default_value;
  bool required = false;
  double minimum = 0;
  double maximum = 1e18;
  std::string help;                       // one sentence
  std::vector<std::string> choices = {};  // of text: what it may be; empty: anything
  bool is_path = false;                   // of a file or folder, where it is not absolute below the run file's folder
  // An object of options that nobody declares: {"overrides": {"a": {"b": 1}}} is the option "overrides.a.b".
  bool is_open = false;
};

// Every declared option with the file's value or the default; behind them what stands in open ones. Faults (unknown,
// missing, type, range, choice) are appended to `errors` with the place "section.name".
OptionList resolve_options(const std::vector<OptionDefinition>& definitions, const OptionList& given,
                           const std::string& section, std::vector<Error>& errors);

// As an error names it: "true", "4", "null".
std::string to_string(const OptionValue& value);

// The value where the list has it; or nullptr.
const OptionValue* find_option(const OptionList& options, const std::string& name);
bool bool_option(const OptionList& options, const std::string& name);
int64_t integer_option(const OptionList& options, const std::string& name);
double real_option(const OptionList& options, const std::string& name);
const std::string& string_option(const OptionList& options, const std::string& name);
const TextList& list_option(const OptionList& options, const std::string& name);

}  // namespace shardscope
