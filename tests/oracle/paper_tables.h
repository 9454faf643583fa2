#pragma once

#include "core/cost/cost_model.h"
#include "core/families/registry.h"
#include "core/timeline/bubbles.h"
#include "core/timeline/step_timeline.h"
#include "tests/oracle/oracle_file.h"

#include <string_view>
#include <vector>

namespace bubblescope::test {

/// One kind of entry in paper-tables.json, and the test that checks it.
struct PaperEntry {
    std::string_view what; ///< start of the entry's "what"
    int entries;           ///< number of entries in the file
};

/// All entries in the file. A test fails if an entry is not covered.
[[nodiscard]] const std::vector<PaperEntry>& paperEntries();

/// Entries whose "what" starts with this text. The calling test fails if their number differs from the list.
[[nodiscard]] std::vector<Json> paperEntriesOf(std::string_view what);

/// Converts a number in the unit of the papers (milliseconds, microseconds or 1) to a time of `scale` units, so that
/// more digits are kept.
[[nodiscard]] TimeNs paperTime(const Json& value, int scale = 1000);

/// F, I and W; B is their sum.
[[nodiscard]] CostModel splitCosts(TimeNs forward, TimeNs input_grad, TimeNs weight_grad, TimeNs comm = TimeNs{0});

/// Simulates the spec with these costs, which are also used to generate its order. The calling test fails if the spec
/// is rejected.
[[nodiscard]] StepTimeline runOf(ScheduleSpec spec, const CostModel& costs);

} // namespace bubblescope::test
