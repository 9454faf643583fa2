#pragma once

#include "core/query/relation.h"
#include "core/query/subject.h"

#include <memory>
#include <vector>

namespace bubblescope::query {

/// The tables of what was found in a trace: "file", "problem", "device", "step", "op", "transfer", "bubble",
/// "accounting" and "finding", with the columns of the tables that `analyze` writes. Where these have a start and an
/// end, "ts" and "dur" stand in their place. Each is made when it is first read.
[[nodiscard]] std::vector<std::unique_ptr<Relation>> runTables(const Subject& subject);

} // namespace bubblescope::query
