#pragma once

#include "core/analysis/report.h"
#include "core/recognise/gpu_work.h"
#include "core/recognise/run.h"

#include <memory>

namespace bubblescope::query {

/// The data that SQL can query. All of it must outlive the database.
struct Subject {
    const Run& run;
    const RunReport* report = nullptr;            ///< null without a pipeline: tables about pipelines are then empty
    std::shared_ptr<const GpuWork> gpu = nullptr; ///< the work of devices, if already known
};

} // namespace bubblescope::query
