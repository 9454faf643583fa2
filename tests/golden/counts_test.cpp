#include "core/formats/read_trace.h"
#include "core/formats/source/file_bytes.h"
#include "core/trace/summary.h"
#include "tests/support/shared_data.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sqlite3.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <optional>
#include <regex>
#include <set>
#include <string>
#include <vector>

// Every real JSON trace, counted a second time by other means: a general JSON library and a plain loop over its
// events.
namespace bubblescope {
namespace {

using Json = nlohmann::json;
using Row = std::pair<std::string, std::string>;

struct Expected {
    std::map<std::string, std::int64_t> by_category;
    std::map<Row, std::vector<std::pair<std::int64_t, std::int64_t>>> slices; ///< ns, by (pid, tid)
    std::map<Row, std::vector<std::pair<std::int64_t, std::int64_t>>> work;   ///< without what only describes it
    std::set<std::pair<std::string, std::string>> flows;                      ///< category and id
    std::int64_t flow_points = 0;
    std::int64_t instants = 0;
    std::optional<std::int64_t> rank;
};

std::string textOf(const Json& event, const char* key) {
    if (!event.contains(key)) return "0";
    return event[key].is_string() ? event[key].get<std::string>() : event[key].dump();
}

// Good to a nanosecond within the step of a double, which is enough for durations and for sums of them.
std::int64_t nsOf(const Json& value) {
    const double micros = value.is_string() ? std::stod(value.get<std::string>()) : value.get<double>();
    return std::llround(micros * 1000.0);
}

/// The file's own statement, a number or a text, or else the number behind "rank" in its name.
std::optional<std::int64_t> rankOf(const Json& document, const std::string& name) {
    if (document.is_object() && document.contains("distributedInfo") && document["distributedInfo"].contains("rank"))
        return std::stoll(textOf(document["distributedInfo"], "rank"));
    std::smatch found;
    if (std::regex_search(name, found, std::regex("rank[-_]?([0-9]+)"))) return std::stoll(found[1]);
    return std::nullopt;
}

Expected countEvents(const std::filesystem::path& path) {
    DiagnosticLog log;
    JobControl control;
    LoadProgress progress(control, 0);
    auto bytes = openFileBytes(path, log, progress);
    if (!bytes.value().extend(std::numeric_limits<std::size_t>::max()).ok()) std::abort();
    const Json document = Json::parse(bytes.value().text());
    const Json& events = document.is_array() ? document : document["traceEvents"];
    Expected out;
    std::map<Row, std::vector<Json>> open;
    for (const Json& event : events) {
        if (!event.contains("ph")) continue;
        const std::string phase = event["ph"];
        const Row row{textOf(event, "pid"), textOf(event, "tid")};
        const std::string category = event.value("cat", "");
        if (phase == "X") {
            const std::int64_t start = nsOf(event["ts"]);
            const std::int64_t duration = event.contains("dur") ? std::max<std::int64_t>(0, nsOf(event["dur"])) : 0;
            out.slices[row].emplace_back(start, start + duration);
            const bool describes = category == "gpu_user_annotation" || category == "cuda_sync";
            if (!describes) out.work[row].emplace_back(start, start + duration);
            ++out.by_category[category];
        } else if (phase == "B") {
            open[row].push_back(event);
        } else if (phase == "E") {
            out.slices[row].emplace_back(nsOf(open[row].back()["ts"]), nsOf(event["ts"]));
            ++out.by_category[open[row].back().value("cat", "")];
            open[row].pop_back();
        } else if (phase == "s" || phase == "t" || phase == "f") {
            ++out.flow_points;
            out.flows.emplace(category, textOf(event, "id"));
        } else if (phase == "i") {
            ++out.instants;
        }
    }
    out.rank = rankOf(document, path.filename().string());
    return out;
}

double busyOf(std::vector<std::pair<std::int64_t, std::int64_t>> slices) {
    std::sort(slices.begin(), slices.end());
    std::int64_t busy = 0;
    std::int64_t end = std::numeric_limits<std::int64_t>::min();
    for (const auto& [from, to] : slices) {
        if (to > end) busy += to - std::max(from, end);
        end = std::max(end, to);
    }
    return static_cast<double>(busy);
}

void expectSame(const std::filesystem::path& path) {
    SCOPED_TRACE(path.filename().string());
    JobControl control;
    auto read = readTraces({path}, control);
    ASSERT_TRUE(read.ok()) << read.error().text();
    const Trace& trace = *read.value().trace;
    const FileSummary summary = summarize(trace).front();
    const Expected expected = countEvents(path);

    EXPECT_EQ((std::map<std::string, std::int64_t>(summary.by_category.begin(), summary.by_category.end())),
              expected.by_category);
    EXPECT_EQ(summary.file.rank ? std::optional<std::int64_t>(*summary.file.rank) : std::nullopt, expected.rank);
    EXPECT_EQ(summary.instants, expected.instants);
    EXPECT_EQ(summary.flow_points, expected.flow_points);
    EXPECT_EQ(summary.flows, static_cast<std::int64_t>(expected.flows.size()));
    ASSERT_EQ(summary.tracks.size(), expected.slices.size());

    std::vector<std::pair<std::int64_t, double>> ours; // slices and busy time of each row, names apart
    std::vector<std::pair<std::int64_t, double>> theirs;
    for (const TrackSummary& track : summary.tracks)
        ours.emplace_back(track.slices, static_cast<double>(track.busy.count()));
    for (const auto& [row, slices] : expected.slices) {
        const auto work = expected.work.find(row);
        theirs.emplace_back(static_cast<std::int64_t>(slices.size()),
                            busyOf(work == expected.work.end() ? slices : work->second));
    }
    std::sort(ours.begin(), ours.end());
    std::sort(theirs.begin(), theirs.end());
    for (std::size_t i = 0; i < ours.size(); ++i) {
        EXPECT_EQ(ours[i].first, theirs[i].first);
        // A double of microseconds since 1970 is good to a quarter of one, at both ends of each slice.
        EXPECT_NEAR(ours[i].second, theirs[i].second, 600.0 * static_cast<double>(ours[i].first) + 1.0);
    }
}

void expectSameBelow(const std::filesystem::path& folder) {
    int files = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
        const std::string name = entry.path().filename().string();
        if (!entry.is_regular_file() || name.find(".json") == std::string::npos) continue;
        expectSame(entry.path());
        ++files;
    }
    EXPECT_GT(files, 0);
}

class CountsTest : public testing::TestWithParam<const char*> {};

TEST_P(CountsTest, AgreeWithAPlainCountOfTheEvents) {
    BUBBLESCOPE_NEED_TRACES(GetParam());
    expectSameBelow(test::realTrace(GetParam()));
}

INSTANTIATE_TEST_SUITE_P(OutsideTraces, CountsTest,
                         testing::Values("bytedance-straggler", "hta", "kineto", "megatronapp-pp4", "param-dlrm-8rank",
                                         "tracelens"),
                         [](const auto& folder) {
                             std::string name = folder.param;
                             std::replace(name.begin(), name.end(), '-', '_');
                             return name;
                         });

TEST(RecordingCounts, AgreeWithAPlainCountOfTheEvents) {
    expectSameBelow(test::realTrace("torch-pp-cpu-gloo"));
}

std::int64_t countIn(sqlite3* database, const char* query) {
    sqlite3_stmt* statement = nullptr;
    EXPECT_EQ(sqlite3_prepare_v2(database, query, -1, &statement, nullptr), SQLITE_OK) << query;
    EXPECT_EQ(sqlite3_step(statement), SQLITE_ROW);
    const std::int64_t count = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return count;
}

std::multiset<std::string> textsIn(sqlite3* database, const char* query) {
    sqlite3_stmt* statement = nullptr;
    EXPECT_EQ(sqlite3_prepare_v2(database, query, -1, &statement, nullptr), SQLITE_OK) << query;
    std::multiset<std::string> texts;
    while (sqlite3_step(statement) == SQLITE_ROW)
        texts.insert(reinterpret_cast<const char*>(sqlite3_column_text(statement, 0)));
    sqlite3_finalize(statement);
    return texts;
}

TEST(OutsideNsysCounts, AgreeWithWhatSqlSays) {
    BUBBLESCOPE_NEED_TRACES("nsys-ai");
    const auto path = test::sharedDir() / "traces/nsys-ai/h100_2gpu_1s.sqlite";
    JobControl control;
    const auto read = readTraces({path}, control);
    ASSERT_TRUE(read.ok()) << read.error().text();
    const FileSummary summary = summarize(*read.value().trace).front();
    EXPECT_EQ(summary.file.format, "nsys");

    sqlite3* database = nullptr;
    const std::string uri = "file:" + path.string() + "?immutable=1";
    ASSERT_EQ(sqlite3_open_v2(uri.c_str(), &database, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, nullptr), SQLITE_OK);
    const auto rows = [&](const std::string& table) {
        return countIn(database, ("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_" + table).c_str());
    };
    const std::map<std::string, std::int64_t> ours(summary.by_category.begin(), summary.by_category.end());
    EXPECT_EQ(ours, (std::map<std::string, std::int64_t>{
                        {"kernel", rows("KERNEL")},
                        {"gpu_memcpy", rows("MEMCPY")},
                        {"gpu_memset", rows("MEMSET")},
                        {"cuda_sync", rows("SYNCHRONIZATION")},
                        {"cuda_runtime", rows("RUNTIME")},
                        {"overhead", rows("OVERHEAD")},
                        {"nvtx", countIn(database, "SELECT count(*) FROM NVTX_EVENTS WHERE eventType = 59")}}));
    // Slices on one stream run one after the other, so their sum is the stream's busy time.
    std::multiset<std::string> streams;
    for (const TrackSummary& track : summary.tracks) {
        if (track.thread.find("stream") != 0 || track.thread.find("sync") != std::string::npos) continue;
        streams.insert(fmt::format("{}|{}|{}|{}|{}", track.process, track.thread, track.slices, track.busy.count(),
                                   (track.last - track.first).count()));
    }
    EXPECT_EQ(streams,
              textsIn(database,
                      "SELECT 'GPU ' || deviceId || ' (process ' || (globalPid / 16777216 % 16777216) || ')|stream ' "
                      "|| streamId || '|' || count(*) || '|' || sum(end - start) || '|' || (max(end) - min(start)) "
                      "FROM (SELECT start, end, globalPid, deviceId, streamId FROM CUPTI_ACTIVITY_KIND_KERNEL "
                      "UNION ALL SELECT start, end, globalPid, deviceId, streamId FROM CUPTI_ACTIVITY_KIND_MEMCPY "
                      "UNION ALL SELECT start, end, globalPid, deviceId, streamId FROM CUPTI_ACTIVITY_KIND_MEMSET) "
                      "GROUP BY globalPid, deviceId, streamId"));
    std::multiset<std::int64_t> threads;
    for (const TrackSummary& track : summary.tracks) {
        if (track.thread.find("stream") != 0) threads.insert(track.slices);
    }
    std::multiset<std::int64_t> expected_threads;
    for (const std::string& count :
         textsIn(database, "SELECT count(*) FROM (SELECT globalTid FROM CUPTI_ACTIVITY_KIND_RUNTIME "
                           "UNION ALL SELECT globalTid FROM CUPTI_ACTIVITY_KIND_OVERHEAD "
                           "UNION ALL SELECT globalTid FROM NVTX_EVENTS WHERE eventType = 59) GROUP BY globalTid"))
        expected_threads.insert(std::stoll(count));
    EXPECT_EQ(threads, expected_threads);
    sqlite3_close(database);
}

TEST(OwnTraceCounts, AgreeWithAPlainCountOfTheEvents) {
    expectSame(test::dataDir() / "traces/small_chrome.json");
}

} // namespace
} // namespace bubblescope
