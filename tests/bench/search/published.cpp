#include "core/cost/measured_times.h"
#include "core/graph/simulate.h"
#include "tests/bench/search/table.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <memory>

namespace bubblescope::search_table {
namespace {

using Json = nlohmann::json;

Json published() {
    std::ifstream in(BUBBLESCOPE_PUBLISHED_INSTANCES);
    return Json::parse(in);
}

TimeNs fromMs(double ms) {
    return TimeNs{std::llround(1e6 * ms)};
}
TimeNs fromUs(double us) {
    return TimeNs{std::llround(1e3 * us)};
}

/// The longest time from a rank's first op to its last end: what the zero-bubble paper calls the cost.
TimeNs longestSpan(const StepTimeline& step) {
    TimeNs longest{0};
    for (const auto& ops : step.ranks)
        longest = std::max(longest, ops.back().end - ops.front().start);
    return longest;
}

double seconds(std::chrono::steady_clock::time_point begin) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// In the paper's sense the ranks need not end together: a rank that begins later may end that much later. The work
/// after the last op of the others makes up for it.
SearchRequest zeroBubbleRequest(const Json& setting, int times_memory) {
    SearchRequest request;
    request.pp = setting["p"];
    request.microbatches = setting["m"];
    const auto stages = static_cast<std::size_t>(request.pp);
    OpTimes times;
    times.forward = fromMs(setting["forward_ms"]);
    times.input_grad = fromMs(setting["input_grad_ms"]);
    times.weight_grad = fromMs(setting["weight_grad_ms"]);
    times.backward = times.input_grad + times.weight_grad;
    request.costs.stages.assign(stages, times);
    request.costs.comm = fromMs(setting["comm_ms"]);
    StageMemory memory;
    memory.activations.forward = setting["forward_memory"];
    memory.activations.weight_grad = setting["weight_grad_memory"];
    memory.activations.input_grad = memory.activations.forward - memory.activations.weight_grad;
    request.stages = MemoryModel{std::vector<StageMemory>(stages, memory), {}};
    request.bytes = {times_memory * request.pp * memory.activations.forward};
    for (int r = 0; r < request.pp; ++r)
        request.after.push_back((request.pp - 1 - r) * (times.forward + request.costs.comm));
    return request;
}

/// DynaPipe's micro-batches of unequal length: ops and transfers take that many times longer.
SearchRequest dynaPipeRequest(const Json& table, const Json& lengths, double comm_factor) {
    constexpr int kStages = 16;
    SearchRequest request;
    request.pp = kStages;
    request.microbatches = static_cast<int>(lengths.size());
    request.split = SplitBackward::Off;
    auto times = std::make_shared<MeasuredTimes>();
    for (int m = 0; m < request.microbatches; ++m) {
        const double length = lengths[static_cast<std::size_t>(m)];
        const TimeNs comm = fromUs(table["comm_us"].get<double>() * comm_factor * length);
        for (int r = 0; r < kStages; ++r) {
            times->setOp(Rank{r}, {OpKind::Forward, Microbatch{m}, Chunk{0}},
                         fromUs(table["forward_us"].get<double>() * length));
            times->setOp(Rank{r}, {OpKind::Backward, Microbatch{m}, Chunk{0}},
                         fromUs(table["backward_us"].get<double>() * length));
            if (r > 0) times->setTransfer(Payload::Activation, Microbatch{m}, Stage{r}, 0, comm);
            if (r + 1 < kStages) times->setTransfer(Payload::Gradient, Microbatch{m}, Stage{r}, 0, comm);
        }
    }
    request.costs.measured = std::move(times);
    return request;
}

} // namespace

int zeroBubble(const Options& options) {
    const Json table = published()["zero_bubble"];
    int missed = 0;
    fmt::print("| model | p | m | memory | bubble rate | paper | at least | s | processor, s |\n"
               "|---|---|---|---|---|---|---|---|---|\n");
    for (const Json& setting : table["settings"]) {
        for (const int times_memory : {1, 2}) {
            SearchRequest request = zeroBubbleRequest(setting, times_memory);
            limit(request, options, 10);
            const auto begin = std::chrono::steady_clock::now();
            const double processor = processorSeconds();
            const auto found = searchOrder(request, JobControl{});
            if (!found.ok()) {
                fmt::print("{}\n", found.error().text());
                return 1;
            }
            const auto step = simulate(found.value().schedule, request.costs);
            if (!step.ok()) return 1;
            const OpTimes& times = request.costs.stages.front();
            const TimeNs work = request.microbatches * (times.forward + times.backward);
            const TimeNs cost = longestSpan(step.value());
            const TimeNs least = found.value().bound - (request.pp - 1) * (times.forward + request.costs.comm);
            const auto rounded = [](double rate) { return std::round(1e4 * rate) / 1e4; };
            const double rate = rounded(fractionOf(cost - work, cost));
            const double paper = setting[times_memory == 1 ? "zb_1p" : "zb_2p"];
            if (rate > paper) ++missed;
            fmt::print("| {} | {} | {} | {}p | {:.4f} | {:.4f} | {:.4f} | {:.1f} | {:.1f} |\n",
                       setting["model"].get<std::string>(), request.pp, request.microbatches, times_memory, rate, paper,
                       rounded(std::max(0.0, fractionOf(least - work, least))), seconds(begin),
                       processorSeconds() - processor);
            std::fflush(stdout);
        }
    }
    fmt::print("\nabove the paper's: {}\n", missed);
    return missed == 0 ? 0 : 1;
}

int dynaPipe(const Options& options) {
    const Json table = published()["dynapipe"];
    int missed = 0;
    int count = 0;
    fmt::print("| sigma | transfers | step, ms | DynaPipe, ms | change | bound, ms |\n|---|---|---|---|---|---|\n");
    for (const Json& draw : table["draws"]) {
        for (const Json& entry : draw["makespans"]) {
            SearchRequest request = dynaPipeRequest(table, draw["lengths"], entry[0]);
            limit(request, options, 10);
            const auto found = searchOrder(request, JobControl{});
            if (!found.ok()) {
                fmt::print("{}\n", found.error().text());
                return 1;
            }
            const TimeNs theirs = fromUs(entry[1]);
            const TimeNs ours = found.value().makespan;
            ++count;
            if (ours >= theirs) ++missed;
            fmt::print("| {} | {} | {:.1f} | {:.1f} | {:+.1f} % | {:.1f} |\n", draw["sigma"].get<double>(),
                       entry[0].get<double>(), static_cast<double>(ours.count()) / 1e6,
                       static_cast<double>(theirs.count()) / 1e6, 100 * fractionOf(ours - theirs, theirs),
                       static_cast<double>(found.value().bound.count()) / 1e6);
            std::fflush(stdout);
        }
    }
    fmt::print("\n{} of {} shorter\n", count - missed, count);
    return missed == 0 ? 0 : 1;
}

int flexFusion(const Options& options) {
    const Json table = published()["flexfusion"];
    int missed = 0;
    fmt::print("| experiment | stages | micro-batches | step | FlexFusion | its bound | our bound | processor, s |\n"
               "|---|---|---|---|---|---|---|---|\n");
    for (const Json& experiment : table["experiments"]) {
        const auto& stages = experiment["stages"];
        const auto& microbatches = experiment["microbatches"];
        const int result = experiment["result"];
        SearchRequest request;
        request.pp = stages[0];
        request.vpp = 2;
        request.second_copies = request.pp / stages[1].get<int>();
        request.second = request.second_copies * microbatches[1].get<int>();
        request.microbatches = microbatches[0].get<int>() + request.second;
        request.placements = {Placement::Bidirectional};
        request.split = SplitBackward::Off;
        for (int place = 0; place < request.pp; ++place) {
            for (const Json& forward : experiment["forward"]) {
                OpTimes times;
                times.forward = TimeNs{1000 * forward.get<std::int64_t>()};
                times.backward = 2 * times.forward;
                times.input_grad = times.weight_grad = times.forward;
                request.costs.stages.push_back(times);
            }
        }
        limit(request, options, 60);
        const double processor = processorSeconds();
        const auto found = searchOrder(request, JobControl{});
        if (!found.ok()) {
            fmt::print("{}\n", found.error().text());
            return 1;
        }
        const auto units = [](TimeNs time) { return static_cast<double>(time.count()) / 1e3; };
        if (units(found.value().makespan) > result) ++missed;
        const std::string times = request.second_copies > 1 ? fmt::format("{} × ", request.second_copies) : "";
        fmt::print("| {} | {} + {}{} | {} + {}{} | {} | {} | {} | {} | {:.2f} |\n", experiment["number"].get<int>(),
                   stages[0].get<int>(), times, stages[1].get<int>(), microbatches[0].get<int>(), times,
                   microbatches[1].get<int>(), units(found.value().makespan), result, experiment["bound"].get<int>(),
                   units(found.value().bound), processorSeconds() - processor);
        std::fflush(stdout);
    }
    fmt::print("\nlonger than FlexFusion's: {}\n", missed);
    return missed == 0 ? 0 : 1;
}

} // namespace bubblescope::search_table
