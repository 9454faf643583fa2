#pragma once

#include "core/analysis/report.h"
#include "core/recognise/gpu_work.h"
#include "core/recognise/run.h"

#include <memory>

namespace bubblescope::query {

/// The data that SQL queries can access. Everything that it refers to must outlive the database.
struct Subject {
    const Run& run;
    const RunReport* report = nullptr;            ///< null without a pipeline; tables about pipelines are then empty
    std::shared_ptr<const GpuWork> gpu = nullptr; ///< device work; null if it has not been computed
};

} // namespace bubblescope::query
