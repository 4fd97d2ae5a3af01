#pragma once

#include <QString>

#include "engine/data/training_data.h"

namespace shardscope {

// How the data of a plan are other data than those with which a checkpoint was trained, for a person; empty where
// they are the same, where the checkpoint does not say, and where one of both cannot be read, which the run tells.
// Reads files: up to 4 MiB of each.
QString changed_data_text(const TrainingData& data, const QString& checkpoint);

}  // namespace shardscope
