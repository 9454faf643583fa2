#include "core/formats/chrome/decimal.h"
#include "tests/support/sanitized.h"
#include "tests/support/shared_data.h"
#include "tests/unit/formats/trace_bytes.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace bubblescope {
namespace {

using chrome::microsecondsToNs;
using test::countOf;
using test::findSlice;
using testing::HasSubstr;

TEST(Microseconds, AreExactBeyondWhatADoubleHolds) {
    EXPECT_EQ(microsecondsToNs("0"), TimeNs{0});
    EXPECT_EQ(microsecondsToNs("1.5"), TimeNs{1500});
    EXPECT_EQ(microsecondsToNs("1790857026123456.789"), TimeNs{1790857026123456789});
    EXPECT_EQ(microsecondsToNs("-2.001"), TimeNs{-2001});
    EXPECT_EQ(microsecondsToNs("1.2345"), TimeNs{1235});
    EXPECT_EQ(microsecondsToNs("1.23449999999999999999999999"), TimeNs{1234});
    EXPECT_EQ(microsecondsToNs("1.5e3"), TimeNs{1500000});
    EXPECT_EQ(microsecondsToNs("15E-1"), TimeNs{1500});
    EXPECT_EQ(microsecondsToNs("0.0000000000000001"), TimeNs{0});
}

TEST(Microseconds, RefusesWhatIsNoTime) {
    for (const char* const text : {"", "-", ".", "abc", "1.5x", "1e", "1e9999", "9223372036854775808", "1e30", "NaN"})
        EXPECT_FALSE(microsecondsToNs(text).has_value()) << text;
}

class ChromeReader : public testing::Test {
protected:
    const Trace& read(std::string_view text) {
        auto result = test::readBytes(folder_, text);
        EXPECT_TRUE(result.ok()) << result.error().text();
        if (result.ok())
            traces_ = std::move(result).value();
        else
            traces_ = {std::make_shared<const Trace>(), {}};
        return *traces_.trace;
    }
    Error readError(std::string_view text) {
        auto result = test::readBytes(folder_, text);
        EXPECT_FALSE(result.ok()) << "a trace with " << result.value().trace->sliceCount() << " slices";
        return result.ok() ? Error{} : result.error();
    }
    [[nodiscard]] std::int64_t problems(std::string_view kind) const { return countOf(traces_.problems, kind); }

