#pragma once

#include "app/gui/models/session.h"
#include "core/cost/memory_model.h"
#include "core/schedule/families/registry.h"
#include "core/theory/closed_form.h"

#include <string>
#include <vector>

namespace bubblescope::gui {

/// A schedule that a user tries, with all that is shown of it. Made on a worker thread.
struct LabResult {
    ScheduleSpec spec;
    SessionPtr session; ///< of one simulated step, for the views
    ClosedForm form;
    std::vector<std::vector<MemoryPoint>> memory; ///< per rank, in halves of one forward op's activations
    std::int64_t peak = 0;                        ///< of the fullest rank, likewise
    std::string csv;                              ///< in PyTorch's grammar; empty where that cannot say it
    std::string no_csv;                           ///< why
};

/// Generates and simulates. Errors: of makeSchedule() and simulate(), and Cancelled.
[[nodiscard]] Result<LabResult> runLab(const ScheduleSpec& spec, const JobControl& control);

} // namespace bubblescope::gui
