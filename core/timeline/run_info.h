#pragma once

#include "core/base/time.h"
#include "core/schedule/schedule.h"

#include <string>
#include <utility>

namespace bubblescope {

/// Description of a run in Bubblescope's own trace files, stored once per file. Traces from other programs have none.
struct RunInfo {
    std::string source;   ///< "simulate" or "run"
    std::string backend;  ///< such as "cpu"; empty for a simulation
    std::string schedule; ///< name of the schedule family
    std::string flavor;
    int pp = 1;
    int dp = 1; ///< number of replicas of the pipeline
    int tp = 1; ///< number of ranks that share each stage of a replica
    int microbatches = 1;
    int vpp = 1;
    int steps = 0; ///< number of steps to train; 0 if unknown
    Placement placement = Placement::Loop;
    bool paced = false;       ///< true if ops were delayed to their nominal times on an emulated device clock
    TimeNs pace_tolerance{0}; ///< tolerance; an op late by more than this keeps its actual end
    std::string faults;       ///< injected faults as specified by the user; empty if none

    /// Also sets the fields that follow from the executed schedule.
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
