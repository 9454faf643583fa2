#include "core/request/order_request.h"

#include "core/analysis/whatif/reschedule.h"
#include "core/analysis/whatif/run_model.h"
#include "core/base/field.h"
#include "core/base/open_input.h"
#include "core/base/result.h"
#include "core/base/text.h"
#include "core/cost/cost_files.h"
#include "core/cost/measured_times.h"
#include "core/cost/memory_estimate.h"
#include "core/graph/simulate.h"
#include "core/graph/validate.h"
#include "core/request/memory_request.h"
#include "core/schedule/schedule.h"
#include "core/schedule/schedule_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <limits>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bubblescope {
namespace {

constexpr std::string_view kPlacementShape = "write one 'stage,rank' line per stage, or use a schedule file";

/// A line of the file: a stage, and the rank that holds it.
struct StagePlace {
    std::size_t line = 0;
    int stage = 0;
    int rank = 0;
};

/// Nothing if the line is not two integers.
std::optional<StagePlace> placeFrom(std::string_view text, std::size_t line) {
    const auto comma = text.find(',');
    if (comma == std::string_view::npos) return std::nullopt;
    const auto stage = parseNumber<int>(trimmed(text.substr(0, comma)));
    const auto rank = parseNumber<int>(trimmed(text.substr(comma + 1)));
    if (!stage || !rank) return std::nullopt;
    return StagePlace{line, *stage, *rank};
}

Result<Placement> placementOfSchedule(const std::string& file, int pp, int vpp) {
    BUBBLESCOPE_ASSIGN(const Schedule schedule, readScheduleFile(file));
    if (schedule.pp != pp || schedule.vpp != vpp) {
        return inputError(file,
                          fmt::format("its placement is for {} ranks with {} chunks each, not for {} with {}",
                                      schedule.pp, schedule.vpp, pp, vpp),
                          "use a schedule file of this size");
    }
    BUBBLESCOPE_TRY(rejectEncoders(schedule.placement, "the search"));
    if (routes(schedule.placement) > 1)
        return inputError(file, "its placement is for two pipelines in opposite directions",
                          fmt::format("use {} for these", Field("second")));
    return schedule.placement;
}

Result<Placement> placementOfStages(const std::string& file, const std::vector<StagePlace>& places, int pp, int vpp) {
    const int stages = pp * vpp;
    std::vector<char> seen(static_cast<std::size_t>(stages), 0);
    for (const StagePlace& place : places) {
        const std::string where = fmt::format("{}, line {}", file, place.line);
        if (place.stage < 0 || place.stage >= stages)
            return inputError(where, fmt::format("stage {} does not exist", place.stage),
                              fmt::format("stages are 0 to {}", stages - 1));
        if (place.rank < 0 || place.rank >= pp)
            return inputError(where, fmt::format("there is no rank {}", place.rank),
                              fmt::format("ranks are 0 to {}", pp - 1));
        if (std::exchange(seen[static_cast<std::size_t>(place.stage)], char{1}) != 0)
            return inputError(where, fmt::format("stage {} already has a rank", place.stage), "name each stage once");
    }
    const auto missing = std::ranges::find(seen, char{0});
    if (missing != seen.end())
        return inputError(file, fmt::format("no rank holds stage {}", missing - seen.begin()),
                          std::string(kPlacementShape));
    for (const Placement placement : {Placement::Loop, Placement::V}) {
        if (std::ranges::all_of(places, [&](const StagePlace& place) {
                return locate(placement, pp, Stage{place.stage}).rank == Rank{place.rank};
            }))
            return placement;
    }
    const auto differs = std::ranges::find_if(places, [&](const StagePlace& place) {
        return locate(Placement::Loop, pp, Stage{place.stage}).rank != Rank{place.rank};
    });
    return inputError(fmt::format("{}, line {}", file, differs->line),
                      fmt::format("stage {} is on rank {}; in loop placement it is on rank {}, in v placement on {}",
                                  differs->stage, differs->rank,
                                  locate(Placement::Loop, pp, Stage{differs->stage}).rank.value,
                                  locate(Placement::V, pp, Stage{differs->stage}).rank.value),
                      "number the ranks so that the stages form a loop or a v; other placements are not supported");
}

/// The placement in a file: a schedule document, PyTorch's CSV, or lines "stage,rank" with each stage once, optionally
/// under that heading; '#' begins a comment. Orders have loop or V placement, so any other placement is rejected.
/// Errors: Input, naming the line, and the rank that the stage would be on.
Result<Placement> readPlacement(const std::string& file, int pp, int vpp) {
    const auto text_of_file = readInputText(file, "a placement");
    if (!text_of_file.ok()) {
        Error error = text_of_file.error();
        error.hint = "use any, loop, v or a readable file";
        return error;
    }
    std::vector<StagePlace> places;
    std::istringstream lines(text_of_file.value());
    std::size_t number = 0;
    for (std::string line; std::getline(lines, line);) {
        ++number;
        line.resize(std::min(line.find('#'), line.size()));
        const std::string_view text = trimmed(line);
        if (text.empty() || (places.empty() && text == "stage,rank")) continue;
        const auto place = placeFrom(text, number);
        if (!place && places.empty()) return placementOfSchedule(file, pp, vpp);
        if (!place)
            return inputError(fmt::format("{}, line {}", file, number),
                              fmt::format("'{}' does not specify a stage and its rank", text),
                              std::string(kPlacementShape));
        places.push_back(*place);
    }
    return placementOfStages(file, places, pp, vpp);
}

/// Any valid order of the searched problem: each rank runs all forwards, then all backwards.
Schedule someOrder(const SearchRequest& request) {
    Schedule schedule;
    schedule.name = "custom";
    schedule.pp = request.pp;
    schedule.microbatches = request.microbatches;
    schedule.vpp = request.vpp;
    schedule.placement = request.placements.front();
    schedule.ranks.resize(static_cast<std::size_t>(request.pp));
    const int stages = schedule.stages();
    const int apart = routes(schedule.placement);
    const auto add = [&](OpKind kind, int stage) {
        const Location at = locate(schedule.placement, schedule.pp, Stage{stage});
        for (int m = 0; m < request.microbatches; ++m) {
            const bool second = m >= request.microbatches - request.second;
            if (apart == 2 && second != (stage % 2 == 1)) continue;
            // The copies of a second model take turns with its micro-batches.
            const int of_copy = second ? request.second / request.second_copies : 0;
            if (second && (m - (request.microbatches - request.second)) / of_copy !=
                              stage / 2 / (request.pp / request.second_copies))
                continue;
            schedule.ranks[at.rank.index()].push_back({kind, Microbatch{m}, at.chunk});
        }
    };
    for (int stage = 0; stage < stages; ++stage)
        add(OpKind::Forward, stage);
    for (int stage = stages; stage-- > 0;)
        add(OpKind::Backward, stage);
    return schedule;
}

} // namespace

