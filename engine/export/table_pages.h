#pragma once

#include <string>
#include <vector>

#include "engine/export/export_kind.h"
#include "engine/export/table_writer.h"

namespace shardscope {

// A table of a plan or a run. Headings are words with underscores; those that are measures say their unit. Bytes and
// FLOP are of one device. Of a pipeline the rows of all stages follow each other.
struct TablePage {
  std::string name;
  void (*write)(const ExportSource& source, const ExportChoice& choice, TableWriter& table);
};

// The pages of the window, and `run`; the first is the usual one.
const std::vector<TablePage>& table_pages();

// Each collective and send once, with how often it happens in a step: the sum of wire_bytes x count over a stage is
// what its devices send, those aside to which permutes give nothing to send. With a recorded step what its ranks
// measured, on average: the time from the start of the transfer to its end, and the waiting before it.
void write_collectives_table(const ExportSource&, const ExportChoice&, TableWriter&);
// How each array is sharded: parameters, optimizer state, inputs, results of the forward pass.
void write_layout_table(const ExportSource&, const ExportChoice&, TableWriter&);
// Each buffer of each stage's arena: the sum of bytes over those at the peak is what is alive there.
void write_memory_table(const ExportSource&, const ExportChoice&, TableWriter&);
// Each step of the program once, with how often it happens and what goes in and comes out.
void write_flow_table(const ExportSource&, const ExportChoice&, TableWriter&);
// Each step at each position of the main sequence: when it begins and ends, predicted for each stage, and measured for
// each rank where a step was recorded. Seconds from the beginning of the training step.
void write_timeline_table(const ExportSource&, const ExportChoice&, TableWriter&);
// Each stage of the pipeline; without one there is one.
void write_pipeline_table(const ExportSource&, const ExportChoice&, TableWriter&);
// Each training step of a recorded run: its time, its metrics, and what all ranks together sent (by the ring
// convention) and moved (counted at the transport; empty where the record does not say).
void write_run_table(const ExportSource&, const ExportChoice&, TableWriter&);

}  // namespace shardscope
