#include "app/gui/explorer/explore.h"

#include "core/graph/simulate.h"
#include "core/schedule/schedule_files.h"

#include <algorithm>
#include <utility>

namespace bubblescope::gui {

namespace {

CostModel costsOf(const ScheduleSpec& spec) {
    CostModel costs;
    costs.times = spec.times;
    costs.comm = spec.comm;
    return costs;
}

/// A fixed number of activations per rank, in forward ops of one chunk.
int peakInForwards(const ExplorerResult& result) {
    return static_cast<int>((result.peak + result.spec.sizes.forward - 1) /
                            std::max<std::int64_t>(1, result.spec.sizes.forward));
}

} // namespace

Result<ExplorerResult> exploreOrder(const Schedule& schedule, const ScheduleSpec& spec, const JobControl& control) {
    ExplorerResult out;
    out.spec = spec;
    const CostModel costs = costsOf(spec);
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

Result<ExplorerResult> exploreSchedule(const ScheduleSpec& spec, const JobControl& control) {
    BUBBLESCOPE_ASSIGN(const Schedule schedule, makeSchedule(spec));
    return exploreOrder(schedule, spec, control);
}

Result<std::vector<ExplorerResult>> exploreFamilies(const ScheduleSpec& spec, const JobControl& control) {
    std::vector<ExplorerResult> out;
    for (const ScheduleFamily& family : scheduleFamilies()) {
        std::vector<std::string_view> flavors = family.flavors;
        if (flavors.empty()) flavors.emplace_back();
        for (const std::string_view flavor : flavors) {
            if (control.stopRequested()) return cancelledError();
            ScheduleSpec one = spec;
            one.name = family.name;
            one.flavor = flavor;
            Result<ExplorerResult> result = exploreSchedule(one, control);
            if (!result.ok()) continue; // the family does not take these sizes
            if (spec.memory_limit > 0 && peakInForwards(result.value()) > spec.memory_limit) continue;
            out.push_back(std::move(result).value());
        }
    }
    std::ranges::stable_sort(out, {}, [](const ExplorerResult& one) { return one.session->analysis(0).wall; });
    return out;
}

void SearchNews::put(State state) {
    const std::scoped_lock lock(mutex_);
    // An order that was not fetched yet counts as new.
    if (state_ && state_->better && !state.better) state.better = std::move(state_->better);
    state_ = std::move(state);
}

std::optional<SearchNews::State> SearchNews::take() {
    const std::scoped_lock lock(mutex_);
    return std::exchange(state_, std::nullopt);
}

Result<SearchOutcome> searchBestOrder(const ScheduleSpec& spec, TimeNs time_limit, SearchNews& news,
                                      const std::function<bool()>& enough, const JobControl& control) {
    SearchRequest request;
    request.pp = spec.pp;
    request.microbatches = spec.microbatches;
    request.vpp = spec.vpp;
    request.costs = costsOf(spec);
    if (spec.memory_limit > 0) request.activations.assign(static_cast<std::size_t>(spec.pp), spec.memory_limit);
    request.time_limit = time_limit;
    ScheduleSpec found = spec;
    found.name = "search";
    found.flavor.clear();
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