Result<double> parseNoise(std::string_view text) {
    std::string_view number = text;
    if (number.ends_with('%')) number.remove_suffix(1);
    while (number.ends_with(' '))
        number.remove_suffix(1);
    const auto percent = parseNumber<double>(number);
    if (!percent || !(*percent >= 0 && *percent < 100))
        return usageError(fmt::format("{} is not a percentage", Field("noise").is(text)),
                          "use a percentage from 0 to 100, such as 5%");
    return *percent / 100;
}

Status OrderRequest::readMemory(SearchRequest& request) const {
    for (const int limit : request.activations) {
        if (limit < 1)
            return usageError(fmt::format("{} must be positive", Field("memory_limit")),
                              "specify one number, or one per rank");
    }
    if (!hasModel() && !request.bytes.empty())
        return usageError(fmt::format("{} needs the model's tensor sizes", Field("memory_budget")),
                          fmt::format("add {} or {}", Field("memory_model").is("FILE"), Field("memory_preset")));
    if (!hasModel()) return {};
    if (request.bytes.empty())
        return usageError(fmt::format("{} does not set a limit",
                                      memory_model.empty() ? Field("memory_preset") : Field("memory_model")),
                          fmt::format("also use {}", Field("memory_budget").is("SIZE")));
    MemoryRequest given;
    given.model = memory_model;
    given.preset = memory_preset;
    BUBBLESCOPE_ASSIGN(request.model, given.sizes());
    return {};
}

Status OrderRequest::addSecond(SearchRequest& request) const {
    if (second.empty()) return {};
    if (request.vpp != 1 || placement != "any")
        return usageError(
            fmt::format("{} puts one chunk of each model on a rank, in opposite directions", Field("second")),
            fmt::format("omit {} and {}", Field("vpp"), Field("placement")));
    BUBBLESCOPE_TRY(checkSizes(request));
    BUBBLESCOPE_ASSIGN(const std::vector<OpTimes> other, readStageTimes(second));
    const auto pp = static_cast<std::size_t>(request.pp);
    std::vector<OpTimes> first = request.costs.stages;
    if (first.empty()) first.assign(pp, request.costs.times);
    if (first.size() != pp)
        return usageError(fmt::format("times are given for {} stages of a model on {} ranks", first.size(), pp),
                          "specify one set of times per stage");
    if (other.empty() || pp % other.size() != 0)
        return usageError(fmt::format("times are given for {} stages of a second model on {} ranks", other.size(), pp),
                          "specify one set of times for each rank, or for half, a third, … of them; the second model "
                          "then runs in two, three, … copies");
    request.second_copies = static_cast<int>(pp / other.size());
    request.costs.stages.clear();
    for (std::size_t place = 0; place < pp; ++place) {
        request.costs.stages.push_back(first[place]);
        request.costs.stages.push_back(other[place % other.size()]);
    }
    request.vpp = 2;
    const std::int64_t of_copies = second_microbatches ? std::int64_t{*second_microbatches} * request.second_copies
                                                       : std::int64_t{request.microbatches};
    if (of_copies > std::numeric_limits<int>::max() - request.microbatches)
        return usageError("too many micro-batches", "use fewer");
    request.second = static_cast<int>(of_copies);
    if (request.second % request.second_copies != 0)
        return usageError(fmt::format("{} copies of the second model cannot share {} micro-batches evenly",
                                      request.second_copies, request.second),
                          fmt::format("use {} per copy", Field("second_microbatches")));
    request.microbatches += request.second;
    request.placements = {Placement::Bidirectional};
    return {};
}

