#pragma once

#include "core/analysis/report.h"
#include "core/recognise/gpu_work.h"
#include "core/recognise/run.h"

#include <memory>

namespace bubblescope::query {

/// What SQL looks at. All of it must outlive the database.
struct Subject {
    const Run& run;
    const RunReport* report = nullptr;            ///< null without a pipeline: its tables are then empty
    std::shared_ptr<const GpuWork> gpu = nullptr; ///< the work of devices, if it is known already
};

} // namespace bubblescope::query
