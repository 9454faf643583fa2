#pragma once

#include "core/cost/cost_model.h"
#include "core/families/registry.h"
#include "core/timeline/bubbles.h"
#include "core/timeline/step_timeline.h"
#include "tests/oracle/oracle_file.h"

#include <string_view>
#include <vector>

namespace bubblescope::test {

/// One kind of entry in paper-tables.json and the test that answers for it.
struct PaperEntry {
    std::string_view what; ///< how the entry's "what" begins
    int entries;           ///< counted from the file
};

/// All that the file holds. A test fails if an entry belongs to none of them.
[[nodiscard]] const std::vector<PaperEntry>& paperEntries();

/// The entries whose "what" begins so. The calling test fails if there are not as many as listed.
[[nodiscard]] std::vector<Json> paperEntriesOf(std::string_view what);

/// A number of the papers' unit (milliseconds, microseconds or 1) as time: thousandths of it, and as many more
/// digits as given.
[[nodiscard]] TimeNs paperTime(const Json& value, int scale = 1000);

/// F, I and W, with B their sum.
[[nodiscard]] CostModel splitCosts(TimeNs forward, TimeNs input_grad, TimeNs weight_grad, TimeNs comm = TimeNs{0});

/// The spec's run at these costs, which it also takes for making its order. The calling test fails if the spec
/// is refused.
[[nodiscard]] StepTimeline runOf(ScheduleSpec spec, const CostModel& costs);

} // namespace bubblescope::test
