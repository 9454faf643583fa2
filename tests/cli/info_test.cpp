#include "tests/cli/program.h"
#include "tests/support/shared_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace bubblescope::test {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;

const std::filesystem::path kFolder = dataDir() / "traces";

// The content of the inputs was written down by hand; here the command's JSON is compared with it, name by name.
TEST(InfoCommand, SaysOfEveryInputWhatItHolds) {
    const Json all = Json::parse(readAll(kFolder / "expected.json"));
    int compared = 0;
    for (const auto& [name, expected] : all.items()) {
        SCOPED_TRACE(name);
        const auto path = kFolder / name;
        if (path.extension() != ".json" && path.extension() != ".jsonl") continue; // the others are made by other tests
        const ProgramResult info = runProgram({"info", "--json", path.string()});
        ASSERT_EQ(info.exit_code, 0) << info.err;
        const Json document = info.json();
        ASSERT_EQ(document["files"].size(), 1U);
        const Json& file = document["files"][0];
        EXPECT_EQ(file["path"], path.string());
        EXPECT_EQ(file["format"], expected["format"]);
        EXPECT_EQ(file["ranks"], expected.value("ranks", Json::array()));
        EXPECT_EQ(file["by_category"], expected["by_category"]);
        for (const char* const count : {"flows", "flow_points", "instants", "counters"})
            EXPECT_EQ(file[count], expected.value(count, 0)) << count;
        std::int64_t slices = 0;
        for (const Json& category : file["by_category"])
            slices += category.get<std::int64_t>();
        EXPECT_EQ(file["slices"], slices);
        std::multiset<Json> tracks;
        for (const Json& track : file["tracks"]) {
            tracks.insert(Json::array({track["process"], track["thread"], track["slices"], track["busy_ns"]}));
            EXPECT_GE(track["last_ns"], track["first_ns"]);
        }
        EXPECT_EQ(tracks, std::multiset<Json>(expected["tracks"].begin(), expected["tracks"].end()));
        Json problems = Json::object();
        for (const Json& problem : file["problems"])
            problems[problem["kind"].get<std::string>()] =
                problems.value(problem["kind"].get<std::string>(), 0) + problem["count"].get<int>();
        EXPECT_EQ(problems, expected.value("problems", Json::object()));
        EXPECT_EQ(document["span_ns"], expected["span_ns"]);
        ++compared;
    }
    EXPECT_GT(compared, 15);
}

TEST(InfoCommand, GivesProblemsToTheFileThatHasThem) {
    const ScratchFolder folder;
    const auto cut = (kFolder / "chrome_array_without_end.json").string();
    const auto whole = folder.write("chrome_array", readAll(kFolder / "small_chrome.json")).string();
    const auto longer = folder.write("chrome_array_longer", readAll(cut)).string(); // its name begins as the other's
    const Json files = runProgram({"info", "--json", whole, longer}).json()["files"];
    EXPECT_TRUE(files[0]["problems"].empty());
    EXPECT_EQ(files[1]["problems"][0]["kind"], "truncated");

    const Json piped = runProgram({"info", "--json", "-"}, cut).json()["files"];
    EXPECT_EQ(piped[0]["problems"][0]["kind"], "truncated") << "of standard input too";
}

TEST(InfoCommand, CallsAScheduleWhatItIs) {
    const ScratchFolder folder;
    const auto csv = (kFolder / "torch_schedule.csv").string();
    const ProgramResult json =
        runProgram({"schedule", "--schedule", "1f1b", "--pp", "2", "--microbatches", "4", "--json"});
    for (const std::string& file : {csv, folder.write("order.json", json.out).string()}) {
        for (const char* const command : {"info", "analyze"}) {
            const ProgramResult result = runProgram({command, file});
            EXPECT_EQ(result.exit_code, 3) << command;
            EXPECT_THAT(result.err, HasSubstr("is a schedule, not a trace"));
            EXPECT_THAT(result.err, HasSubstr("validate FILE"));
        }
    }
    EXPECT_EQ(runProgram({"validate", csv}).exit_code, 0);
}

} // namespace
} // namespace bubblescope::test
