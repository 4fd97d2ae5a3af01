#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/base/data_identity.h"
#include "engine/base/error.h"
#include "engine/base/options.h"
#include "engine/data/data_source.h"

namespace shardscope {

// A kind of data that a run file may name (data.kind): what it may be given, what it gives, and how.
struct DataKind {
  std::string name;
  std::string summary;  // what it is, in one phrase, for lists
  // Every kind has "batch_size": rows of each input in a step, over all devices.
  std::vector<OptionDefinition> options;
  // The inputs that it gives to a model that asks so: names and types, and limits that their values keep.
  std::vector<DataInput> (*gives)(const DataRequest& request);
  // For legal options and a request that it serves.
  std::unique_ptr<DataSource> (*make)(const OptionList& options, const DataRequest& request);
  // Faults between options that are legal each, with places "data.dataset_size".
  std::vector<Error> (*check)(const OptionList& options) = [](const OptionList&) { return std::vector<Error>{}; };
  // Of a kind whose data have an end: how many examples there are, and a source whose one step is all of them in their
  // order. Else 0 and nullptr.
  int64_t examples = 0;
  std::unique_ptr<DataSource> (*make_all)(const OptionList& options, const DataRequest& request) = nullptr;
  // Of a kind that keeps examples back: a source of these, whose steps are the batches of an evaluation; and faults of
  // its files. Such a kind has "evaluate_every" and "evaluate_batches". Else nullptr.
  std::unique_ptr<DataSource> (*make_validation)(const OptionList& options, const DataRequest& request) = nullptr;
  std::vector<Error> (*check_files)(const OptionList& options, const DataRequest& request) = nullptr;
  // Of a kind that reads files: what those that a run reads are at this moment. Else nullptr.
  std::vector<DataPart> (*identify_files)(const OptionList& options) = nullptr;
};

// When a run evaluates its model on data that it does not train on.
struct Evaluation {
  int64_t every = 0;  // after each so many training steps; 0: never
  int64_t batches = 0;
};

// All kinds; one line in data_kind.cpp adds one. find_data_kind gives nullptr for an unknown name.
const std::vector<DataKind>& all_data_kinds();
const DataKind* find_data_kind(const std::string& name);

// True where the kind gives every input that is asked for, with its dtype and shape and below its limit.
bool serves(const DataKind& kind, const DataRequest& request);
// An error data_kind at data.kind that names the inputs asked for and the kinds that fit, unless `kind` does.
std::vector<Error> check_data(const DataKind& kind, const DataRequest& request);
// What the files of a legal data section lack; none where it has no files.
std::vector<Error> check_data_files(const DataKind& kind, const OptionList& options, const DataRequest& request);
// Of all options of the kind.
Evaluation evaluation(const DataKind& kind, const OptionList& options);

}  // namespace shardscope
