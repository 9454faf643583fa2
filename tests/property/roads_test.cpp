// The statements about a run do not depend on how its steps are read: loaded completely, loaded and judged window by
// window, read as a recording that is too large to load, watched while it runs, from extracts, or only from its
// beginning.

#include "core/analysis/devices/device_summary.h"
#include "core/analysis/steps/run_analyzer.h"
#include "core/live/live_analyzer.h"
#include "core/live/long_run.h"
#include "core/report/json.h"
#include "core/report/results/analysis.h"
#include "core/report/results/devices.h"
#include "tests/support/extracts.h"
#include "tests/support/made_inputs.h"
#include "tests/support/shared_data.h"
#include "tests/unit/live/recorded_ranks.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace bubblescope {
namespace {

constexpr int kSteps = 60;
constexpr int kOnset = 25; // within a window
constexpr WindowLimits kSmallWindows{.steps = 20, .records = 1};

Run loaded(const std::filesystem::path& path, std::uint64_t first_bytes = 0) {
    JobControl control;
    LoadOptions options;
    options.first_bytes = first_bytes;
    auto run = loadRun({path}, control, options);
    EXPECT_TRUE(run.ok()) << run.error().text();
    return run.ok() ? std::move(run).value() : Run();
}

DiagnosedRun byWindows(Run run, const WindowLimits& limits) {
    AlignedRun aligned = alignedRun(std::move(run)).value();
    LoadedSteps source(std::move(aligned.run), std::move(aligned.clocks));
    return diagnoseSteps(source, {}, limits).value();
}

DiagnosedRun asARecording(const std::filesystem::path& folder) {
    JobControl control;
    auto made = live::diagnoseLongRun({folder}, {}, kSmallWindows, 1, control).value();
    return std::move(made).value();
}

/// Properties that do not depend on the other steps with which a step is judged.
void expectSameStep(const RunReport& one, std::size_t s, const RunReport& other, std::size_t t) {
    const StepAnalysis& a = one.steps[s];
    const StepAnalysis& b = other.steps[t];
    SCOPED_TRACE(fmt::format("step {}, replica {}", a.index, a.replica));
    EXPECT_EQ(a.index, b.index);
    EXPECT_EQ(a.replica, b.replica);
    EXPECT_EQ(a.wall, b.wall);
    EXPECT_EQ(a.rates.over_makespan, b.rates.over_makespan);
    EXPECT_EQ(a.rates.over_ideal, b.rates.over_ideal);
    ASSERT_EQ(a.form.has_value(), b.form.has_value());
    if (a.form) {
        EXPECT_EQ(a.form->makespan, b.form->makespan);
        EXPECT_EQ(a.form->bubble_rate, b.form->bubble_rate);
    }
    EXPECT_EQ(a.form_note, b.form_note);
    ASSERT_EQ(a.ranks.size(), b.ranks.size());
    for (std::size_t r = 0; r < a.ranks.size(); ++r) {
        const RankAccount x = a.ranks[r];
        const RankAccount y = b.ranks[r];
        EXPECT_EQ(x.busy, y.busy);
        EXPECT_EQ(x.bubble, y.bubble);
        EXPECT_EQ(x.replay, y.replay);
        EXPECT_EQ(x.expected_bubble, y.expected_bubble);
        EXPECT_EQ(x.executed, y.executed);
        EXPECT_EQ(x.observed, y.observed);
    }
    const std::vector<RankAccounting> mine = one.accounts[s].ranks.list();
    const std::vector<RankAccounting> theirs = other.accounts[t].ranks.list();
    ASSERT_EQ(mine.size(), theirs.size());
    for (std::size_t r = 0; r < mine.size(); ++r) {
        EXPECT_EQ(mine[r].compute, theirs[r].compute);
        EXPECT_EQ(mine[r].total(), theirs[r].total());
        EXPECT_EQ(mine[r].total(), a.wall);
    }
}

/// Why a step took as long as it did is measured by what is usual in the steps that it is judged with: equal where
/// these are the same.
void expectSameAccount(const StepAccounting& one, const StepAccounting& other) {
    EXPECT_EQ(one.ideal, other.ideal);
    const std::vector<RankAccounting> mine = one.ranks.list();
    const std::vector<RankAccounting> theirs = other.ranks.list();
    ASSERT_EQ(mine.size(), theirs.size());
    for (std::size_t r = 0; r < mine.size(); ++r)
        EXPECT_EQ(mine[r].causes, theirs[r].causes);
}

/// `within`: medians of windows' medians are near the medians of all.
void expectSameStages(const RunReport& one, const RunReport& other, double within) {
    ASSERT_EQ(one.stages.size(), other.stages.size());
    for (std::size_t i = 0; i < one.stages.size(); ++i) {
        const auto mine = static_cast<double>(one.stages[i].work().count());
        EXPECT_NEAR(static_cast<double>(other.stages[i].work().count()), mine, within * mine);
    }
}

using Place = std::tuple<std::string, int, int>; ///< kind, rank and replica

std::set<Place> places(const std::vector<Anomaly>& found) {
    std::set<Place> all;
    for (const Anomaly& one : found)
        all.emplace(anomalyKindName(one.kind), one.rank ? one.rank->value : -1, one.replica.value_or(-1));
    return all;
}
std::string text(const std::set<Place>& all) {
    std::string out;
    for (const auto& [kind, rank, replica] : all)
        out += fmt::format("{} {}/{}; ", kind, rank, replica);
    return out;
}
void expectSameFindings(const std::vector<Anomaly>& one, const std::vector<Anomaly>& other) {
    EXPECT_EQ(places(one), places(other)) << text(places(one)) << "\n" << text(places(other));
}

/// The minimum duration of a schedule is at most the duration of its step.
void expectNothingAboveObserved(const RunReport& report) {
    for (std::size_t s = 0; s < report.steps.size(); ++s) {
        const StepAnalysis& step = report.steps[s];
        SCOPED_TRACE(fmt::format("step {}, replica {}", step.index, step.replica));
        EXPECT_LE(report.accounts[s].ideal, step.wall);
        EXPECT_LE(step.form ? step.form->makespan : step.at_least.value_or(TimeNs{0}), step.wall);
    }
}

/// For the same steps, judged together.
void expectSameReport(const RunReport& one, const RunReport& other) {
    ASSERT_EQ(one.steps.size(), other.steps.size());
    for (std::size_t s = 0; s < one.steps.size(); ++s)
        expectSameStep(one, s, other, s);
    EXPECT_EQ(one.typicalStep(), other.typicalStep());
    expectSameAccount(one.accounts[one.typicalStep()], other.accounts[other.typicalStep()]);
    expectSameAccount(one.typical.accounting, other.typical.accounting);
    expectSameStages(one, other, 0);
}

/// All that `analyze --json` reports of files, and their problems.
std::string answer(const std::filesystem::path& path) {
    JobControl control;
    auto loaded = loadTrace({path}, control);
    if (!loaded.ok()) return loaded.error().text();
    std::string text;
    for (const Diagnostic& problem : loaded.value().run.problems)
        text += fmt::format("{} {} {} {}\n", problem.kind, problem.where.text(), problem.message.text(), problem.count);
    if (loaded.value().no_pipeline) {
        const auto activity = activityOf(loaded.value());
        if (!activity.ok()) return text + activity.error().text();
        text += loaded.value().no_pipeline->text();
        if (!report::showsActivity(activity.value())) return text;
        return text + report::toJson(report::activityDocument(loaded.value(), activity.value(), ""));
    }
    const DiagnosedRun diagnosed = diagnoseRun(std::move(loaded).value().run).value();
    report::AnalysisOptions options;
    options.reader = report::Reader::Programs;
    return text + report::toJson(report::analysisDocument(diagnosed.run, diagnosed.report, options));
}

/// Only the folders and names of the files may differ.
void expectSameFromExtracts(const std::filesystem::path& path) {
    SCOPED_TRACE("extracts of " + path.string());
    const test::ScratchFolder scratch;
    const std::filesystem::path out = scratch.file("extracts");
    const std::filesystem::path extract = test::extractAll(path, out);
    if (extract.empty()) return; // there is no trace
    const std::filesystem::path home = std::filesystem::is_directory(path) ? path : path.parent_path();
    const std::string mine = test::withoutPlaces(answer(path), home, out);
    const std::string theirs = test::withoutPlaces(answer(extract), home, out);
    const auto differ = std::ranges::mismatch(mine, theirs);
    const auto beside = [](auto at, const std::string& text) {
        const auto begin = at - std::min<std::ptrdiff_t>(100, at - text.begin());
        return std::string(begin, at + std::min<std::ptrdiff_t>(200, text.end() - at));
    };
    EXPECT_TRUE(mine == theirs) << beside(differ.in1, mine) << "\nbut the extract\n" << beside(differ.in2, theirs);
}

/// Watched step by step; the window holds all of its steps.
class Watched {
public:
    Watched(test::RecordedRanks& ranks, const Run& run, int replicas) : analyzer_(options()) {
        std::vector<live::LiveAnalyzer::Stream> streams;
        for (int rank = 0; rank < ranks.ranks(); ++rank)
            streams.push_back(analyzer_.open());
        TimeNs now{0};
        const auto feed = [&] {
            for (int rank = 0; rank < ranks.ranks(); ++rank)
                analyzer_.feed(streams[static_cast<std::size_t>(rank)], ranks.news(rank), now);
            now += std::chrono::milliseconds(200);
            (void)analyzer_.advance(now);
        };
        for (std::size_t s = 0; s < run.steps.size(); ++s) {
            for (int rank = 0; rank < ranks.ranks(); ++rank)
                ranks.write(rank, run.steps[s], static_cast<int>(s));
            feed();
        }
        for (int rank = 0; rank < ranks.ranks(); ++rank)
            EXPECT_TRUE(ranks.writer(rank).appendEnd(0).ok());
        feed();
        EXPECT_TRUE(analyzer_.runEnded());
        EXPECT_EQ(analyzer_.window()->run().steps.size(), run.steps.size() * static_cast<std::size_t>(replicas));
    }
    [[nodiscard]] const live::LiveAnalyzer& analyzer() const { return analyzer_; }
    [[nodiscard]] RunReport report() const { return analyzer_.latest(1'000'000'000)->report; }

private:
    static live::LiveOptions options() {
        live::LiveOptions all;
        all.window.last = kSteps;
        return all;
    }

    live::LiveAnalyzer analyzer_;
};

struct Planted {
    const char* name;
    double op_factor = 1; ///< of the ops of rank 1 from step kOnset on
    double link_factor = 1;
    bool once = false; ///< in one step alone
};

class GeneratedRuns : public testing::TestWithParam<std::tuple<const char*, Planted>> {};

TEST_P(GeneratedRuns, AreJudgedAlikeOnEveryRoad) {
    const auto& [family, planted] = GetParam();
    test::JitteredRun wanted;
    wanted.spec.name = family;
    wanted.spec.pp = 4;
    wanted.spec.microbatches = 8;
    wanted.spec.vpp = std::string_view(family) == "interleaved" || std::string_view(family) == "zb-v" ? 2 : 1;
    wanted.steps = kSteps;
    wanted.op_spread = 0.005;
    wanted.step_spread = 0.002;
    wanted.op_factor = [planted = planted](int step, Rank rank, const Op&) {
        const bool has = planted.once ? step == 33 : step >= kOnset;
        return has && rank == Rank{1} ? planted.op_factor : 1.0;
    };
    wanted.link_factor = [planted = planted](int, Rank from, Rank to) {
        return from == Rank{1} && to == Rank{2} ? planted.link_factor : 1.0;
    };
    const bubblescope::Run made = test::makeJitteredRun(wanted, 7);
    test::RecordedRanks ranks(test::infoOf(wanted));
    const Watched watched(ranks, made, 1);

    const DiagnosedRun whole = diagnoseRun(loaded(ranks.dir())).value();
    ASSERT_EQ(whole.report.steps.size(), static_cast<std::size_t>(kSteps));
    const bool is_faulty = planted.op_factor != 1 || planted.link_factor != 1;
    const auto costs = [](const Anomaly& one) { return one.cost > TimeNs{0}; };
    expectNothingAboveObserved(whole.report);
    EXPECT_EQ(is_faulty, std::ranges::any_of(whole.report.anomalies, costs)) << text(places(whole.report.anomalies));

    {
        SCOPED_TRACE("window by window");
        const DiagnosedRun parts = byWindows(loaded(ranks.dir()), kSmallWindows);
        EXPECT_EQ(parts.report.windows(), 3U);
        for (std::size_t s = 0; s < whole.report.steps.size(); ++s)
            expectSameStep(whole.report, s, parts.report, s);
        expectSameStages(whole.report, parts.report, planted.op_factor == 1 || planted.once ? 0.01 : 0.5);
        expectSameFindings(whole.report.anomalies, parts.report.anomalies);

        SCOPED_TRACE("as a recording");
        const DiagnosedRun recording = asARecording(ranks.dir());
        expectSameReport(parts.report, recording.report);
        expectSameFindings(parts.report.anomalies, recording.report.anomalies);
        EXPECT_EQ(recording.run.slices, whole.run.slices);
    }
    expectSameFromExtracts(ranks.dir());
    {
        SCOPED_TRACE("live");
        expectSameReport(whole.report, watched.report());
        expectSameFindings(whole.report.anomalies, watched.analyzer().window()->searchAsWhole());
        for (std::size_t s = 0; s < whole.report.steps.size(); ++s) {
            const live::LiveStep& step = watched.analyzer().steps()[s];
            EXPECT_TRUE(step.complete);
            EXPECT_EQ(step.wall, whole.report.steps[s].wall);
            EXPECT_DOUBLE_EQ(step.bubble_rate, whole.report.steps[s].rates.over_makespan);
        }
    }
    {
        SCOPED_TRACE("the beginning");
        const auto bytes = std::filesystem::file_size(ranks.writer(0).path());
        const DiagnosedRun first = diagnoseRun(loaded(ranks.dir(), 2 * bytes)).value();
        ASSERT_FALSE(first.report.steps.empty());
        ASSERT_LT(first.report.steps.size(), whole.report.steps.size());
        for (std::size_t s = 0; s < first.report.steps.size(); ++s)
            expectSameStep(whole.report, s, first.report, s);
    }
}

INSTANTIATE_TEST_SUITE_P(Families, GeneratedRuns,
                         testing::Combine(testing::Values("1f1b", "gpipe", "interleaved", "zb-h1", "zb-v"),
                                          testing::Values(Planted{"nothing"}, Planted{"slow_rank", 1.5},
                                                          Planted{"slow_step", 3, 1, true},
                                                          Planted{"slow_link", 1, 20})),
                         [](const auto& info) {
                             std::string name =
                                 fmt::format("{}_{}", std::get<0>(info.param), std::get<1>(info.param).name);
                             std::ranges::replace(name, '-', '_');
                             return name;
                         });

/// All recordings and traces of tests/data in which a pipeline is found.
std::vector<std::filesystem::path> recordings() {
    std::vector<std::filesystem::path> found;
    const std::filesystem::path data = test::dataDir();
    for (const char* const folder : {"recordings/torch-pp-cpu-gloo", "recordings", "traces"}) {
        for (const auto& entry : std::filesystem::directory_iterator(data / folder))
            found.push_back(entry.path());
    }
    return found;
}

TEST(Recordings, AreJudgedAlikeWindowByWindowAndFromTheirBeginning) {
    int judged = 0;
    for (const std::filesystem::path& path : recordings()) {
        SCOPED_TRACE(path.string());
        JobControl control;
        auto run = loadRun({path}, control);
        if (!run.ok()) continue; // no pipeline
        ++judged;
        const DiagnosedRun whole = diagnoseRun(run.value()).value();
        expectNothingAboveObserved(whole.report);
        const DiagnosedRun parts = byWindows(run.value(), {.steps = 1, .records = 1});
        ASSERT_EQ(parts.report.steps.size(), whole.report.steps.size());
        for (std::size_t s = 0; s < whole.report.steps.size(); ++s)
            expectSameStep(whole.report, s, parts.report, s);
        if (parts.report.windows() == 1) {
            expectSameReport(whole.report, parts.report);
            expectSameFindings(whole.report.anomalies, parts.report.anomalies);
        }
        LoadOptions options;
        options.first_bytes = std::uint64_t{1} << 16;
        auto first = loadRun({path}, control, options);
        // A part of a foreign pipeline looks like a smaller one, and kernels run after the ops that they time.
        if (!first.ok() || !first.value().info || whole.run.timing) continue;
        const DiagnosedRun beginning = diagnoseRun(std::move(first).value()).value();
        for (std::size_t s = 0; s < beginning.report.steps.size(); ++s)
            expectSameStep(whole.report, s, beginning.report, s);
    }
    EXPECT_GE(judged, 10);
}

TEST(Recordings, AreJudgedAlikeFromExtracts) {
    const test::ScratchFolder made;
    for (const std::filesystem::path& path : recordings()) {
        expectSameFromExtracts(path);
        const std::string name = path.stem().string();
        const std::string text = std::filesystem::is_regular_file(path) ? test::readAll(path) : std::string();
        if (path.extension() == ".sql")
            expectSameFromExtracts(made.write(name + ".sqlite", test::databaseOf(test::ScratchFolder{}, text)));
        if (path.extension() == ".packets")
            expectSameFromExtracts(made.write(name + ".pftrace", test::PacketText::bytes(text)));
    }
}

} // namespace
} // namespace bubblescope
