// Flipped bits and runs that check themselves: every one in covered work must be found and its place named, and clean
// runs must raise no alarm. The host's time passes only during sleeps, so that runs are exact and fast.

#include "core/families/no_flush.h"
#include "core/families/registry.h"
#include "core/timeline/checks.h"
#include "runtime/faults/fault.h"
#include "tests/unit/runtime/checked_engine_run.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <random>
#include <set>

namespace bubblescope::campaign {
namespace {

using profiler::SliceRecord;
using runtime::test::CheckedEngineRun;
using Random = std::mt19937_64;

/// As in the other campaigns: BUBBLESCOPE_CAMPAIGN=full takes many runs of each kind.
bool full() {
    const char* const size = std::getenv("BUBBLESCOPE_CAMPAIGN");
    return size != nullptr && std::string_view(size) == "full";
}

constexpr int kRanks = 4;
constexpr int kMicrobatches = 8;
constexpr int kLayers = 2; ///< blocks of a stage

std::vector<Schedule> everySchedule() {
    std::vector<Schedule> all;
    for (const ScheduleFamily& family : scheduleFamilies()) {
        if (trainsWithDelay(family.name)) continue; // runs of these have no checks
        const std::vector<std::string_view> only{""};
        for (const std::string_view flavor : family.flavors.empty() ? only : family.flavors) {
            ScheduleSpec spec{std::string(family.name), std::string(flavor), kRanks, kMicrobatches, 1};
            auto made = makeSchedule(spec);
            for (const auto& [microbatches, vpp] :
                 {std::pair{kMicrobatches, 2}, {kRanks, 1}, {kRanks, 2}, {3 * kRanks, 2}}) {
                if (made.ok()) break;
                spec.microbatches = microbatches;
                spec.vpp = vpp;
                made = makeSchedule(spec);
            }
            EXPECT_TRUE(made.ok()) << family.name;
            if (made.ok()) all.push_back(std::move(made).value());
        }
    }
    return all;
}

std::unique_ptr<CheckedEngineRun> train(const Schedule& schedule, int steps, const std::vector<std::string>& faults) {
    auto run = std::make_unique<CheckedEngineRun>(schedule, runtime::test::someTimes(TimeNs{100'000}));
    run->model.layers_per_stage = kLayers;
    run->steps = steps;
    run->aadiff.emplace();
    for (const std::string& fault : faults)
        run->faults.push_back(runtime::parseFault(fault).value());
    const auto result = run->run();
    EXPECT_TRUE(result.ok()) << (faults.empty() ? "" : faults.front()) << ": " << result.error().text();
    return run;
}

struct Done {
    Rank rank;
    CheckRecord check;
};

/// The compared ops: equal or not.
std::vector<Done> checksOf(const CheckedEngineRun& run) {
    std::vector<Done> all;
    for (std::size_t r = 0; r < run.records.size(); ++r) {
        for (const SliceRecord& record : run.records[r]) {
            if (record.category == SliceRecord::Category::Check && record.outcome == CheckOutcome::Equal)
                all.push_back({Rank{r}, record.asCheck()});
        }
    }
    for (const CheckRecord& check : run.mismatches)
        all.push_back({check.rank, check});
    return all;
}

struct OpTime {
    TimeNs start{0};
    TimeNs end{0};
};

OpTime timeOf(const CheckedEngineRun& run, Rank rank, const Op& op, int step) {
    for (const SliceRecord& record : run.records[rank.index()]) {
        if (record.category == SliceRecord::Category::Op && record.step == step &&
            opName(record.asOp().op) == opName(op) && record.sequence == op.sequence)
            return {record.start, record.end};
    }
    return {};
}

enum class Where { Transient, Replay, Sticky, Fixed, Transfer, Weights };
constexpr int kWheres = 6;
constexpr std::array<const char*, kWheres> kNames{"compute, transient", "compute, in the replay",
                                                  "compute, sticky",    "compute, same bit each time",
                                                  "transfer",           "weights at rest"};

struct Row {
    int planted = 0;
    int covered = 0;
    int found = 0;
    int placed = 0;
    int verdict = 0;
    int elsewhere = 0; ///< found though not covered
};

/// Tensors of at least 16 numbers, so that a fault that moves hardly strikes the same one twice.
std::string tensorFor(OpKind kind, int layer, int head, Random& random) {
    const auto pick = [&](std::vector<std::string> names) { return names[random() % names.size()]; };
    const bool block = layer > 0 && layer < head;
    switch (kind) {
    case OpKind::Forward:
        if (layer == head) return pick({"normalised", "logits-gradient"});
        return block ? pick({"normalised", "columns", "attended", "hidden", "output"}) : "output";
    case OpKind::Backward:
    case OpKind::BackwardInput:
        return block ? pick({"hidden-gradient", "attended-gradient", "columns-gradient", "input-gradient"})
                     : "input-gradient";
    default: return "weight-gradient";
    }
}

class Campaign {
public:
    explicit Campaign(std::uint64_t seed) : random_(seed), schedules_(everySchedule()) {}

    void plant(Where where) {
        const Schedule& schedule = schedules_[random_() % schedules_.size()];
        const auto clean = cleanRun(schedule);
        const int head = clean->checks->headLayer();
        const Rank rank{random_() % kRanks};
        const auto& list = schedule.ranks[rank.index()];
        Op op = list[random_() % list.size()];
        const int step = static_cast<int>(random_() % static_cast<unsigned>(kSteps));
        const LayerRangeOf layers = clean->checks->layersOf(schedule.stageOf(rank, op.chunk));
        const int layer = layers.first + static_cast<int>(random_() % static_cast<unsigned>(layers.count));
        const std::string tensor = tensorFor(op.kind, layer, head, random_);
        const int bit = static_cast<int>(random_() % (16 * 32));
        std::string text = fmt::format("flip:{},rank={},step={},layer={},tensor={},bit={}", opName(op), rank.value,
                                       step, layer, tensor, bit);
        if (where == Where::Replay) text += ",stay=replay";
        if (where == Where::Sticky || where == Where::Fixed) {
            text =
                fmt::format("flip:{}.{},rank={},layer={},tensor={},bit={},stay={}", opLetter(op.kind), op.chunk.value,
                            rank.value, layer, tensor, bit, where == Where::Sticky ? "sticky" : "fixed");
        }
        if (where == Where::Transfer) {
            if (!takesFromAnother(schedule, rank, op)) return plant(where);
            text = fmt::format("flip:{},rank={},step={},tensor=in,bit={}", opName(op), rank.value, step, bit);
        }
        if (where == Where::Weights)
            text = fmt::format("flip:{},rank={},step={},layer={},tensor=weights,bit={}", opName(op), rank.value, step,
                               layer, bit);
        const auto run = train(schedule, kSteps, {text});
        Row& row = rows_[where];
        ++row.planted;
        const auto same = [&](const CheckRecord& check) {
            return check.op.kind == op.kind && check.op.chunk == op.chunk && check.op.microbatch == op.microbatch &&
                   check.op.sequence == op.sequence;
        };
        const auto alike = [&](const CheckRecord& check) {
            return check.op.kind == op.kind && check.op.chunk == op.chunk && check.layer == layer;
        };
        const OpTime struck = timeOf(*run, rank, op, step);
        const auto covers = [&](const Done& done) {
            if (!(done.rank == rank)) return false;
            switch (where) {
            case Where::Transient:
            case Where::Replay: {
                const bool by_other =
                    where == Where::Transient && done.check.kind == CheckKind::Elsewhere && strikes(done, tensor);
                return (by_other || done.check.kind == CheckKind::Replay) && done.check.step == step &&
                       same(done.check) && done.check.layer == layer;
            }
            case Where::Sticky: return done.check.kind == CheckKind::Replay && alike(done.check);
            case Where::Fixed:
                return done.check.kind == CheckKind::Elsewhere && alike(done.check) && strikes(done, tensor);
            case Where::Transfer:
                return done.check.kind == CheckKind::Transfer && done.check.step == step && same(done.check);
            case Where::Weights:
                return done.check.kind == CheckKind::Weights && done.check.step == step && done.check.layer == layer &&
                       done.check.start >= struck.start;
            }
            return false;
        };
        // Which rank repeats which ops depends on chance, so the run itself states what is covered: a check that found
        // equality where the fault struck has missed it.
        const bool covered = std::ranges::any_of(checksOf(*run), covers);
        row.covered += covered ? 1 : 0;
        if (run->mismatches.empty()) {
            if (where == Where::Sticky) return; // by chance it struck the same number twice: 1 of 16
            EXPECT_FALSE(covered) << schedule.name << " " << schedule.flavor << ": missed " << text;
            return;
        }
        ++(covered ? row.found : row.elsewhere);
        std::string plain = tensor;
        std::ranges::replace(plain, '-', ' ');
        const auto places = [&](const CheckRecord& check) {
            if (where == Where::Weights && check.kind == CheckKind::Replicas) return true; // copies part, too
            const bool here = check.rank == rank;
            if (where == Where::Transfer) return here && same(check) && check.step == step;
            if (where == Where::Weights) return here && check.layer == layer && check.step == step;
            if (!here || !alike(check) || check.tensor != plain) return false;
            if (where == Where::Sticky) return check.difference && check.difference->differing >= 1;
            const bool exact = check.difference && check.difference->differing == 1 &&
                               check.difference->first == bit / 32 &&
                               (check.difference->first_bits ^ check.difference->second_bits) == 1ULL << (bit % 32);
            return exact && (where == Where::Fixed || (same(check) && check.step == step));
        };
        const auto right = [&](const CheckRecord& check) {
            switch (where) {
            case Where::Transient:
            case Where::Replay: return check.verdict == Verdict::Transient;
            case Where::Sticky:
            case Where::Fixed:
            case Where::Weights: return check.verdict == Verdict::Device;
            case Where::Transfer: return check.verdict == Verdict::Open;
            }
            return false;
        };
        if (!covered) return;
        const bool placed = std::ranges::all_of(run->mismatches, places);
        row.placed += placed ? 1 : 0;
        row.verdict += std::ranges::any_of(run->mismatches, right) ? 1 : 0;
        for (const CheckRecord& check : run->mismatches) {
            EXPECT_TRUE(places(check)) << schedule.name << " " << schedule.flavor << ", " << text << ": "
                                       << checkKindName(check.kind) << " rank " << check.rank.value << " step "
                                       << check.step << " " << opName(check.op) << " layer " << check.layer << " "
                                       << check.tensor;
        }
        if (where == Where::Transient && run->mismatches.front().kind == CheckKind::Replay)
            latency(*run, rank, struck, step, op, layer);
    }

    void print() const {
        fmt::print("{:<28} {:>8} {:>8} {:>8} {:>8} {:>8} {:>12}\n", "flips", "planted", "covered", "found", "placed",
                   "verdict", "found beside");
        Row all;
        for (const auto& [where, row] : rows_) {
            fmt::print("{:<28} {:>8} {:>8} {:>8} {:>8} {:>8} {:>12}\n", kNames[static_cast<std::size_t>(where)],
                       row.planted, row.covered, row.found, row.placed, row.verdict, row.elsewhere);
            all.planted += row.planted;
            all.covered += row.covered;
            all.found += row.found;
            all.placed += row.placed;
            all.verdict += row.verdict;
            all.elsewhere += row.elsewhere;
        }
        fmt::print("{:<28} {:>8} {:>8} {:>8} {:>8} {:>8} {:>12}\n", "all", all.planted, all.covered, all.found,
                   all.placed, all.verdict, all.elsewhere);
        if (latencies_.empty()) return;
        std::vector<std::pair<double, double>> sorted = latencies_;
        std::ranges::sort(sorted);
        const auto& median = sorted[sorted.size() / 2];
        fmt::print("latency from the op's end to the check's, median {:.2f} ms, planned {:.2f} ms; longest {:.2f} ms\n",
                   median.first, median.second, sorted.back().first);
    }

    [[nodiscard]] const std::map<Where, Row>& rows() const { return rows_; }
    [[nodiscard]] bool latenciesAsPlanned() const {
        // A plan counts each check's margin, also of those before it in the slot.
        return std::ranges::all_of(latencies_, [](const auto& one) { return one.first <= one.second + 1e-6; });
    }

private:
    static constexpr int kSteps = 3;
    using LayerRangeOf = runtime::LayerRange;

    /// A whole backward is offered to others by its halves.
    static bool strikes(const Done& done, const std::string& tensor) {
        if (done.check.op.kind != OpKind::Backward) return true;
        return (done.check.tensor == "weight gradient") == (tensor == "weight-gradient");
    }

    static bool takesFromAnother(const Schedule& schedule, Rank rank, const Op& op) {
        const bool forward = op.kind == OpKind::Forward;
        if (!forward && !producesInputGradient(op.kind)) return false;
        const int apart = routes(schedule.placement);
        const int from = schedule.stageOf(rank, op.chunk).value + (forward ? -apart : apart);
        if (from < 0 || from >= schedule.stages()) return false;
        return !(locate(schedule.placement, schedule.pp, Stage{from}).rank == rank);
    }

    const CheckedEngineRun* cleanRun(const Schedule& schedule) {
        auto& run = clean_[schedule.name + "/" + schedule.flavor];
        if (!run) {
            run = train(schedule, kSteps, {});
            EXPECT_TRUE(run->mismatches.empty()) << schedule.name;
        }
        return run.get();
    }

    /// From the end of the struck op to that of the check, and as the plan has it.
    void latency(const CheckedEngineRun& run, Rank rank, OpTime struck, int step, const Op& op, int layer) {
        const AadiffStudy& study = run.checks->study;
        const RankPlan& plan = study.plan().ranks[rank.index()];
        for (const PlannedCheck& check : plan.steps[static_cast<std::size_t>(step) % plan.steps.size()]) {
            const TimelineOp& timed = study.timeline().ranks[rank.index()][check.op];
            const int first = run.checks->layersOf(run.schedule.stageOf(rank, op.chunk)).first;
            const bool same = opName(timed.op) == opName(op) && timed.op.sequence == op.sequence;
            if (!same || first + plan.units[check.unit].layer != layer) continue;
            const TimeNs repeats = 2 * plan.units[check.unit].cost; // by which a mismatch is settled
            const TimeNs took = run.mismatches.front().end - repeats - struck.end;
            latencies_.emplace_back(static_cast<double>(took.count()) / 1e6,
                                    static_cast<double>((check.end - timed.end).count()) / 1e6);
        }
    }

    Random random_;
    std::vector<Schedule> schedules_;
    std::map<std::string, std::unique_ptr<CheckedEngineRun>> clean_;
    std::map<Where, Row> rows_;
    std::vector<std::pair<double, double>> latencies_;
};

TEST(AadiffCampaign, FindsEveryFlipInCoveredWorkAndNamesItsPlace) {
    const int flips = full() ? 220 : 12; // of each kind
    Campaign campaign(11);
    for (int where = 0; where < kWheres; ++where) {
        for (int i = 0; i < flips; ++i)
            campaign.plant(static_cast<Where>(where));
    }
    campaign.print();
    for (const auto& [where, row] : campaign.rows()) {
        // A moving fault may by chance strike the same number twice, so that both executions agree.
        const double least = where == Where::Sticky ? 0.95 : 1;
        EXPECT_GE(row.found, least * row.covered) << kNames[static_cast<std::size_t>(where)];
        EXPECT_EQ(row.placed, row.found) << kNames[static_cast<std::size_t>(where)];
    }
    EXPECT_TRUE(campaign.latenciesAsPlanned());
}

TEST(AadiffCampaign, RaisesNoAlarmInCleanRuns) {
    const int steps = full() ? 4 : 1;
    std::map<CheckKind, int> compared;
    int alarms = 0;
    for (const Schedule& schedule : everySchedule()) {
        const auto run = train(schedule, steps, {});
        alarms += static_cast<int>(run->mismatches.size());
        for (const Done& done : checksOf(*run))
            ++compared[done.check.kind];
    }
    int all = 0;
    for (const auto& [kind, count] : compared) {
        fmt::print("{:<14} {:>7}\n", checkKindName(kind), count);
        all += count;
    }
    fmt::print("clean checks: {}, alarms: {}\n", all, alarms);
    EXPECT_EQ(alarms, 0);
    EXPECT_GE(all, full() ? 10'000 : 2'500);
}

TEST(AadiffCampaign, TellsCodeThatIsNotDeterministicFromHardware) {
    const int runs = full() ? 40 : 4;
    Random random(5);
    int everywhere = 0;
    int device = 0;
    for (int i = 0; i < runs; ++i) {
        const auto schedules = everySchedule();
        const Schedule& schedule = schedules[random() % schedules.size()];
        const int layer = 1 + static_cast<int>(random() % static_cast<unsigned>(schedule.stages() /
                                                                                routes(schedule.placement) * kLayers));
        const auto run = train(schedule, 2, {fmt::format("nondet:F,layer={},tensor=hidden", layer)});
        const bool covered = std::ranges::any_of(checksOf(*run), [&](const Done& done) {
            return done.check.kind == CheckKind::Replay && done.check.op.kind == OpKind::Forward &&
                   done.check.layer == layer;
        });
        EXPECT_TRUE(!covered || !run->mismatches.empty()) << schedule.name << " layer " << layer;
        for (const CheckRecord& check : run->mismatches) {
            everywhere += check.verdict == Verdict::Everywhere ? 1 : 0;
            device += check.verdict == Verdict::Device ? 1 : 0;
        }
    }
    fmt::print("not deterministic: {} verdicts say everywhere, {} device\n", everywhere, device);
    EXPECT_GT(everywhere, 0);
}

} // namespace
} // namespace bubblescope::campaign
