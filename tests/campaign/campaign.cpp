#include "tests/campaign/campaign.h"

#include "core/cost/measured_times.h"
#include "core/graph/cost_table.h"
#include "core/graph/simulate.h"
#include "core/graph/validate.h"
#include "core/trace/trace_builder.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <utility>

namespace bubblescope::campaign {

std::string faultName(FaultKind kind) {
    switch (kind) {
    case FaultKind::None: return "none";
    case FaultKind::SlowRank: return "slow rank";
    case FaultKind::SlowRankFromStep: return "slow rank from a step on";
    case FaultKind::SlowLink: return "slow link";
    case FaultKind::SlowOp: return "single slow op";
    case FaultKind::WrongOrder: return "wrong order";
    case FaultKind::DroppedRecord: return "dropped record";
    case FaultKind::SkewedClock: return "skewed clock";
    case FaultKind::SlowStage: return "imbalance";
    }
    return "";
}

namespace {

using Random = std::mt19937_64;

constexpr double kOpJitter = 0.02;
constexpr double kTransferJitter = 0.1;
constexpr double kHiccupChance = 0.002; // an op that is up to a tenth longer
constexpr int kSteps = 12;

double uniform(Random& random, double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random);
}
int pick(Random& random, int below) {
    return std::uniform_int_distribution<int>(0, below - 1)(random);
}
double jitter(Random& random, double sigma) {
    return std::exp(sigma * std::normal_distribution<double>()(random));
}

TimeNs scaled(TimeNs time, double factor) {
    return TimeNs{std::llround(static_cast<double>(time.count()) * factor)};
}

CostModel baseCosts(Random& random) {
    CostModel costs;
    const double forward = uniform(random, 2e6, 2e7);
    costs.times = makeOpTimes(TimeNs{std::llround(forward)}, TimeNs{std::llround(2 * forward)}, {}, {}).value();
    costs.comm = TimeNs{std::llround(forward * uniform(random, 0.002, 0.015))};
    return costs;
}

/// One step with noise and the fault, if it touches this step.
Result<StepTimeline> makeStep(const Schedule& schedule, const CostModel& base, const Fault& fault, int index,
                              Random& random) {
    CostModel costs = base;
    auto times = std::make_shared<MeasuredTimes>();
    const bool later = fault.kind == FaultKind::SlowRankFromStep && index >= fault.step;
    const OpGraph graph(schedule);
    const CostTable table(schedule, base);
    for (OpIndex i = 0; i < graph.size(); ++i) {
        const Rank rank = graph.rank(i);
        const Op& op = graph.op(i);
        double factor = jitter(random, kOpJitter);
        if (uniform(random, 0, 1) < kHiccupChance) factor *= uniform(random, 1, 1.1);
        if (rank == fault.rank && (fault.kind == FaultKind::SlowRank || later)) factor *= 1 + fault.size;
        if (fault.kind == FaultKind::SlowStage && rank == fault.rank && op.chunk == fault.chunk)
            factor *= 1 + fault.size;
        if (fault.kind == FaultKind::SlowOp && index == fault.step && rank == fault.rank && op == fault.op)
            factor *= 1 + fault.size;
        times->setOp(rank, op, scaled(base.opTime(op.kind, graph.stage(i)), factor));
        Transfer out;
        if (!table.leaves(graph, i, out)) continue;
        double slower = jitter(random, kTransferJitter);
        if (fault.kind == FaultKind::SlowLink && rank == fault.rank && out.to == fault.peer) slower *= 1 + fault.size;
        times->setTransfer(out.payload, out.microbatch, out.stage, out.sequence, scaled(base.comm, slower));
    }
    costs.measured = std::move(times);
    return simulate(schedule, costs);
}

void move(StepTimeline& step, const std::function<TimeNs(Rank, TimeNs)>& to) {
    const auto apply = [&](auto& lists) {
        for (std::size_t r = 0; r < lists.size(); ++r) {
            for (auto& span : lists[r]) {
                span.start = to(Rank{r}, span.start);
                span.end = to(Rank{r}, span.end);
            }
        }
    };
    apply(step.ranks);
    apply(step.comm);
    step.fitWindow();
}

/// Two ops of a rank that can change places, changed; the schedule as it was if none were found.
Schedule swapped(const Schedule& schedule, Fault& fault, Random& random) {
    for (int attempt = 0; attempt < 200; ++attempt) {
        Schedule changed = schedule;
        const Rank rank{pick(random, schedule.pp)};
        auto& ops = changed.ranks[rank.index()];
        const auto at = static_cast<std::size_t>(pick(random, static_cast<int>(ops.size()) - 1));
        if (ops[at].overlapped || ops[at + 1].overlapped) continue;
        std::swap(ops[at], ops[at + 1]);
        if (!validate(changed).empty()) continue;
        fault.rank = rank;
        fault.op = ops[at];
        return changed;
    }
    return schedule;
}

/// Ranks of the upper half ran on another host, whose clock shows more and drifts. Each rank has a file.
void putOnHosts(Run& run, double offset, double drift) {
    for (StepTimeline& step : run.steps) {
        move(step, [&](Rank rank, TimeNs time) {
            if (rank.value < run.schedule.pp / 2) return time;
            const auto t = static_cast<double>(time.count());
            return TimeNs{std::llround(t + offset + drift * t)};
        });
    }
    TraceBuilder builder;
    for (int r = 0; r < run.schedule.pp; ++r) {
        builder.addFile({"rank" + std::to_string(r), "kineto", r, r < run.schedule.pp / 2 ? "lower" : "upper"});
        const TrackId track = builder.addTrack(r, 1);
        for (const StepTimeline& step : run.steps) {
            for (const TimelineOp& op : step.ranks[Rank{r}.index()])
                builder.addSlice({track, op.start, op.duration(), builder.intern(opName(op.op)), 0, 0});
        }
    }
    DiagnosticLog log;
    run.trace = builder.finish(log);
    // The builder's times count from the first event, and so must the steps'.
    for (StepTimeline& step : run.steps)
        move(step, [&](Rank, TimeNs time) { return time - run.trace->origin(); });
}

Fault drawFault(const Schedule& schedule, FaultKind kind, Random& random) {
    Fault fault;
    fault.kind = kind;
    fault.rank = Rank{pick(random, schedule.pp)};
    fault.chunk = Chunk{pick(random, schedule.vpp)};
    fault.step = 1 + pick(random, kSteps - 1);
    fault.size = uniform(random, 0.05, 0.5);
    const auto& ops = schedule.ranks[fault.rank.index()];
    switch (kind) {
    case FaultKind::SlowRankFromStep: fault.step = 4 + pick(random, kSteps - 8); break;
    case FaultKind::SlowLink: {
        fault.size = uniform(random, 5, 60);
        const int side = fault.rank.value == 0 || (fault.rank.value + 1 < schedule.pp && pick(random, 2) == 0) ? 1 : -1;
        fault.peer = Rank{fault.rank.value + side};
        break;
    }
    case FaultKind::SlowOp:
        fault.size = uniform(random, 0.5, 4);
        do {
            fault.op = ops[static_cast<std::size_t>(pick(random, static_cast<int>(ops.size())))];
        } while (fault.op.overlapped);
        break;
    case FaultKind::DroppedRecord:
        fault.op = ops[static_cast<std::size_t>(pick(random, static_cast<int>(ops.size())))];
        break;
    case FaultKind::SkewedClock: fault.size = (pick(random, 2) == 0 ? 1 : -1) * uniform(random, 5e5, 2e8); break;
    default: break;
    }
    return fault;
}

} // namespace

