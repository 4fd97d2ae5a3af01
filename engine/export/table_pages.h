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
  bool shows_step = false;  // has ExportChoice::trace
};

// The pages of the window that have a table, and `run`; the first is the usual one.
const std::vector<TablePage>& table_pages();

// Of each table, which is a function NAME_table() of its file. Written by the build (cmake/registered.cmake).
std::vector<TablePage> registered_tables();

}  // namespace shardscope
