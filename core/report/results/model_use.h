#pragma once

#include "core/analysis/model_use.h"
#include "core/analysis/report.h"
#include "core/report/document.h"

namespace bubblescope::report {

/// How much of the devices' peak a run's steps use, and each rank of the typical step.
[[nodiscard]] Section modelUseSection(const RunReport& report, const ModelUse& use);

/// The same for a step of a trace without a pipeline.
[[nodiscard]] Section modelUseSection(TimeNs step, const ModelUse& use);

} // namespace bubblescope::report
