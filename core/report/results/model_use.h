#pragma once

#include "core/analysis/model_use.h"
#include "core/analysis/report.h"
#include "core/report/document.h"

namespace bubblescope::report {

/// The fraction of the devices' peak rate that a run's steps achieve, also by rank for the typical step.
[[nodiscard]] Section modelUseSection(const RunReport& report, const ModelUse& use);

/// As above, for a step of a trace without a pipeline.
[[nodiscard]] Section modelUseSection(TimeNs step, const ModelUse& use);

} // namespace bubblescope::report