    test::ScratchFolder folder_;
    ReadTraces traces_;
};

TEST_F(ChromeReader, ReadsEveryKindOfEvent) {
    const Trace& trace = read(test::readAll(test::dataDir() / "traces/small_chrome.json"));
    ASSERT_EQ(trace.sliceCount(), 3U);
    EXPECT_TRUE(traces_.problems.empty());
    EXPECT_EQ(trace.origin(), TimeNs{10'000});

    const SliceId outer = findSlice(trace, "outer");
    EXPECT_EQ(trace.start(outer), TimeNs{0});
    EXPECT_EQ(trace.end(outer), TimeNs{100'500});
    const ArgSetId args = trace.sliceArgs()[outer];
    EXPECT_EQ(trace.intArg(args, "bytes"), 4096);
    EXPECT_EQ(trace.arg(args, "rate"), ArgValue(1.5));
    EXPECT_EQ(trace.intArg(args, "ok"), 1);
    EXPECT_EQ(trace.textArg(args, "shape"), "[1, [2]]");
    EXPECT_EQ(trace.textArg(args, "text"), "a \"quoted\" one");
    const Track& stream = trace.tracks()[trace.sliceTracks()[outer]];
    EXPECT_EQ(trace.text(stream.process_name), "trainer");
    EXPECT_EQ(trace.text(stream.thread_name), "compute");

    EXPECT_EQ(trace.start(findSlice(trace, "inner")), TimeNs{10'250});
    const SliceId pair = findSlice(trace, "pair");
    EXPECT_EQ(trace.tracks()[trace.sliceTracks()[pair]].pid, 7) << "a pid written as text is still a number";
    EXPECT_EQ(trace.intArg(trace.sliceArgs()[pair], "a"), 1);
    EXPECT_EQ(trace.intArg(trace.sliceArgs()[pair], "b"), 2) << "the end's args hold";

    ASSERT_EQ(trace.instants().size(), 1U);
    EXPECT_EQ(trace.instants()[0].time, TimeNs{25'000});
    ASSERT_EQ(trace.counters().size(), 2U);
    EXPECT_EQ(trace.text(trace.counters()[0].name), "memory used");
    EXPECT_EQ(trace.counters()[0].values, std::vector<double>{12});
    ASSERT_EQ(trace.flowPoints().size(), 2U);
    EXPECT_EQ(trace.flowPoints()[0].id, trace.flowPoints()[1].id);
    EXPECT_EQ(trace.flowPoints()[0].slice, findSlice(trace, "inner"));
    EXPECT_EQ(trace.flowPoints()[1].slice, pair);
}

TEST_F(ChromeReader, LearnsBaseTimeAndRankAfterTheEvents) {
    const Trace& trace = read(R"({"traceEvents": [{"ph":"X","name":"a","pid":1,"tid":1,"ts":4319132568188.491,"dur":1}],
        "distributedInfo": {"backend": "nccl", "rank": "3"}, "baseTimeNanoseconds": 1790857026000000000})");
    EXPECT_EQ(trace.origin(), TimeNs{1795176158568188491});
    EXPECT_EQ(trace.files()[0].rank, 3);
    EXPECT_EQ(trace.files()[0].format, "kineto");
}

TEST_F(ChromeReader, PairsBeginsAndEndsThatAreOutOfOrder) {
    const Trace& trace = read(R"([{"ph":"E","pid":1,"tid":1,"ts":9},{"ph":"B","name":"a","pid":1,"tid":1,"ts":1},
        {"ph":"E","pid":1,"tid":1,"ts":5},{"ph":"B","name":"b","pid":1,"tid":1,"ts":2}])");
    EXPECT_EQ(trace.end(findSlice(trace, "a")), TimeNs{8'000});
    EXPECT_EQ(trace.end(findSlice(trace, "b")), TimeNs{4'000});
}

TEST_F(ChromeReader, ReadsSeveralArraysOfEvents) {
    const auto array = [](std::string_view name, std::string_view thread) {
        return fmt::format(R"("traceEvents":[{{"ph":"X","name":"{}","pid":1,"tid":"{}","ts":1,"dur":1}}])", name,
                           thread);
    };
    const Trace& trace = read(fmt::format("{{{},{}}}", array("alpha", "beta"), array("gamma", "delta")));
    ASSERT_EQ(trace.sliceCount(), 2U);
    for (const auto& [name, thread] : {std::pair("alpha", "beta"), {"gamma", "delta"}}) {
        const SliceId slice = findSlice(trace, name);
        ASSERT_NE(slice, kNoId) << name;
        EXPECT_EQ(trace.text(trace.tracks()[trace.sliceTracks()[slice]].thread_name), thread);
    }
}

TEST_F(ChromeReader, ReportsTextsThatAreNoUtf8WhereEventsHaveThem) {
    read("{\"traceEvents\":[{\"ph\":\"X\",\"name\":\"n\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":1}],\"note\":\"\xff\"}");
    EXPECT_EQ(problems("bad-text"), 0);
    read("{\"traceEvents\":[{\"ph\":\"X\",\"name\":\"\xff\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":1}],\"note\":\"n\"}");
    EXPECT_EQ(problems("bad-text"), 1);
}

TEST_F(ChromeReader, LeavesSlicesOpenThatNeverEnd) {
    const Trace& trace = read(R"([{"ph":"E","pid":1,"tid":1,"ts":0},{"ph":"B","name":"a","pid":1,"tid":1,"ts":1},
        {"ph":"B","name":"b","pid":1,"tid":1,"ts":2},{"ph":"E","pid":1,"tid":1,"ts":3}])");
    ASSERT_EQ(trace.sliceCount(), 2U);
    EXPECT_EQ(trace.end(findSlice(trace, "b")), TimeNs{2'000});
    ASSERT_EQ(trace.openSlices().size(), 1U);
    EXPECT_EQ(trace.name(trace.openSlices()[0]), "a");
    EXPECT_EQ(trace.end(trace.openSlices()[0]), trace.span());
    EXPECT_EQ(problems("unmatched-end"), 1);
    EXPECT_EQ(problems("unmatched-begin"), 1);
}

TEST_F(ChromeReader, KeepsOverlapsOnARowOfTheirOwn) {
    const Trace& trace = read(R"([{"ph":"X","name":"a","pid":1,"tid":1,"ts":0,"dur":10},
        {"ph":"X","name":"b","pid":1,"tid":1,"ts":5,"dur":10},{"ph":"X","name":"c","pid":1,"tid":1,"ts":6,"dur":2}])");
    ASSERT_EQ(trace.sliceCount(), 3U);
    EXPECT_EQ(problems("overlap"), 1);
    const Track& spilled = trace.tracks()[trace.sliceTracks()[findSlice(trace, "b")]];
    EXPECT_EQ(spilled.spilled_from, trace.sliceTracks()[findSlice(trace, "a")]);
    EXPECT_EQ(trace.sliceTracks()[findSlice(trace, "c")], trace.sliceTracks()[findSlice(trace, "a")]);
}

TEST_F(ChromeReader, BindsFlowsAsTheFormatSays) {
    const Trace& trace = read(test::readAll(test::dataDir() / "traces/chrome_flows.json"));
    std::vector<std::vector<std::string_view>> flows;
    for (std::size_t i = 0; i < trace.flowPoints().size(); ++i) {
        const FlowPoint& point = trace.flowPoints()[i];
        if (i == 0 || trace.flowPoints()[i - 1].id != point.id) flows.emplace_back();
        flows.back().push_back(point.slice == kNoId ? "" : trace.name(point.slice));
    }
    using Names = std::vector<std::string_view>;
    EXPECT_THAT(flows, testing::UnorderedElementsAre(Names{"send", "relay", "receive"}, Names{"receive", "late"},
                                                     Names{"post", "pick"}));
    EXPECT_TRUE(traces_.problems.empty());
}

TEST_F(ChromeReader, KeepsAsynchronousSlicesApartByCategoryAndId) {
    const Trace& trace = read(test::readAll(test::dataDir() / "traces/chrome_asynchronous.json"));
    EXPECT_EQ(trace.end(findSlice(trace, "write")), TimeNs{40'000}) << "its end has no name";
    EXPECT_EQ(trace.end(findSlice(trace, "request")), TimeNs{60'000});
    ASSERT_EQ(trace.instants().size(), 2U);
    const SliceId read_one = findSlice(trace, "read");
    EXPECT_EQ(trace.instants()[0].track, trace.sliceTracks()[read_one]) << "what happens in a slice is on its row";
}

TEST_F(ChromeReader, CountsEventsThatMakeNoSense) {
    const Trace& trace = read(R"([{"ph":"X","name":"a","pid":1,"tid":1,"ts":0,"dur":10}, 5, null, {"ph":"X","name":"n"},
        {"ph":"X","ts":"soon"}, {"ph":"X","name":"m","pid":1,"tid":1,"ts":1,"dur":-4}, {"ph":"q","ts":1}, {"no":"phase","ts":2},
        {"ph":"X","name":"bad \x escape","pid":1,"tid":1,"ts":3,"dur":1}])");
    EXPECT_EQ(trace.sliceCount(), 3U) << "a, m and the one whose name has a wrong escape";
    EXPECT_NE(findSlice(trace, R"(bad \x escape)"), kNoId);
    EXPECT_EQ(problems("bad-event"), 2);
    EXPECT_EQ(problems("no-time"), 1);
    EXPECT_EQ(problems("bad-time"), 1);
    EXPECT_EQ(problems("negative-duration"), 1);
    EXPECT_EQ(problems("unknown-phase"), 1);
    EXPECT_EQ(problems("no-phase"), 1);
}

TEST_F(ChromeReader, NamesThePlaceWhereAFileIsCutOff) {
    const std::string whole = R"([{"ph":"X","name":"a","pid":1,"tid":1,"ts":0,"dur":1},)";
    const Trace& trace = read(whole + R"({"ph":"X","name":"b","pi)");
    EXPECT_EQ(trace.sliceCount(), 1U);
    ASSERT_EQ(problems("truncated"), 1);
    EXPECT_THAT(traces_.problems[0].where.text(), HasSubstr("byte " + std::to_string(whole.size())));
}

// Wherever the file is cut, exactly the complete slices before the cut are read.
TEST_F(ChromeReader, SurvivesACutAtEveryByte) {
    const std::string text = test::readAll(test::dataDir() / "traces/small_chrome.json");
    std::size_t most = 0;
    for (std::size_t size = 0; size < text.size(); ++size) {
        auto result = test::readBytes(folder_, std::string_view(text).substr(0, size));
        if (!result.ok()) {
            EXPECT_EQ(result.error().kind, ErrorKind::Input) << size;
            EXPECT_FALSE(result.error().where.empty()) << size;
            EXPECT_EQ(most, 0U) << "events were lost at " << size;
            continue;
        }
        const std::size_t slices = result.value().trace->sliceCount();
        EXPECT_GE(slices, most) << size;
        most = slices;
        const std::string_view rest = std::string_view(text).substr(size);
        if (rest.find_first_not_of(" \n") != std::string_view::npos) {
            EXPECT_GE(countOf(result.value().problems, "truncated"), 1) << size;
        }
    }
    EXPECT_EQ(most, 3U);
}

TEST_F(ChromeReader, SurvivesAnyChangedByte) {
    const std::string text = test::readAll(test::dataDir() / "traces/small_chrome.json");
    for (std::size_t i = 0; i < text.size(); i += test::kSanitized ? 7 : 1) { // fuzzers see to the rest
        for (const char replacement : {'"', '{', ']', '\\', '\0', '\xff', '9'}) {
            std::string changed = text;
            changed[i] = replacement;
            const auto result = test::readBytes(folder_, changed);
            EXPECT_TRUE(result.ok() || result.error().kind == ErrorKind::Input);
        }
    }
}

TEST_F(ChromeReader, TellsOtherJsonFromTraces) {
    EXPECT_THAT(readError(R"({"name": "x", "version": 2})").message, HasSubstr("not a trace"));
    EXPECT_THAT(readError(R"({"name": "x", "version": 2})").message, HasSubstr("name, version"));
    EXPECT_THAT(readError(R"([1, 2, 3])").message, HasSubstr("not a trace"));
    EXPECT_THAT(readError(R"({"traceEvents": 5})").message, HasSubstr("not a trace"));
    EXPECT_THAT(readError(R"({"traceEvents": []})").message, HasSubstr("is a trace without events"));
    EXPECT_THAT(readError(R"({"traceEvents": [)").message, HasSubstr("before the first event"));
    EXPECT_THAT(readError(R"({"traceEvents": [)").where, HasSubstr("byte "));
}

} // namespace
} // namespace bubblescope
