#include "core/formats/chrome/writer.h"
#include "core/formats/perfetto/writer.h"
#include "core/formats/read_trace.h"
#include "core/formats/source/packing.h"
#include "core/recognise/run.h"
#include "core/trace/summary.h"
#include "tests/support/made_inputs.h"
#include "tests/support/shared_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <map>
#include <set>
#include <string>
#include <vector>

// One small input for every format and every oddity that readers handle, below tests/data/traces. The content of each
// is in expected.json there, written by hand: counts, times and the problems that must be reported.
namespace bubblescope {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

const fs::path kFolder = test::dataDir() / "traces";

Json expectations() {
    return Json::parse(test::readAll(kFolder / "expected.json"));
}

std::vector<std::string> inputs() {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(kFolder)) {
        const std::string name = entry.path().filename().string();
        if (name != "expected.json") names.insert(name);
    }
    return {names.begin(), names.end()};
}

std::string packed(const std::string& bytes, Packing packing) {
    const auto packer = makePacker(packing);
    std::string out;
    EXPECT_TRUE(packer->add(bytes, out) && packer->finish(out));
    return out;
}

/// In the form of expected.json.
Json described(const ReadTraces& read) {
    Json out = Json::object();
    std::set<std::string> formats;
    std::map<std::string, std::int64_t> categories;
    std::map<std::string, std::int64_t> counts;
    std::multiset<Json> tracks;
    for (const FileSummary& file : summarize(*read.trace)) {
        formats.insert(file.file.format);
        if (file.file.rank) out["ranks"].push_back(*file.file.rank);
        for (const auto& [category, count] : file.by_category)
            categories[category] += count;
        for (const TrackSummary& track : file.tracks)
            tracks.insert(Json::array({track.process, track.thread, track.slices, track.busy.count()}));
        counts["flows"] += file.flows;
        counts["flow_points"] += file.flow_points;
        counts["instants"] += file.instants;
        counts["counters"] += file.counters;
    }
    out["format"] = formats.size() == 1 ? Json(*formats.begin()) : Json(formats);
    out["by_category"] = categories;
    out["tracks"] = tracks;
    out["span_ns"] = read.trace->span().count();
    for (const auto& [name, count] : counts) {
        if (count != 0) out[name] = count;
    }
    for (const Diagnostic& problem : read.problems) {
        Json& count = out["problems"][problem.kind];
        count = (count.is_null() ? 0 : count.get<std::int64_t>()) + problem.count;
    }
    return out;
}

Json pipelineOf(const fs::path& path) {
    JobControl control;
    const auto run = loadRun({path}, control);
    if (!run.ok()) return nullptr;
    const bubblescope::Run& found = run.value();
    return {{"schedule", found.schedule.name},       {"p", found.steps.front().pp},
            {"m", found.steps.front().microbatches}, {"v", found.steps.front().vpp},
            {"steps", found.steps.size()},           {"wall_ns", found.steps.front().wall().count()}};
}

class NativeTraces : public testing::TestWithParam<std::string> {
protected:
    /// The input itself, or what is made of it.
    [[nodiscard]] fs::path input() const {
        const fs::path path = kFolder / GetParam();
        if (path.extension() == ".sql") return folder_.write("made", test::databaseOf(folder_, test::readAll(path)));
        if (path.extension() == ".packets") return folder_.write("made", test::PacketText::bytes(test::readAll(path)));
        return path;
    }
    static Json describe(const fs::path& path) {
        JobControl control;
        const auto read = readTraces({path}, control);
        return read.ok() ? described(read.value()) : Json{{"error", read.error().message}};
    }
    /// Without what is the matter of other tests, and with tracks in any order.
    [[nodiscard]] static Json comparable(Json expected) {
        expected.erase("why");
        expected.erase("pipeline");
        if (expected.contains("tracks"))
            expected["tracks"] = std::multiset<Json>(expected["tracks"].begin(), expected["tracks"].end());
        return expected;
    }

    test::ScratchFolder folder_;
};

TEST_P(NativeTraces, HoldWhatIsWrittenDown) {
    const Json all = expectations();
    ASSERT_TRUE(all.contains(GetParam())) << "expected.json does not say what it holds: " << describe(input()).dump();
    const Json expected = comparable(all[GetParam()]);
    const fs::path path = input();
    EXPECT_EQ(describe(path).dump(1), expected.dump(1));
    if (fs::is_directory(path)) return;
    for (const Packing packing : {Packing::Gzip, Packing::Zstd}) {
        const fs::path file = folder_.write("packed", packed(test::readAll(path), packing));
        EXPECT_EQ(describe(file).dump(1), expected.dump(1)) << "packed";
    }
}

TEST_P(NativeTraces, ShowThePipelineThatIsWrittenDown) {
    const Json expected = expectations()[GetParam()].value("pipeline", Json());
    EXPECT_EQ(pipelineOf(input()), expected);
}

INSTANTIATE_TEST_SUITE_P(Inputs, NativeTraces, testing::ValuesIn(inputs()), [](const auto& input) {
    std::string name = input.param;
    for (char& c : name)
        c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
    return name;
});

TEST(OwnTracesExpectations, AreAboutInputsThatExist) {
    const Json all = expectations();
    for (const auto& [name, expected] : all.items())
        EXPECT_TRUE(fs::exists(kFolder / name)) << name;
}

// Several files that were written as one still state the rank of each file.
TEST(ConvertedRuns, ShowTheSamePipeline) {
    const test::ScratchFolder folder;
    const Json all = expectations();
    for (const char* const name : {"kineto_cuda_graphs", "torchtitan_layout", "bytedance_two_replicas.json"}) {
        JobControl control;
        const auto read = readTraces({kFolder / name}, control);
        ASSERT_TRUE(read.ok()) << read.error().text();
        DiagnosticLog log;
        const fs::path chrome = folder.path() / "chrome.json";
        const fs::path perfetto = folder.path() / "perfetto.pftrace.zst";
        ASSERT_TRUE(chrome::writeChrome(chrome, *read.value().trace, log).ok());
        ASSERT_TRUE(perfetto::writeTrace(perfetto, *read.value().trace, log).ok());
        EXPECT_EQ(pipelineOf(chrome), all[name]["pipeline"]) << name;
        EXPECT_EQ(pipelineOf(perfetto), all[name]["pipeline"]) << name;
    }
}

// Names tell nothing: the same bytes under another name, several files at once, and folders with packed files.
TEST(OwnTracesTogether, AreReadAsOne) {
    const test::ScratchFolder folder;
    folder.write("x/0.txt", packed(test::readAll(kFolder / "kineto_cuda_graphs/a.json"), Packing::Gzip));
    folder.write("x/deeper/noise.bin", "not a trace");
    folder.write("x/1.dat", packed(test::readAll(kFolder / "kineto_cuda_graphs/b.json"), Packing::Zstd));
    folder.write("x/2.gz", packed("packed, but no trace", Packing::Gzip));
    EXPECT_EQ(pipelineOf(folder.path()), expectations()["kineto_cuda_graphs"]["pipeline"]);

    JobControl control;
    const auto read = readTraces({kFolder / "kineto_amd.json", folder.path()}, control);
    ASSERT_TRUE(read.ok()) << read.error().text();
    EXPECT_EQ(read.value().trace->files().size(), 3U);
    EXPECT_TRUE(read.value().problems.empty());
}

} // namespace
} // namespace bubblescope
