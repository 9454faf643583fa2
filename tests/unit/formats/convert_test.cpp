#include "core/formats/chrome/writer.h"
#include "core/formats/csv/writer.h"
#include "core/formats/perfetto/writer.h"
#include "core/formats/source/source_files.h"
#include "core/trace/summary.h"
#include "tests/support/shared_data.h"
#include "tests/unit/formats/trace_bytes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace bubblescope {
namespace {

using testing::HasSubstr;
using Writer = std::function<Status(const std::filesystem::path&, const Trace&, DiagnosticLog&)>;

std::shared_ptr<const Trace> readBack(const std::filesystem::path& path) {
    JobControl control;
    auto read = readTraces({path}, control);
    EXPECT_TRUE(read.ok()) << read.error().text();
    if (!read.ok()) return std::make_shared<const Trace>();
    EXPECT_EQ(test::countOf(read.value().problems, "unknown-name"), 0);
    return read.value().trace;
}

/// Everything a slice is, as text; rows are named, not numbered.
std::multiset<std::string> slicesOf(const Trace& trace) {
    std::multiset<std::string> all;
    for (SliceId slice = 0; slice < trace.sliceCount(); ++slice) {
        const Track& track = trace.tracks()[trace.sliceTracks()[slice]];
        std::string args;
        for (const Arg& arg : trace.args(trace.sliceArgs()[slice]))
            args += arg.name + "=" + (arg.value.index() == 3 ? std::get<std::string>(arg.value) : "") + ";";
        all.insert(std::string(trace.text(track.process_name)) + "|" + std::string(trace.name(slice)) + "|" +
                   std::string(trace.category(slice)) + "|" + std::to_string(trace.start(slice).count()) + "|" +
                   std::to_string(trace.end(slice).count()) + "|" + args);
    }
    return all;
}

class RoundTripTest : public testing::TestWithParam<std::pair<const char*, Writer>> {
protected:
    void expectKept(const Trace& trace) {
        DiagnosticLog log;
        const auto path = folder_.path() / "out";
        ASSERT_TRUE(GetParam().second(path, trace, log).ok());
        const auto back = readBack(path);
        EXPECT_EQ(back->sliceCount(), trace.sliceCount());
        EXPECT_EQ(back->origin(), trace.origin());
        EXPECT_EQ(slicesOf(*back), slicesOf(trace));
        EXPECT_EQ(back->instants().size(), trace.instants().size());
        EXPECT_EQ(back->counters().size(), trace.counters().size());
        std::int64_t loose = 0;
        for (const FlowPoint& point : trace.flowPoints())
            loose += point.slice == kNoId ? 1 : 0;
        EXPECT_EQ(back->flowPoints().size() + static_cast<std::size_t>(loose), trace.flowPoints().size());
        EXPECT_EQ(test::countOf(log.entries(), "loose-flow"), loose);
    }
    test::ScratchFolder folder_;
};

TEST_P(RoundTripTest, KeepsEverythingOfASmallTrace) {
    expectKept(*readBack(test::dataDir() / "traces/small_chrome.json"));
}

TEST_P(RoundTripTest, KeepsAsynchronousAndOverlappingSlices) {
    const auto read = test::readBytes(folder_, R"([
        {"ph":"M","pid":1,"tid":1,"name":"process_name","args":{"name":"one"}},
        {"ph":"b","cat":"io","name":"read","id":7,"pid":1,"tid":1,"ts":0},
        {"ph":"b","cat":"io","name":"read","id":8,"pid":1,"tid":1,"ts":5},
        {"ph":"e","cat":"io","name":"read","id":7,"pid":1,"tid":1,"ts":10},
        {"ph":"e","cat":"io","name":"read","id":8,"pid":1,"tid":1,"ts":20},
        {"ph":"X","name":"a","pid":1,"tid":1,"ts":0,"dur":10},
        {"ph":"X","name":"b \"quoted\"","pid":1,"tid":1,"ts":5,"dur":10,"args":{"n":[1,2],"t":"x"}},
        {"ph":"X","name":"none","pid":1,"tid":1,"ts":30,"dur":0}])");
    ASSERT_TRUE(read.ok()) << read.error().text();
    EXPECT_EQ(read.value().trace->sliceCount(), 5U);
    EXPECT_EQ(test::countOf(read.value().problems, "overlap"), 1) << "asynchronous slices may overlap";
    expectKept(*read.value().trace);
}

