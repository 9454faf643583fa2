// Files as people open them: one folder of tests/data/people for each kind of damage or special case, with a file and
// the right result. To add a case, add such a folder. expected.json may state
//   slices, instants      how many there are (0 where it does not say)
//   names, open           those of all slices; of those that never ended (none), in any order
//   rows                  how many rows have slices
//   durations             of some slices, in nanoseconds, by name
//   args                  of some slices, by name
//   counters              values by name of the series (none)
//   rank, metadata, scopes of instants by name
//   problems              how many there are of each kind (none)
//   lanes                 what the slices of a name are: "device", "communication", … (not looked at)
//   ranks                 of the processes, in their order (not looked at)
//   error                 what the error states, instead of all others

#include "core/formats/chrome/writer.h"
#include "core/formats/csv/writer.h"
#include "core/formats/kineto/writer.h"
#include "core/formats/perfetto/writer.h"
#include "core/trace/args.h"
#include "tests/support/shared_data.h"
#include "tests/unit/formats/trace_bytes.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace bubblescope {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

std::vector<fs::path> cases() {
    std::vector<fs::path> folders;
    for (const auto& entry : fs::directory_iterator(test::dataDir() / "people"))
        folders.push_back(entry.path());
    std::ranges::sort(folders);
    return folders;
}

Result<ReadTraces> load(const fs::path& file) {
    JobControl control;
    return readTraces({file}, control);
}

fs::path inputOf(const fs::path& folder) {
    for (const auto& entry : fs::directory_iterator(folder)) {
        if (entry.path().filename() != "expected.json") return entry.path();
    }
    return {};
}

using Names = std::multiset<std::string>;

Names namesOf(const Trace& trace, bool open_only = false) {
    Names names;
    for (SliceId slice = 0; slice < trace.sliceCount(); ++slice) {
        if (!open_only || trace.isOpen(slice)) names.emplace(trace.name(slice));
    }
    return names;
}

std::map<std::string, std::vector<double>> countersOf(const Trace& trace) {
    std::map<std::string, std::vector<double>> all;
    for (const CounterSeries& series : trace.counters()) {
        auto& values = all[std::string(trace.text(series.name))];
        values.insert(values.end(), series.values.begin(), series.values.end());
    }
    return all;
}

std::int64_t rowsOf(const Trace& trace) {
    return std::ranges::count_if(trace.tracks(), [](const Track& row) { return row.first_slice < row.end_slice; });
}

/// Strictly: any text that is not JSON throws.
Json parsedFile(const fs::path& file) {
    return Json::parse(test::readAll(file));
}

class People : public testing::TestWithParam<fs::path> {
protected:
    void SetUp() override { expected_ = parsedFile(GetParam() / "expected.json"); }

    /// Whatever format holds.
    void expectRead(const Trace& trace) const {
        EXPECT_EQ(trace.sliceCount(), expected_.value("slices", 0U));
        if (expected_.contains("names")) {
            EXPECT_EQ(namesOf(trace), expected_["names"].get<Names>());
        }
        EXPECT_EQ(namesOf(trace, true), expected_.value("open", Names{}));
        EXPECT_EQ(trace.instants().size(), expected_.value("instants", 0U));
        EXPECT_EQ(countersOf(trace), (expected_.value("counters", std::map<std::string, std::vector<double>>{})));
        for (const auto& [name, duration] : expected_.value("durations", std::map<std::string, std::int64_t>{}))
            EXPECT_EQ(trace.sliceDurations()[test::findSlice(trace, name)], duration) << name;
        for (const auto& [name, args] : expected_.value("args", std::map<std::string, Json>{}))
            EXPECT_EQ(Json::parse(trace.argsJson(trace.sliceArgs()[test::findSlice(trace, name)])), args) << name;
    }
    void expectLanes(const Trace& trace) const {
        for (const auto& [name, kind] : expected_.value("lanes", std::map<std::string, std::string>{})) {
            const SliceId slice = test::findSlice(trace, name);
            EXPECT_EQ(laneKindName(trace.laneOf(slice, trace.sliceTracks()[slice])), kind) << name;
        }
        if (!expected_.contains("ranks")) return;
        std::vector<std::int32_t> ranks;
        for (const TraceFile& file : trace.files())
            ranks.push_back(file.rank.value_or(-1));
        EXPECT_EQ(ranks, expected_["ranks"].get<std::vector<std::int32_t>>());
    }
    void expectScopes(const Trace& trace) const {
        for (const auto& [name, scope] : expected_.value("scopes", std::map<std::string, std::string>{})) {
            const auto found = std::ranges::find(trace.instants(), name,
                                                 [&](const Instant& instant) { return trace.text(instant.name); });
            ASSERT_NE(found, trace.instants().end()) << name;
            EXPECT_EQ(std::string(1, found->scope), scope) << name;
        }
    }
    /// Without any problem but those that the slices have themselves.
    std::shared_ptr<const Trace> readBack(const fs::path& file) const {
        auto read = load(file);
        EXPECT_TRUE(read.ok()) << read.error().text();
        if (!read.ok()) return std::make_shared<const Trace>();
        for (const Diagnostic& problem : read.value().problems)
            EXPECT_TRUE(problem.kind == "unmatched-begin" || problem.kind == "overlap")
                << problem.where.text() << ": " << problem.message.text();
        return read.value().trace;
    }

