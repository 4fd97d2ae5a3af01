#include "gui/run/changed_data.h"

#include "engine/checkpoint/checkpoint_reader.h"
#include "gui/document/text.h"

namespace shardscope {

QString changed_data_text(const TrainingData& data, const QString& checkpoint) {
  try {
    const CheckpointReader reader(checkpoint.toStdString());
    if (!reader.index().data) return {};
    return qt(summary(differences(*reader.index().data, identify_data(data))));
  } catch (const Failure&) {
    return {};
  }
}

}  // namespace shardscope
