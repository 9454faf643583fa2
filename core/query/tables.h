#pragma once

#include "core/query/relation.h"
#include "core/query/subject.h"

#include <memory>
#include <vector>

namespace bubblescope::query {

/// The tables of a trace's contents: "slice", "instant", "flow", "counter" and "track". Slices and values are read
/// directly from the trace's columns.
[[nodiscard]] std::vector<std::unique_ptr<Relation>> traceTables(const Subject& subject);

/// The tables of analysis results: "file", "problem", "device", "step", "op", "transfer", "bubble", "accounting" and
/// "finding", with the columns of the tables that `analyze` writes. "ts" and "dur" replace their start and end. Each
/// table is computed when it is first read.
[[nodiscard]] std::vector<std::unique_ptr<Relation>> runTables(const Subject& subject);

} // namespace bubblescope::query