Status OrderRequest::addOpTimes(SearchRequest& request) const {
    if (schedule.op_times.empty()) return {};
    if (request.vpp == 1) request.placements = {Placement::Loop};
    if (request.placements.empty())
        return usageError(
            fmt::format("{} gives times by rank and chunk; with several chunks, the placement assigns them to stages",
                        Field("op_times")),
            fmt::format("use {} or v", Field("placement").is("loop")));
    BUBBLESCOPE_TRY(checkSizes(request));
    const Schedule order = someOrder(request);
    BUBBLESCOPE_ASSIGN(const OpGraph graph, completeGraph(order));
    BUBBLESCOPE_ASSIGN(MeasuredTimes measured, readOpTimes(schedule.op_times, order, graph));
    request.costs.measured = std::make_shared<MeasuredTimes>(std::move(measured));
    return {};
}

Result<SearchRequest> OrderRequest::request() const {
    SearchRequest made = search;
    made.pp = schedule.spec.pp;
    made.microbatches = schedule.spec.microbatches;
    made.vpp = schedule.chunks();
    const bool sized = schedule.sized();
    if (!from.empty() && sized)
        return usageError(fmt::format("{} takes the sizes from the trace", Field("from")),
                          fmt::format("omit {}, {} and {}", Field("pp"), Field("microbatches"), Field("vpp")));
    if (from.empty() && (made.pp < 1 || made.microbatches < 1))
        return usageError("sizes missing",
                          fmt::format("set {} {}, and {} for several chunks per rank", Field("pp").is("P"),
                                      Field("microbatches").is("M"), Field("vpp").is("V")));
    if (const auto wanted = placementFromName(placement); wanted && routes(*wanted) == 1) {
        BUBBLESCOPE_TRY(rejectEncoders(*wanted, "the search"));
        made.placements = {*wanted};
    } else if (placement != "any") {
        if (!from.empty())
            return usageError(
                fmt::format("{} takes the sizes from the trace, but a placement file needs explicit sizes",
                            Field("from")),
                "use any, loop or v");
        BUBBLESCOPE_TRY(checkSizes(made));
        BUBBLESCOPE_ASSIGN(const Placement given, readPlacement(placement, made.pp, made.vpp));
        made.placements = {given};
    }
    BUBBLESCOPE_ASSIGN(made.costs, schedule.costs(TimeNs{1'000'000}));
    BUBBLESCOPE_ASSIGN(made.costs.transfers,
                       schedule.transfers.model(made.pp, made.costs.comm > TimeNs{0} || !schedule.op_times.empty()));
    if (schedule.overlapped && !search.pairs) {
        return usageError(
            fmt::format("{} has no effect: the search generates no overlapped pairs", Field("overlapped")),
            fmt::format("add {}", Field("overlap_pairs")));
    }
    if (!from.empty() && schedule.timed())
        return usageError(fmt::format("{} takes the times from the trace", Field("from")), "omit the other times");
    const bool of_one_model = second.empty() && schedule.op_times.empty();
    if (!from.empty() && !of_one_model)
        return usageError(fmt::format("{} takes the times from the trace", Field("from")),
                          fmt::format("omit {} and {}", Field("op_times"), Field("second")));
    if (hasModel() && !second.empty())
        return usageError(fmt::format("{} is for one model only",
                                      memory_model.empty() ? Field("memory_preset") : Field("memory_model")),
                          fmt::format("use {} with {}", Field("memory_limit"), Field("second")));
    BUBBLESCOPE_TRY(addSecond(made));
    BUBBLESCOPE_TRY(addOpTimes(made));
    BUBBLESCOPE_TRY(readMemory(made));
    if (noise) made.noise = NoiseModel{.share = *noise, .draws = 200, .seed = made.seed};
    if (!made.time_limit && !made.rounds) made.time_limit = std::chrono::seconds(10);
    return made;
}

Result<RecordedOrder> takeRecorded(const Run& run, const RunClocks& clocks, SearchRequest& request) {
    BUBBLESCOPE_ASSIGN(const StepSelection selection, selectSteps(run.steps, StepRequest{}));
    BUBBLESCOPE_ASSIGN(const RunModel model, runModel(run, selection, clocks.bound()));
    const Schedule& order = run.schedule;
    BUBBLESCOPE_ASSIGN(const MeanPipeline pipeline, MeanPipeline::of(model, order, {}));
    request.pp = order.pp;
    request.microbatches = order.microbatches;
    request.vpp = order.vpp;
    if (request.placements.empty()) request.placements = {order.placement};
    request.costs = pipeline.costs(order, {});
    if (request.activations.empty() && request.bytes.empty()) request.activations = peakActivations(order);
    BUBBLESCOPE_ASSIGN(const StepTimeline step, simulate(order, request.costs));
    return RecordedOrder{model.step_time, step.wall(), model.check.error()};
}

} // namespace bubblescope
