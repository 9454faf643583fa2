#pragma once

#include "core/base/time.h"
#include "core/schedule/schedule.h"

#include <string>
#include <utility>

namespace bubblescope {

/// Describes a run in Bubblescope's own trace files, once per file. Traces of other programs have none.
struct RunInfo {
    std::string source;   ///< "simulate" or "run"
    std::string backend;  ///< "cpu"; empty for a simulation
    std::string schedule; ///< family name
    std::string flavor;
    int pp = 1;
    int dp = 1; ///< replicas of the pipeline
    int tp = 1; ///< ranks that share each stage of a replica
    int microbatches = 1;
    int vpp = 1;
    int steps = 0; ///< number of steps to train; 0 if unknown
    Placement placement = Placement::Loop;
    bool paced = false;       ///< ops were delayed to their nominal times on an emulated device clock
    TimeNs pace_tolerance{0}; ///< an op later than this keeps its actual end
    std::string faults;       ///< injected faults, as specified; empty if none

    /// Also fills in the fields that follow from the executed schedule.
    [[nodiscard]] static RunInfo of(std::string source, const Schedule& ran) {
        RunInfo info;
        info.source = std::move(source);
        info.schedule = ran.name;
        info.flavor = ran.flavor;
        info.pp = ran.pp;
        info.microbatches = ran.microbatches;
        info.vpp = ran.vpp;
        info.placement = ran.placement;
        return info;
    }
};

} // namespace bubblescope
