#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/error.h"
#include "engine/config/run_config.h"

namespace shardscope {

// Settings of another program's file: names and values as they stand there, each with its line. Errors are collected
// and thrown by finish().
class StrategySettings {
 public:
  explicit StrategySettings(std::string file) : file_(std::move(file)) {}

  void add(std::string key, std::string value, int line) {
    settings_.push_back({std::move(key), std::move(value), line});
  }

  bool has(const std::string& key) const { return find(key); }
  // The last of the name; `other` where there is none.
  std::string text(const std::string& key, const std::string& other) const;
  bool flag(const std::string& key) const;  // given, and neither false nor 0
  int64_t integer(const std::string& key, int64_t other, int64_t low = 1);
  double number(const std::string& key, double other);

  void fail(const std::string& key, std::string message, std::string hint);
  void finish() const;  // throws Failure with all errors

 private:
  struct Setting {
    std::string key, value;
    int line = 0;
  };
  const Setting* find(const std::string& key) const;

  std::string file_;
  std::vector<Setting> settings_;
  std::vector<Error> errors_;
};

// Words of a script: "--name value", "--name=value", "NAME=value", also in quotes and with a backslash at a line's end.
StrategySettings megatron_settings(const std::string& text, const std::string& file);
// "section.name" of TOML.
StrategySettings torchtitan_settings(const std::string& text, const std::string& file);
// "name: value" of YAML, or "name=value" of a command.
StrategySettings maxtext_settings(const std::string& text, const std::string& file);

// What another program cannot express, collected while its file is written.
class UnsaidStrategy {
 public:
  explicit UnsaidStrategy(std::string program) : program_(std::move(program)) {}

  // `key` of the strategy.
  void refuse(bool is_unsaid, const std::string& key, const std::string& what, const std::string& hint);
  // Of a program that splits parameters over the devices of experts and of context in every case: a strategy in which
  // each of these has them all.
  void refuse_replicas_within(const StrategyConfig& strategy);
  void finish() const;  // throws Failure with all that was refused

 private:
  std::string program_;
  std::vector<Error> errors_;
};

// What is to be noted where experts are split over the devices of context first; nothing where they are not.
std::vector<std::string> note_of_experts(const StrategyConfig& strategy);

// Layers of each model chunk where all have as many, of what is left the first ones one more; empty of one chunk, or
// where layers are not known. `ends`: how many fewer the first and the last have.
std::vector<int64_t> layers_of_equal_chunks(int64_t layers, int64_t chunks, int64_t ends = 0);

// The lines of a text, without what a comment sign begins, and without spaces around them.
std::vector<std::string> lines_without_comments(const std::string& text);
std::string trimmed(std::string text);

}  // namespace shardscope
