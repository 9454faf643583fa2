// The way of kernels from a device to the analysis, with a stand-in for CUPTI and an emulated device: what CUPTI
// reports goes into the traces of the ranks that launched it, and ops take their times from it.

#include "core/analysis/devices/device_summary.h"
#include "core/analysis/steps/run_analyzer.h"
#include "core/recognise/run.h"
#include "core/report/json.h"
#include "core/report/results/analysis.h"
#include "core/trace/trace.h"
#include "profiler/kernels/kernel_recorder.h"
#include "tests/gpu/cupti_run.h"
#include "tests/support/cupti_layout.h"
#include "tests/support/scratch_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dlfcn.h>
#include <sys/wait.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <tuple>

namespace bubblescope::runtime::test {
namespace {

using bubblescope::test::CuptiObserver;
using bubblescope::test::cupti::Delivery;
using testing::Contains;
using testing::HasSubstr;

std::shared_ptr<CuptiObserver> standIn() {
    static const auto cupti = std::make_shared<CuptiObserver>(BUBBLESCOPE_STAND_IN);
    cupti->deliver({});
    return cupti;
}

/// A run that was recorded and loaded again.
struct Recorded {
    bubblescope::test::ScratchFolder folder;
    RunSummary summary;
    bubblescope::Run run;
    std::int64_t ran = 0;   ///< by the device, while the run was recorded
    TimeNs clock_error{0};  ///< the most by which the device's times were put wrong on the host's clock
    std::string no_kernels; ///< why none were recorded
};

std::unique_ptr<Recorded> record(const CuptiRunConfig& what, const Delivery& delivery = {}, bool kernels = true) {
    auto recorded = std::make_unique<Recorded>();
    const auto cupti = standIn();
    cupti->deliver(delivery);
    CuptiRun made(cupti, what, recorded->folder.path() / "run");
    if (kernels) made.config.kernels = profiler::KernelRecorder::start(recorded->no_kernels);
    JobControl control;
    Result<RunSummary> summary = runPipeline(made.config, control);
    if (!summary.ok()) throw std::runtime_error(summary.error().text());
    recorded->summary = std::move(summary).value();
    recorded->ran = made.observer->count;
    recorded->clock_error = made.clock->longest();
    Result<bubblescope::Run> run = loadRun({made.config.out_dir}, control);
    if (!run.ok()) throw std::runtime_error(run.error().text());
    recorded->run = std::move(run).value();
    return recorded;
}

bool onDevice(std::string_view category) {
    return category == "kernel" || category == "gpu_memcpy" || category == "gpu_memset";
}

/// The slices of devices: process, track, op ("" outside of ops) and step.
using Work = std::tuple<std::string, std::string, std::string, std::int64_t>;
std::map<Work, int> workIn(const Trace& trace) {
    std::map<Work, int> found;
    for (const Track& track : trace.tracks()) {
        for (SliceId slice = track.first_slice; slice < track.end_slice; ++slice) {
            if (!onDevice(trace.category(slice))) continue;
            const ArgSetId args = trace.sliceArgs()[slice];
            ++found[{std::string(trace.text(track.process_name)), std::string(trace.text(track.thread_name)),
                     trace.textArg(args, "op").value_or(""), trace.intArg(args, "step").value_or(-1)}];
        }
    }
    return found;
}

std::int64_t total(const std::map<Work, int>& work) {
    std::int64_t sum = 0;
    for (const auto& [what, count] : work)
        sum += count;
    return sum;
}

TEST(CuptiRun, KernelsLieUnderTheRankThatLaunchedThem) {
    const auto recorded = record({});
    EXPECT_EQ(recorded->no_kernels, "");
    ASSERT_TRUE(recorded->summary.kernels);
    EXPECT_EQ(recorded->summary.kernels->work, recorded->ran);
    EXPECT_EQ(recorded->summary.kernels->foreign, 0);
    EXPECT_EQ(recorded->summary.kernels->lost, 0);
    const std::map<Work, int> work = workIn(*recorded->run.trace);
    EXPECT_EQ(total(work), recorded->ran);
    std::set<std::string> ranks;
    std::set<std::string> rows;
    for (const auto& [what, count] : work) {
        const auto& [process, row, op, step] = what;
        ranks.insert(process);
        rows.insert(row);
        EXPECT_TRUE(row.starts_with("stream: ")) << row;
        EXPECT_TRUE(op.empty() || row == "stream: compute") << op << " on " << row;
        EXPECT_TRUE(row != "stream: incoming activations" || op.empty())
            << "a transfer is not part of the op behind it";
    }
    EXPECT_THAT(ranks, testing::ElementsAre("rank 0", "rank 1", "rank 2", "rank 3"));
    EXPECT_THAT(
        rows, testing::IsSupersetOf({"stream: compute", "stream: incoming activations", "stream: incoming gradients"}));
    // Each rank's ops alone, each in every step, with as many kernels as in the others.
    const Schedule& schedule = recorded->run.schedule;
    for (int r = 0; r < schedule.pp; ++r) {
        for (const Op& op : schedule.ranks[static_cast<std::size_t>(r)]) {
            const std::string process = "rank " + std::to_string(r);
            std::set<int> counts;
            for (std::int64_t step = 0; step < 3; ++step) {
                const auto found = work.find({process, "stream: compute", opName(op), step});
                ASSERT_NE(found, work.end()) << process << ", " << opName(op) << ", step " << step;
                counts.insert(found->second);
            }
            EXPECT_EQ(counts.size(), 1U) << opName(op);
        }
    }
    std::set<std::string> calls;
    for (SliceId slice = 0; slice < recorded->run.trace->sliceCount(); ++slice) {
        if (recorded->run.trace->category(slice) == "cuda_runtime")
            calls.insert(std::string(recorded->run.trace->name(slice)));
    }
    EXPECT_THAT(calls, testing::IsSupersetOf({"cudaLaunchKernel", "cudaMemcpyAsync"}));
    EXPECT_FALSE(calls.contains("cudaGetLastError")) << "calls that only query would be most records";
}

TEST(CuptiRun, OpsLastFromTheirFirstKernelToTheirLast) {
    for (const TimeNs launch : {TimeNs{0}, TimeNs{50'000}}) {
        CuptiRunConfig what;
        what.launch_time = launch;
        const auto recorded = record(what);
        const TimeNs each = launch > what.kernel_time ? launch - what.kernel_time : TimeNs{0};
        std::map<std::pair<int, std::string>, int> kernels;
        for (const auto& [work, count] : workIn(*recorded->run.trace)) {
            const auto& [process, row, op, step] = work;
            if (step == 1) kernels[{process.back() - '0', op}] += count;
        }
        ASSERT_EQ(recorded->run.steps.size(), 3U);
        const StepTimeline& step = recorded->run.steps[1];
        int looked_at = 0;
        for (int r = 0; r < step.pp; ++r) {
            for (const TimelineOp& op : step.ranks[static_cast<std::size_t>(r)]) {
                const int count = kernels.at({r, opName(op.op)});
                ASSERT_GT(count, 3);
                if (launch == TimeNs{0}) {
                    EXPECT_EQ(step.detailsOf(op).device_idle, TimeNs{0}) << opName(op.op);
                } else {
                    EXPECT_LE(step.detailsOf(op).device_idle, (count - 1) * launch) << opName(op.op);
                }
                // Ops that wait for another rank have been launched by then; the step's first op does not wait.
                if (r == 0 && opName(op.op) == "F0.0") {
                    EXPECT_GE(step.detailsOf(op).device_idle, (count - 1) * each);
                }
                ++looked_at;
            }
        }
        EXPECT_GT(looked_at, 48);
    }
}

TEST(CuptiRun, AnalyzeTellsLaunchBoundOps) {
    const auto gapsOf = [](TimeNs launch) {
        CuptiRunConfig what;
        what.launch_time = launch;
        what.steps = 4;
        auto recorded = record(what);
        Result<DiagnosedRun> diagnosed = diagnoseRun(std::move(recorded->run));
        if (!diagnosed.ok()) throw std::runtime_error(diagnosed.error().text());
        TimeNs gaps{0};
        for (const StepAccounting& step : diagnosed.value().report.accounts) {
            for (const RankAccounting& rank : step.ranks)
                gaps += rank.causes[indexOf(Cause::Gaps)];
        }
        return gaps;
    };
    EXPECT_EQ(gapsOf(TimeNs{0}), TimeNs{0});
    EXPECT_GT(gapsOf(TimeNs{60'000}), TimeNs{1'000'000});
}

TEST(CuptiRun, EventsAreASecondWitness) {
    const auto recorded = record({});
    const auto& timing = recorded->run.timing;
    ASSERT_TRUE(timing);
    EXPECT_EQ(timing->by_events, 0);
    EXPECT_EQ(timing->ops, 3 * (4 * 2 * 6 + 4)) << "with an optimizer op for each rank and step";
    // Both are put on the host's clock by readings around an event; they differ by no more than these are apart.
    EXPECT_LE(timing->farthest, recorded->clock_error + TimeNs{1});
    EXPECT_GE(timing->begin, -recorded->clock_error);
    report::AnalysisOptions options;
    options.reader = report::Reader::Programs;
    Result<DiagnosedRun> diagnosed = diagnoseRun(std::move(recorded->run));
    ASSERT_TRUE(diagnosed.ok());
    const std::string json =
        report::toJson(report::analysisDocument(diagnosed.value().run, diagnosed.value().report, options));
    EXPECT_THAT(json, HasSubstr("\"kernel_timing\""));
}

TEST(CuptiRun, EveryFamilysOpsHaveTheirKernels) {
    struct Case {
        const char* family;
        int vpp;
        int tensor_ranks;
        int replicas;
    };
    for (const Case& each : {Case{"interleaved", 2, 1, 1}, Case{"zb-h1", 1, 1, 1}, Case{"dualpipe", 2, 1, 1},
                             Case{"1f1b-overlap", 1, 1, 1}, Case{"1f1b", 1, 2, 1}, Case{"1f1b", 1, 1, 2}}) {
        SCOPED_TRACE(each.family);
        CuptiRunConfig what;
        what.family = each.family;
        what.microbatches = 8;
        what.vpp = each.vpp;
        what.tensor_ranks = each.tensor_ranks;
        what.replicas = each.replicas;
        what.steps = 2;
        const auto recorded = record(what);
        ASSERT_TRUE(recorded->run.timing);
        EXPECT_EQ(recorded->run.timing->by_events, 0);
        EXPECT_EQ(recorded->summary.kernels->work, recorded->ran);
        EXPECT_EQ(recorded->summary.kernels->foreign, 0);
        EXPECT_EQ(total(workIn(*recorded->run.trace)), recorded->ran);
        for (const StepTimeline& step : recorded->run.steps) {
            for (const auto& rank : step.ranks) {
                for (const TimelineOp& op : rank) {
                    const OpDetails& details = step.detailsOf(op);
                    EXPECT_LE(details.device_idle + details.exposed_comm, op.duration()) << opName(op.op);
                }
            }
        }
    }
}

TEST(CuptiRun, PacedOpsLastUntilTheirHoldEnds) {
    CuptiRunConfig what;
    what.forward = std::chrono::milliseconds(2);
    const auto recorded = record(what);
    ASSERT_TRUE(recorded->run.timing);
    const StepTimeline& step = recorded->run.steps.back();
    for (const TimelineOp& op : step.ranks[1]) {
        if (op.op.kind == OpKind::Optimizer) continue;
        const TimeNs nominal = *what.forward * (op.op.kind == OpKind::Forward ? 1 : 2);
        EXPECT_NEAR(static_cast<double>(op.duration().count()), static_cast<double>(nominal.count()), 1000.0)
            << opName(op.op);
        EXPECT_EQ(step.detailsOf(op).device_idle, TimeNs{0});
    }
}

TEST(CuptiRun, GraphsAreAttributedByTheirLaunch) {
    CuptiRunConfig what;
    what.graphs = true;
    const auto recorded = record(what);
    EXPECT_EQ(recorded->summary.kernels->work, recorded->ran);
    EXPECT_EQ(recorded->run.timing->by_events, 0);
    const Trace& trace = *recorded->run.trace;
    int in_graphs = 0;
    for (SliceId slice = 0; slice < trace.sliceCount(); ++slice)
        in_graphs += trace.category(slice) == "kernel" && trace.intArg(trace.sliceArgs()[slice], "graph id") ? 1 : 0;
    EXPECT_GT(in_graphs, recorded->ran / 2);
}

TEST(CuptiRun, BuffersMayComeLateAndInAnyOrder) {
    const auto in_order = record({});
    // Buffers as small as possible: on a busy machine none of them may be free again before the run ends, and records
    // without a buffer are lost. A call has two records, with its label.
    const profiler::KernelCounts counts = *in_order->summary.kernels;
    const auto all = static_cast<std::size_t>(counts.work + 2 * counts.calls);
    for (const std::size_t buffers : {profiler::cupti::Collector::kBuffers * 3 / 4, std::size_t{20}, std::size_t{6}}) {
        const std::size_t records = all / buffers + 1;
        const auto recorded = record({}, {records, 0, true});
        EXPECT_EQ(recorded->summary.kernels->lost, 0);
        EXPECT_EQ(recorded->summary.kernels->work, recorded->ran);
        EXPECT_EQ(recorded->summary.kernels->foreign, 0);
        EXPECT_THAT(workIn(*recorded->run.trace), testing::ContainerEq(workIn(*in_order->run.trace))) << records;
        ASSERT_TRUE(recorded->run.timing);
        EXPECT_EQ(recorded->run.timing->by_events, 0);
    }
}

TEST(CuptiRun, LostBuffersAreCountedAndTheRestIsTrue) {
    const auto whole = record({});
    const std::map<Work, int> all = workIn(*whole->run.trace);
    const auto recorded = record({}, {40, 3, false});
    EXPECT_GT(recorded->summary.kernels->lost, 0);
    EXPECT_LT(recorded->summary.kernels->work, recorded->ran);
    for (const auto& [work, count] : workIn(*recorded->run.trace)) {
        const auto& [process, row, op, step] = work;
        if (op.empty()) continue; // of calls whose records were lost, too: the stream tells the rank, not the op
        const auto known = all.find(work);
        ASSERT_NE(known, all.end()) << op;
        EXPECT_LE(count, known->second);
    }
    const Schedule& schedule = recorded->run.schedule;
    EXPECT_EQ(schedule.name, "1f1b") << "ops are there whatever becomes of kernels";
}

TEST(CuptiRun, AnotherHolderIsNamedAndEventsDo) {
    const auto cupti = standIn();
    using Subscribe = int (*)(void**, void*, void*, bubblescope::test::cupti::SubscriberParameters*);
    bubblescope::test::cupti::SubscriberParameters other{sizeof other, "Some Tool", nullptr, 0};
    void* subscriber = nullptr;
    ASSERT_EQ(cupti->function<Subscribe>("cuptiSubscribe_v2")(&subscriber, nullptr, nullptr, &other), 0);
    const auto recorded = record({});
    EXPECT_EQ(cupti->function<int (*)(void*)>("cuptiUnsubscribe")(subscriber), 0);
    EXPECT_THAT(recorded->no_kernels, HasSubstr("CUPTI for Some Tool"));
    EXPECT_FALSE(recorded->summary.kernels);
    EXPECT_FALSE(recorded->run.timing);
    EXPECT_EQ(recorded->run.steps.size(), 3U);
    EXPECT_TRUE(workIn(*recorded->run.trace).empty());
}

// A driver of CUDA 12 next to a libcupti.so.13: it loads, but does not start.
TEST(CuptiRun, ALibraryThatTheDriverRefusesIsFollowedByTheNext) {
    constexpr int kNotCompatible = 41;
    const auto cupti = standIn();
    const bubblescope::test::ScratchFolder folder;
    const std::string newer = (folder.path() / "libcupti.so.13").string();
    std::filesystem::copy_file(BUBBLESCOPE_STAND_IN, newer);
    void* const library = ::dlopen(newer.c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr);
    const auto refuse = reinterpret_cast<bubblescope::test::cupti::RefuseFunction>(::dlsym(library, "standInRefuse"));
    ASSERT_NE(refuse, nullptr);
    refuse(kNotCompatible);
    ::setenv("BUBBLESCOPE_CUPTI", (newer + ":/nowhere/libcupti.so:" BUBBLESCOPE_STAND_IN).c_str(), 1);
    const auto recorded = record({});
    ::setenv("BUBBLESCOPE_CUPTI", (newer + ":/nowhere/libcupti.so").c_str(), 1);
    std::string reason;
    EXPECT_EQ(profiler::KernelRecorder::start(reason), nullptr);
    ::setenv("BUBBLESCOPE_CUPTI", BUBBLESCOPE_STAND_IN, 1);
    EXPECT_EQ(recorded->no_kernels, "");
    ASSERT_TRUE(recorded->summary.kernels);
    EXPECT_EQ(recorded->summary.kernels->work, recorded->ran);
    EXPECT_EQ(reason, "kernels are not recorded: cannot start CUPTI: " + newer + ": the stand-in refuses");
}

TEST(CuptiRun, WithoutKernelsTheTraceHoldsOpsAlone) {
    const auto recorded = record({}, {}, false);
    EXPECT_FALSE(recorded->summary.kernels);
    EXPECT_TRUE(workIn(*recorded->run.trace).empty());
    EXPECT_EQ(recorded->run.steps.size(), 3U);
}

TEST(CuptiRun, OneRecorderServesRunsOneAfterTheOther) {
    const auto cupti = standIn();
    std::string reason;
    const auto kernels = profiler::KernelRecorder::start(reason);
    ASSERT_NE(kernels, nullptr) << reason;
    for (int i = 0; i < 2; ++i) {
        const bubblescope::test::ScratchFolder folder;
        CuptiRun made(cupti, {}, folder.path() / "run");
        made.config.kernels = kernels;
        JobControl control;
        const Result<RunSummary> summary = runPipeline(made.config, control);
        ASSERT_TRUE(summary.ok()) << summary.error().text();
        EXPECT_EQ(summary.value().kernels->work, made.observer->count) << i;
        EXPECT_EQ(summary.value().kernels->foreign, 0);
    }
}

std::shared_ptr<const Trace> traceLeftBy(const std::string& how, const std::filesystem::path& folder) {
    const std::string command = std::string("'") + BUBBLESCOPE_CUPTI_JOB + "' " + how + " '" + folder.string() + "'";
    const int status = std::system(command.c_str());
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << command << " ends with " << status;
    JobControl control;
    const auto loaded = loadTrace({folder}, control);
    EXPECT_TRUE(loaded.ok()) << loaded.error().text();
    return loaded.ok() ? loaded.value().run.trace : nullptr;
}

/// The slices of the job with this name in the trace when it exits: its kernels.
std::int64_t kernelsLeftBy(const std::string& how, const std::filesystem::path& folder) {
    const auto trace = traceLeftBy(how, folder);
    return trace == nullptr ? 0 : total(workIn(*trace));
}

TEST(CuptiRun, ARunThatExitsInTheMiddleLeavesItsKernels) {
    const bubblescope::test::ScratchFolder folder;
    EXPECT_GT(kernelsLeftBy("run", folder.path() / "run"), 1000);
}

#ifdef BUBBLESCOPE_TEST_LIBRARY
TEST(CuptiRun, ARecordedJobsLastBufferIsTakenBeforeCuptiEnds) {
    const bubblescope::test::ScratchFolder folder;
    EXPECT_EQ(kernelsLeftBy("record '" BUBBLESCOPE_TEST_LIBRARY "'", folder.path() / "traces"), 500);
}

TEST(CuptiRun, ARecordedJobsMemoryIsCountedWhereAskedFor) {
    using Values = std::map<std::string, std::vector<double>>;
    const auto countersOf = [](const Trace& trace) {
        Values counters;
        for (const CounterSeries& series : trace.counters()) {
            for (const double bytes : series.values)
                counters[std::string(trace.text(series.name))].push_back(bytes / (1 << 20));
        }
        return counters;
    };
    const bubblescope::test::ScratchFolder folder;
    const auto trace = traceLeftBy("memory '" BUBBLESCOPE_TEST_LIBRARY "'", folder.path() / "memory");
    ASSERT_NE(trace, nullptr);
    EXPECT_EQ(countersOf(*trace),
              (Values{{"reserved memory", {1, 3, 2, 6, 4, 0}}, {"reserved memory (device 1)", {5}}}));
    const auto without = traceLeftBy("record '" BUBBLESCOPE_TEST_LIBRARY "'", folder.path() / "without");
    ASSERT_NE(without, nullptr);
    EXPECT_TRUE(without->counters().empty());
}

/// Arg of the last instant with this name.
std::int64_t told(const Trace& trace, std::string_view instant, std::string_view arg) {
    std::int64_t value = -1;
    for (const Instant& each : trace.instants()) {
        if (trace.text(each.name) == instant) value = trace.intArg(each.args, arg).value_or(-1);
    }
    return value;
}

// Steps without kernels would look like steps whose ops last as long as their launches, on idle devices.
TEST(CuptiRun, OnlyStepsWithKernelsAreAnalysed) {
    const bubblescope::test::ScratchFolder folder;
    const auto trace = traceLeftBy("steps '" BUBBLESCOPE_TEST_LIBRARY "'", folder.path() / "traces");
    ASSERT_NE(trace, nullptr);
    EXPECT_EQ(total(workIn(*trace)), 3 * 12) << "of steps 0, 4 and 8";
    EXPECT_LT(told(*trace, "capture totals", "outside_window"), 6 * 12 * 2) << "CUPTI was off in two steps";

    JobControl control;
    const auto loaded = loadRun({folder.path() / "traces"}, control);
    ASSERT_TRUE(loaded.ok()) << loaded.error().text();
    const bubblescope::Run& run = loaded.value();
    std::vector<int> numbers;
    for (const StepTimeline& step : run.steps) {
        numbers.push_back(step.index);
        for (const TimelineOp& op : step.ranks.at(0))
            EXPECT_GE(op.end - op.start, TimeNs{std::chrono::milliseconds(6)}) << "three kernels";
    }
    EXPECT_THAT(numbers, testing::ElementsAre(0, 4, 8));
    const auto named = std::ranges::find(run.problems, "sampled-kernels", &Diagnostic::kind);
    ASSERT_NE(named, run.problems.end());
    EXPECT_EQ(named->message.text(), "only 3 steps have kernels, and only these were analysed: 0, 4, 8");

    const auto activity = activityOf({run, std::nullopt, true, {}});
    ASSERT_TRUE(activity.ok()) << activity.error().text();
    const DeviceSummary& device = activity.value().at(0).devices.at(0);
    EXPECT_LT(device.times.idle(), TimeNs{std::chrono::milliseconds(100)}) << "steps without kernels are not idle time";
}

TEST(CuptiRun, CuptiIsSwitchedOffAfterTheRecordedSteps) {
    const bubblescope::test::ScratchFolder folder;
    const auto trace = traceLeftBy("window '" BUBBLESCOPE_TEST_LIBRARY "'", folder.path() / "traces");
    ASSERT_NE(trace, nullptr);
    EXPECT_EQ(total(workIn(*trace)), 2 * 12);
    EXPECT_LT(told(*trace, "capture totals", "outside_window"), 10 * 12 * 2) << "not to the end of the job";
}

TEST(CuptiRun, ARecordedJobsOwnProfilerGetsCupti) {
    const bubblescope::test::ScratchFolder folder;
    EXPECT_EQ(kernelsLeftBy("profile '" BUBBLESCOPE_TEST_LIBRARY "'", folder.path() / "traces"), 500);
    const std::string text = bubblescope::test::readAll(folder.path() / "traces" / "capture.log");
    EXPECT_THAT(text, HasSubstr("a profiler uses CUPTI: kernels are recorded up to here"));
}
#endif

} // namespace
} // namespace bubblescope::runtime::test