Job makeJob(const ScheduleSpec& spec, FaultKind kind, std::uint64_t seed) {
    Random random(seed);
    Job job;
    job.run.schedule = makeSchedule(spec).value();
    const Schedule& schedule = job.run.schedule;
    const CostModel base = baseCosts(random);
    job.fault = drawFault(schedule, kind, random);
    Schedule wrong = kind == FaultKind::WrongOrder ? swapped(schedule, job.fault, random) : schedule;
    const Fault none;
    TimeNs begin{0};
    double with = 0;
    double without = 0;
    for (int i = 0; i < kSteps; ++i) {
        Random same = random; // the same noise with the fault and without
        const Schedule& order = kind == FaultKind::WrongOrder && i == job.fault.step ? wrong : schedule;
        StepTimeline step = makeStep(order, base, job.fault, i, random).value();
        const auto clean = makeStep(order, base, none, i, same).value();
        const bool touched = kind == FaultKind::SlowOp             ? i == job.fault.step
                             : kind == FaultKind::SlowRankFromStep ? i >= job.fault.step
                                                                   : true;
        if (touched) {
            with += static_cast<double>(step.wall().count());
            without += static_cast<double>(clean.wall().count());
        }
        step.index = i;
        const TimeNs wall = step.wall();
        move(step, [&](Rank, TimeNs time) { return time + begin; });
        begin += wall + base.times.forward;
        if (kind == FaultKind::DroppedRecord && i == job.fault.step) {
            std::erase_if(step.ranks[job.fault.rank.index()],
                          [&](const TimelineOp& op) { return op.op == job.fault.op; });
            step.fitWindow();
        }
        job.run.steps.push_back(std::move(step));
    }
    job.cost = without > 0 ? with / without - 1 : 0;
    const bool several_hosts = kind == FaultKind::SkewedClock || (kind == FaultKind::None && seed % 4 == 0);
    if (several_hosts)
        putOnHosts(job.run, kind == FaultKind::SkewedClock ? job.fault.size : 0,
                   kind == FaultKind::SkewedClock ? uniform(random, -50e-6, 50e-6) : 0);
    return job;
}

bool blames(const Anomaly& anomaly, const Job& job) {
    const Fault& fault = job.fault;
    const bool of_rank = anomaly.rank == fault.rank;
    const bool of_stage = anomaly.kind == AnomalyKind::SlowStage || anomaly.kind == AnomalyKind::LastStageImbalance;
    switch (fault.kind) {
    case FaultKind::None: return false;
    case FaultKind::SlowRank: return of_rank && (of_stage || anomaly.kind == AnomalyKind::Straggler);
    case FaultKind::SlowRankFromStep: return of_rank && (of_stage || anomaly.kind == AnomalyKind::Straggler);
    case FaultKind::SlowLink: return of_rank && anomaly.kind == AnomalyKind::SlowLink && anomaly.peer == fault.peer;
    case FaultKind::SlowOp:
        return of_rank && anomaly.kind == AnomalyKind::SlowOp && anomaly.step == fault.step && anomaly.op == fault.op;
    case FaultKind::WrongOrder:
        return of_rank && anomaly.kind == AnomalyKind::OrderDeparture && anomaly.step == fault.step &&
               anomaly.op == fault.op;
    case FaultKind::DroppedRecord:
        return of_rank && anomaly.kind == AnomalyKind::MissingOp && anomaly.step == fault.step &&
               anomaly.op == fault.op;
    case FaultKind::SkewedClock:
        return anomaly.kind == AnomalyKind::ClockSkew && anomaly.rank && anomaly.rank->value >= job.run.schedule.pp / 2;
    case FaultKind::SlowStage: return of_rank && of_stage && anomaly.chunk == fault.chunk;
    }
    return false;
}

} // namespace bubblescope::campaign
