#include "app/gui/explorer/explore.h"

#include "core/families/no_flush.h"
#include "core/graph/simulate.h"
#include "core/graph/simulate_lowered.h"
#include "core/graph/validate_lowered.h"
#include "core/lowering/torch_lowering.h"
#include "core/schedule/schedule_files.h"

#include <algorithm>
#include <utility>

namespace bubblescope::gui {

namespace {

bool keepsToMemory(const ExplorerResult& result) {
    const std::int64_t unit = result.input.spec.sizes.forward;
    for (std::size_t rank = 0; rank < result.input.activations.size(); ++rank) {
        for (const MemoryPoint& point : result.memory[rank]) {
            if (point.bytes > unit * result.input.activations[rank]) return false;
        }
    }
    return true;
}

/// Replaces `step` with a simulation with queues, or reports why the order hangs.
Status addQueues(const Schedule& schedule, const LabInput& input, StepTimeline& step, ExplorerResult& out) {
    TorchLowering options;
    options.defer_pp_recv = input.deferred_receives;
    const QueueModel queues{{*input.communicators, {}}, 0, false};
    BUBBLESCOPE_ASSIGN(const LoweredSchedule lowered, lowerAsTorch(schedule, options));
    if (!lowered.hasTransfers()) return {};
    const LoweredValidation checked = validateLowered(lowered, {}, queues);
    if (checked.hang && checked.hang->hangs()) {
        out.hang = checked.problems.front().message;
        return {};
    }
    BUBBLESCOPE_ASSIGN(LoweredStep queued, simulateLowered(lowered, input.costs(), queues));
    out.queue_cost = queued.step.wall() - step.wall();
    step = std::move(queued.step);
    return {};
}

} // namespace

CostModel LabInput::costs() const {
    CostModel costs;
    costs.times = spec.times;
    costs.stages = stages;
    costs.comm = spec.comm;
    costs.transfers = transfers;
    return costs;
}

Result<ExplorerResult> exploreOrder(const Schedule& schedule, const LabInput& input, const JobControl& control) {
    ExplorerResult out;
    out.input = input;
    const CostModel costs = input.costs();
    if (control.stopRequested()) return cancelledError();
    BUBBLESCOPE_ASSIGN(StepTimeline step, simulate(schedule, costs));
    if (control.stopRequested()) return cancelledError();
    BUBBLESCOPE_ASSIGN(out.form, closedForm(schedule, costs));
    if (input.communicators) BUBBLESCOPE_TRY(addQueues(schedule, input, step, out));

    if (control.stopRequested()) return cancelledError();
    StageMemory stage;
    stage.activations = input.spec.sizes;
    const MemoryModel memory{std::vector<StageMemory>(static_cast<std::size_t>(schedule.stages()), stage), {}};
    for (std::size_t rank = 0; rank < step.ranks.size(); ++rank) {
        if (control.stopRequested()) return cancelledError();
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
    if (control.stopRequested()) return cancelledError();
    Run run;
    run.files = {"schedule"};
    run.format = "simulation";
    run.schedule = schedule;
    run.steps.push_back(std::move(step));
    BUBBLESCOPE_ASSIGN(out.session, makeSession(std::move(run), control));
    return out;
}

Result<ExplorerResult> exploreSchedule(const LabInput& input, const JobControl& control) {
    BUBBLESCOPE_ASSIGN(const Schedule schedule, makeSchedule(input.spec));
    return exploreOrder(schedule, input, control);
}

Result<std::vector<ExplorerResult>> exploreFamilies(const LabInput& input, const JobControl& control) {
    std::vector<ExplorerResult> out;
    for (const ScheduleFamily& family : scheduleFamilies()) {
        if (trainsWithDelay(family.name)) continue;
        for (const std::string_view flavor : flavorsOf(family)) {
            if (control.stopRequested()) return cancelledError();
            LabInput one = input;
            one.spec.name = family.name;
            one.spec.flavor = flavor;
            Result<ExplorerResult> result = exploreSchedule(one, control);
            // Skips families that do not support these sizes.
            if (!result.ok() || !keepsToMemory(result.value())) continue;
            out.push_back(std::move(result).value());
        }
    }
    std::ranges::stable_sort(out, {}, [](const ExplorerResult& one) { return one.session->analysis(0).wall; });
    return out;
}

void SearchNews::put(State state) {
    const std::scoped_lock lock(mutex_);
    // An order that has not been fetched by take() is still new.
    if (state_ && state_->better && !state.better) state.better = std::move(state_->better);
    state_ = std::move(state);
}

std::optional<SearchNews::State> SearchNews::take() {
    const std::scoped_lock lock(mutex_);
    return std::exchange(state_, std::nullopt);
}

Result<SearchOutcome> searchBestOrder(const LabInput& input, TimeNs time_limit, SearchNews& news,
                                      const std::function<bool()>& enough, const JobControl& control) {
    SearchRequest request;
    request.pp = input.spec.pp;
    request.microbatches = input.spec.microbatches;
    request.vpp = input.spec.vpp;
    request.costs = input.costs();
    request.activations = input.activations;
    request.time_limit = time_limit;
    LabInput found = input;
    found.spec.name = "search";
    found.spec.flavor.clear();
    TimeNs shown = TimeNs::max();
    const auto watch = [&](const SearchProgress& progress) {
        SearchNews::State state{progress.rounds, progress.makespan, progress.bound, std::nullopt};
        if (progress.makespan < shown) {
            shown = progress.makespan;
            if (Result<ExplorerResult> better = exploreOrder(progress.best(), found, control); better.ok())
                state.better = std::move(better).value();
        }
        news.put(std::move(state));
        return !enough();
    };
    BUBBLESCOPE_ASSIGN(FoundOrder order, searchOrder(request, control, watch));
    if (control.stopRequested()) return cancelledError();
    BUBBLESCOPE_ASSIGN(ExplorerResult result, exploreOrder(order.schedule, found, control));
    return SearchOutcome{std::move(order), std::move(result)};
}

} // namespace bubblescope::gui
