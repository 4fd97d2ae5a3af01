#pragma once

#include <memory>

#include "engine/data/data_kind.h"

namespace shardscope {

// What a run trains on: a kind of data with the legal values of all its options, and what the model asks of it. Read
// from the run file once.
struct TrainingData {
  const DataKind* kind = nullptr;  // of all_data_kinds(); null: none
  OptionList options;
  DataRequest request;
  Evaluation evaluation;

  bool reads_files() const { return kind && kind->identify_files; }
};

// What these data are at this moment. Throws Failure (missing_file, unreadable_file, file_size).
DataIdentity identify_data(const TrainingData& data);

std::unique_ptr<DataSource> make_data_source(const TrainingData& data);
// What a kind keeps back for evaluation.
std::unique_ptr<DataSource> make_validation_source(const TrainingData& data);
// All examples of a kind whose data have an end.
std::unique_ptr<DataSource> make_examples(const TrainingData& data);

}  // namespace shardscope
