#include "engine/data/training_data.h"

namespace shardscope {

DataIdentity identify_data(const TrainingData& data) {
  DataIdentity identity;
  if (data.kind) identity.kind = data.kind->name;
  if (data.reads_files()) identity.parts = data.kind->identify_files(data.options);
  return identity;
}

std::unique_ptr<DataSource> make_data_source(const TrainingData& data) {
  return data.kind->make(data.options, data.request);
}

std::unique_ptr<DataSource> make_validation_source(const TrainingData& data) {
  return data.kind->make_validation(data.options, data.request);
}

std::unique_ptr<DataSource> make_examples(const TrainingData& data) {
  return data.kind->make_all(data.options, data.request);
}

}  // namespace shardscope
