#pragma once

#include <QString>

#include "gui/workspace/workspace.h"

namespace shardscope {

// What the table of collectives says: of its columns (CollectivesModel::Column), and of a collective.
QString column_title(int column);
QString column_tip(int column);
// The op that needs it, by its name in the model.
QString op_title(const Plan& plan, const Instruction& instruction);
// The mesh axes along which it runs.
QString over_text(const Plan& plan, const Instruction& instruction);
// " \u2194 2 hosts", where a group is on several.
QString across_hosts(const Plan& plan, const Instruction& instruction);
// Why an exchange that takes half a millisecond is over after eight: in the newest training step, `trace` (null: not
// known), who came last to it, of the group whose ranks came farthest apart. Seconds are predicted.
QString waiting_text(const Plan& plan, const TraceMessage* trace, StepRef id, const MeasuredTime& time,
                     double predicted);

}  // namespace shardscope
