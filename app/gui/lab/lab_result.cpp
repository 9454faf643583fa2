#include "app/gui/lab/lab_result.h"

#include "core/graph/simulate.h"
#include "core/schedule/schedule_files.h"

#include <algorithm>

namespace bubblescope::gui {

Result<LabResult> runLab(const ScheduleSpec& spec, const JobControl& control) {
    LabResult out;
    out.spec = spec;
    BUBBLESCOPE_ASSIGN(const Schedule schedule, makeSchedule(spec));
    CostModel costs;
    costs.times = spec.times;
    costs.comm = spec.comm;
    BUBBLESCOPE_ASSIGN(StepTimeline step, simulate(schedule, costs));
    BUBBLESCOPE_ASSIGN(out.form, closedForm(schedule, costs));

    StageMemory stage;
    stage.activations = spec.sizes;
    const MemoryModel memory{std::vector<StageMemory>(static_cast<std::size_t>(schedule.stages()), stage)};
    for (std::size_t rank = 0; rank < step.ranks.size(); ++rank) {
        out.memory.push_back(memoryCurve(step, Rank{rank}, memory));
        for (const MemoryPoint& point : out.memory.back())
            out.peak = std::max(out.peak, point.bytes);
    }
    Result<std::string> csv = scheduleToCsv(schedule);
    if (csv.ok()) {
        out.csv = std::move(csv).value();
    } else {
        out.no_csv = csv.error().text();
    }
    Run run;
    run.files = {"schedule"};
    run.format = "simulation";
    run.schedule = schedule;
    run.steps.push_back(std::move(step));
    BUBBLESCOPE_ASSIGN(out.session, makeSession(std::move(run), control));
    return out;
}

} // namespace bubblescope::gui
