#pragma once

#include "core/families/registry.h"
#include "core/graph/simulate.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace bubblescope::test {

inline CostModel costs(int forward, int backward, int comm = 0) {
    CostModel model;
    model.times = makeOpTimes(TimeNs{forward}, TimeNs{backward}, {}, {}).value();
    model.comm = TimeNs{comm};
    return model;
}

inline Schedule schedule(const char* name, int pp, int microbatches, int vpp = 1) {
    return makeSchedule({name, "", pp, microbatches, vpp}).value();
}

/// Start and end of every op of a rank in nanoseconds.
using Times = std::vector<std::pair<int, int>>;

inline Times times(const StepTimeline& step, int rank) {
    Times list;
    for (const TimelineOp& op : step.ranks[Rank{rank}.index()])
        list.emplace_back(static_cast<int>(op.start.count()), static_cast<int>(op.end.count()));
    return list;
}

inline Times transfers(const StepTimeline& step, int rank, CommKind kind) {
    Times list;
    for (const CommSpan& span : step.comm[Rank{rank}.index()]) {
        if (span.kind == kind)
            list.emplace_back(static_cast<int>(span.start.count()), static_cast<int>(span.end.count()));
    }
    return list;
}

} // namespace bubblescope::test
