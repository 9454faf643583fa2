#pragma once

#include "core/query/relation.h"
#include "core/query/subject.h"

#include <memory>
#include <vector>

namespace bubblescope::query {

/// The tables of what a trace holds: "slice", "instant", "flow", "counter" and "track". Slices and values are read from
/// the trace's columns as they lie there.
[[nodiscard]] std::vector<std::unique_ptr<Relation>> traceTables(const Subject& subject);

} // namespace bubblescope::query