    Json expected_;
    test::ScratchFolder folder_;
};

TEST_P(People, GetWhatIsRight) {
    const auto read = load(inputOf(GetParam()));
    if (expected_.contains("error")) {
        ASSERT_FALSE(read.ok());
        EXPECT_NE(read.error().text().find(expected_["error"].get<std::string>()), std::string::npos)
            << read.error().text();
        return;
    }
    ASSERT_TRUE(read.ok()) << read.error().text();
    const Trace& trace = *read.value().trace;
    expectRead(trace);
    expectScopes(trace);
    expectLanes(trace);
    std::map<std::string, std::int64_t> problems;
    for (const Diagnostic& problem : read.value().problems)
        problems[problem.kind] += problem.count;
    EXPECT_EQ(problems, (expected_.value("problems", std::map<std::string, std::int64_t>{})));
    if (expected_.contains("rows")) {
        EXPECT_EQ(rowsOf(trace), expected_["rows"].get<std::int64_t>());
    }
    if (expected_.contains("rank")) {
        EXPECT_EQ(trace.files()[0].rank, expected_["rank"].get<std::int32_t>());
    }
}

TEST_P(People, CanBeWrittenAsOtherFormats) {
    const auto read = load(inputOf(GetParam()));
    if (!read.ok()) return;
    const Trace& trace = *read.value().trace;
    DiagnosticLog log;
    const fs::path chrome = folder_.path() / "out.json";
    ASSERT_TRUE(chrome::writeChrome(chrome, trace, log).ok());
    const Json document = parsedFile(chrome);
    if (expected_.contains("metadata")) {
        EXPECT_EQ(document.at("metadata"), expected_["metadata"]);
    }
    const auto again = readBack(chrome);
    expectRead(*again);
    expectScopes(*again);
    expectLanes(*again);

    const fs::path perfetto = folder_.path() / "out.pftrace";
    ASSERT_TRUE(perfetto::writeTrace(perfetto, trace, log).ok());
    const auto tracks = readBack(perfetto);
    expectRead(*tracks);
    expectLanes(*tracks);

    const auto ranks = kineto::writeRanks(folder_.path() / "ranks", trace);
    ASSERT_TRUE(ranks.ok());
    std::size_t slices = 0;
    for (const auto& rank : fs::directory_iterator(folder_.path() / "ranks")) {
        const Json written = parsedFile(rank.path());
        for (const Json& event : written.at("traceEvents"))
            slices += event.at("ph") == "X" ? 1 : 0;
    }
    EXPECT_GE(slices, trace.sliceCount());

    const fs::path csv = folder_.path() / "out.csv";
    ASSERT_TRUE(csv::writeSlices(csv, trace).ok());
}

INSTANTIATE_TEST_SUITE_P(All, People, testing::ValuesIn(cases()), [](const auto& one) {
    std::string name = one.param.filename().string();
    std::ranges::replace(name, '-', '_');
    return name;
});

} // namespace
} // namespace bubblescope
