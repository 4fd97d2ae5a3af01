#pragma once

#include "engine/export/export_kind.h"
#include "engine/export/strategy_format.h"

namespace shardscope {

// Tables (engine/export/table_pages.h): RFC 4180 with line feeds; or with tabs, where a tab or a line's end within a
// cell is a space.
ExportKind csv_export();
ExportKind tsv_export();

// Every stored array and input as jax.debug.visualize_array_sharding prints it.
ExportKind layout_export();

// JSON of {path: spec}: how parameters, optimizer state ("optimizer/mu/params/Dense_0/kernel"), inputs and constrained
// activations lie, by the names of JAX and of run files; a spec has one entry for each dimension, as in a run file: an
// axis, a list of axes, or null.
ExportKind specs_export();

// A trace in Chrome's JSON format, for ui.perfetto.dev and chrome://tracing (engine/export/perfetto.cpp).
ExportKind perfetto_export();

// The metrics of a run as TensorBoard's event file (engine/export/event_file.h). TensorBoard finds files whose names
// contain "tfevents"; in a folder the file gets such a name.
ExportKind tensorboard_export();

// A plan, and what a run measured of it, as one page of HTML that stands alone (engine/export/html_page.h).
ExportKind html_export();

// A line for each training step, as `shardrun train --jsonl` writes it.
ExportKind jsonl_export();

// A folder that trains the plan elsewhere (engine/export/headless.h); with a batch script for Slurm.
ExportKind headless_export();
ExportKind slurm_export();

// A program of JAX that trains the same (engine/export/jax_program.h), or its mesh and shardings alone.
ExportKind jax_export();

// The strategy of a run file in that format.
ExportKind strategy_export(const StrategyFormat& format);

// Pictures of the window's pages, which the program shardscope beside this one draws (--export).
ExportKind svg_export();
ExportKind png_export();
ExportKind pdf_export();

}  // namespace shardscope