TEST_P(RoundTripTest, KeepsARealTrace) {
    for (const char* name :
         {"torch-pp-cpu-gloo/zbv_pp2_mb4_v2/iteration_4/rank0_trace.json.gz", "hta/alexnet_cuda_sync.json.gz"}) {
        if (std::filesystem::exists(test::realTrace(name))) expectKept(*readBack(test::realTrace(name)));
    }
}

INSTANTIATE_TEST_SUITE_P(
    Formats, RoundTripTest,
    testing::Values(std::pair("chrome", Writer([](const auto& path, const Trace& trace, DiagnosticLog& log) {
                                  return chrome::writeChrome(path, trace, log);
                              })),
                    std::pair("perfetto", Writer([](const auto& path, const Trace& trace, DiagnosticLog& log) {
                                  return perfetto::writeTrace(path, trace, log);
                              }))),
    [](const auto& format) { return std::string(format.param.first); });

TEST(ChromeWriter, SortsProcessesByRank) {
    const test::ScratchFolder folder;
    std::vector<std::filesystem::path> paths;
    for (const char* name : {"a/rank2.json", "b/rank0.json", "c/rank1.json"}) {
        paths.push_back(folder.path() / name);
        std::filesystem::create_directories(paths.back().parent_path());
        std::ofstream(paths.back()) << R"([{"ph":"X","pid":7,"tid":1,"name":"x","ts":1,"dur":1}])";
    }
    JobControl control;
    const auto read = readTraces(paths, control);
    ASSERT_TRUE(read.ok()) << read.error().text();
    const Trace& trace = *read.value().trace;
    std::vector<std::int32_t> ranks;
    for (const TrackId id : tracksByRank(trace))
        ranks.push_back(trace.files()[trace.tracks()[id].file].rank.value_or(-1));
    EXPECT_EQ(ranks, (std::vector<std::int32_t>{0, 1, 2}));
    DiagnosticLog log;
    ASSERT_TRUE(chrome::writeChrome(folder.path() / "all.json", trace, log).ok());
    std::map<int, int> order; // by the number of a process
    nlohmann::json sources;
    for (const nlohmann::json& event : nlohmann::json::parse(test::readAll(folder.path() / "all.json"))) {
        if (event["name"] == "process_sort_index") order[event["pid"]] = event["args"]["sort_index"];
        if (event["name"] == "trace_files") sources = event["args"];
    }
    ASSERT_EQ(sources["processes"].size(), 3U);
    for (const nlohmann::json& process : sources["processes"])
        EXPECT_EQ(order[process["number"]],
                  sources["files"][process["file"].get<std::size_t>()]["rank"].get<int>() + 1);
}

TEST(ChromeWriter, LeavesAReadableFileWhenCutOff) {
    const test::ScratchFolder folder;
    const auto trace = readBack(test::dataDir() / "traces/small_chrome.json");
    DiagnosticLog log;
    const auto path = folder.path() / "out.json";
    ASSERT_TRUE(chrome::writeChrome(path, *trace, log).ok());
    std::string text = test::readAll(path);
    const auto cut = test::readBytes(folder, text.substr(0, text.rfind('\n', text.size() - 4)));
    ASSERT_TRUE(cut.ok()) << cut.error().text();
    EXPECT_GT(cut.value().trace->sliceCount(), 0U);
}

TEST(CsvWriter, QuotesWhatNeedsIt) {
    const test::ScratchFolder folder;
    const auto read = test::readBytes(
        folder, R"([{"ph":"X","name":"a, \"b\"","cat":"c","pid":1,"tid":2,"ts":1,"dur":10,"args":{"k":1}},
                    {"ph":"X","name":"inner","pid":1,"tid":2,"ts":2.5,"dur":1}])");
    ASSERT_TRUE(read.ok());
    ASSERT_TRUE(csv::writeSlices(folder.path() / "out.csv", *read.value().trace).ok());
    const std::string text = test::readAll(folder.path() / "out.csv");
    EXPECT_THAT(text, HasSubstr("file,process,thread,category,name,start_ns,duration_ns,depth,args\n"));
    EXPECT_THAT(text, HasSubstr(",1,2,c,\"a, \"\"b\"\"\",0,10000,0,\"{\"\"k\"\":1}\"\n"));
    EXPECT_THAT(text, HasSubstr(",1,2,,inner,1500,1000,1,\n"));
}

} // namespace
} // namespace bubblescope
