#pragma once

#include "core/query/relation.h"
#include "core/query/subject.h"

#include <memory>
#include <vector>

namespace bubblescope::query {

/// Tables of a trace's contents: "slice", "instant", "flow", "counter" and "track". Slices and values are read directly
/// from the columns of the trace.
[[nodiscard]] std::vector<std::unique_ptr<Relation>> traceTables(const Subject& subject);

/// Tables of analysis results: "file", "problem", "device", "step", "op", "transfer", "bubble", "accounting" and
/// "finding". Their columns are those written by `analyze`, except that "ts" and "dur" replace start and end. Each
/// table is computed when it is read for the first time.
[[nodiscard]] std::vector<std::unique_ptr<Relation>> runTables(const Subject& subject);

} // namespace bubblescope::query
