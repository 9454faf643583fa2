#include "core/formats/perfetto/encoder.h"
#include "core/formats/perfetto/fields.h"
#include "tests/support/made_inputs.h"
#include "tests/support/sanitized.h"
#include "tests/support/shared_data.h"
#include "tests/unit/formats/trace_bytes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <protozero/pbf_writer.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bubblescope::perfetto {
namespace {

using protozero::pbf_writer;
using test::countOf;
using test::findSlice;
using testing::HasSubstr;

constexpr std::uint64_t kFlowIds[] = {77};

std::string smallFile() {
    Encoder encoder(3);
    encoder.process(1, 11, "rank 0", 0);
    encoder.track(2, 1, "compute", 0);
    const std::vector<Arg> args{{"n", std::int64_t{-5}}, {"r", 0.5}, {"b", true}, {"t", std::string_view("text")}};
    encoder.beginSlice(2, TimeNs{1000}, "op", "outer", args, kFlowIds);
    encoder.beginSlice(2, TimeNs{1100}, "op", "inner", {}, kFlowIds);
    encoder.endSlice(2, TimeNs{1200});
    encoder.endSlice(2, TimeNs{1500});
    encoder.instant(1, TimeNs{1600}, "run", "mark");
    encoder.clockSnapshot(TimeNs{5}, TimeNs{6});
    return encoder.take();
}

/// A packet of a foreign writer: inline names, no sequence flags.
std::string foreignEvent(std::int32_t type, std::uint64_t time, std::string_view name, std::uint32_t flags = 0) {
    std::string event;
    pbf_writer event_writer{event};
    event_writer.add_enum(fields::event::kType, type);
    event_writer.add_uint64(fields::event::kTrackUuid, 9);
    event_writer.add_string(fields::event::kCategories, "cat");
    event_writer.add_string(fields::event::kName, name.data(), name.size());
    std::string body;
    pbf_writer body_writer{body};
    body_writer.add_uint64(fields::packet::kTimestamp, time);
    body_writer.add_uint32(fields::packet::kSequenceId, 1);
    if (flags != 0) body_writer.add_uint32(fields::packet::kSequenceFlags, flags);
    body_writer.add_message(fields::packet::kTrackEvent, event);
    std::string out;
    pbf_writer{out}.add_message(fields::trace::kPacket, body);
    return out;
}

class PerfettoReader : public testing::Test {
protected:
    const Trace& read(std::string_view bytes) {
        auto result = test::readBytes(folder_, bytes);
        EXPECT_TRUE(result.ok()) << result.error().text();
        if (result.ok())
            traces_ = std::move(result).value();
        else
            traces_ = {std::make_shared<const Trace>(), {}};
        return *traces_.trace;
    }
    [[nodiscard]] std::int64_t problems(std::string_view kind) const { return countOf(traces_.problems, kind); }

    test::ScratchFolder folder_;
    ReadTraces traces_;
};

TEST_F(PerfettoReader, ReadsWhatTheEncoderWrites) {
    const Trace& trace = read(smallFile());
    EXPECT_TRUE(traces_.problems.empty());
    ASSERT_EQ(trace.sliceCount(), 2U);
    const SliceId outer = findSlice(trace, "outer");
    EXPECT_EQ(trace.category(outer), "op");
    EXPECT_EQ(trace.start(outer), TimeNs{0});
    EXPECT_EQ(trace.end(outer), TimeNs{500});
    const ArgSetId args = trace.sliceArgs()[outer];
    EXPECT_EQ(trace.intArg(args, "n"), -5);
    EXPECT_EQ(trace.arg(args, "r"), ArgValue(0.5));
    EXPECT_EQ(trace.intArg(args, "b"), 1);
    EXPECT_EQ(trace.textArg(args, "t"), "text");

    const Track& track = trace.tracks()[trace.sliceTracks()[outer]];
    EXPECT_EQ(trace.text(track.process_name), "rank 0");
    EXPECT_EQ(trace.text(track.thread_name), "compute");
    EXPECT_EQ(track.pid, 11);

    ASSERT_EQ(trace.flowPoints().size(), 2U);
    EXPECT_EQ(trace.flowPoints()[0].slice, outer);
    EXPECT_EQ(trace.flowPoints()[1].slice, findSlice(trace, "inner"));
    ASSERT_EQ(trace.instants().size(), 1U);
    EXPECT_EQ(trace.instants()[0].time, TimeNs{600});
    EXPECT_EQ(trace.span(), TimeNs{600});
}

TEST_F(PerfettoReader, ReadsForeignWritersInlineNames) {
    const Trace& trace =
        read(foreignEvent(fields::event::kTypeBegin, 10, "a") + foreignEvent(fields::event::kTypeEnd, 30, ""));
    ASSERT_EQ(trace.sliceCount(), 1U);
    EXPECT_EQ(trace.name(0), "a");
    EXPECT_EQ(trace.end(0), TimeNs{20});
}

/// A packet that numbers a name of args, or an instant with an arg of that number.
std::string numberedPacket(std::uint64_t time, std::optional<std::string_view> names_arg, std::uint32_t flags) {
    std::string body;
    pbf_writer packet{body};
    packet.add_uint64(fields::packet::kTimestamp, time);
    packet.add_uint32(fields::packet::kSequenceId, 1);
    if (flags != 0) packet.add_uint32(fields::packet::kSequenceFlags, flags);
    if (names_arg) {
        std::string entry;
        pbf_writer entry_writer{entry};
        entry_writer.add_uint64(fields::interned::kIid, 1);
        entry_writer.add_string(fields::interned::kText, names_arg->data(), names_arg->size());
        std::string interned;
        pbf_writer{interned}.add_message(fields::interned::kArgNames, entry);
        packet.add_message(fields::packet::kInternedData, interned);
    }
    std::string annotation;
    pbf_writer annotation_writer{annotation};
    annotation_writer.add_uint64(fields::annotation::kNameIid, 1);
    annotation_writer.add_int64(fields::annotation::kInt, static_cast<std::int64_t>(time));
    std::string event;
    pbf_writer event_writer{event};
    event_writer.add_enum(fields::event::kType, fields::event::kTypeInstant);
    event_writer.add_string(fields::event::kName, "mark");
    event_writer.add_message(fields::event::kDebugAnnotations, annotation);
    packet.add_message(fields::packet::kTrackEvent, event);
    std::string out;
    pbf_writer{out}.add_message(fields::trace::kPacket, body);
    return out;
}

// Args stay in the file; what their numbers mean is what it was when the event was written.
TEST_F(PerfettoReader, ReadsArgsByTheNamesOfTheirTime) {
    constexpr std::uint32_t kCleared = fields::packet::kFlagStateCleared;
    const std::string bytes = numberedPacket(10, "first", kCleared) + numberedPacket(20, {}, 0) +
                              numberedPacket(30, "second", 0) + numberedPacket(40, {}, 0) +
                              numberedPacket(50, "third", kCleared) + numberedPacket(60, {}, kCleared);
    const Trace& trace = read(bytes);
    const std::vector<std::vector<bubblescope::Arg>> expected{
        {{"first", std::int64_t{10}}},  {{"first", std::int64_t{20}}}, {{"second", std::int64_t{30}}},
        {{"second", std::int64_t{40}}}, {{"third", std::int64_t{50}}}, {{"", std::int64_t{60}}}};
    ASSERT_EQ(trace.instants().size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
        EXPECT_EQ(trace.args(trace.instants()[i].args), expected[i]) << i;
        EXPECT_EQ(trace.intArg(trace.instants()[i].args, expected[i].front().name),
                  std::get<std::int64_t>(expected[i].front().value));
    }
    EXPECT_EQ(trace.argsJson(trace.instants()[3].args), R"({"second":40})");
    EXPECT_EQ(problems("unknown-name"), 1);
}

TEST_F(PerfettoReader, CountsEventsWhoseNamesWereLost) {
    const Trace& trace = read(foreignEvent(fields::event::kTypeInstant, 10, "a", fields::packet::kFlagNeedsState) +
                              foreignEvent(fields::event::kTypeInstant, 20, "b"));
    EXPECT_EQ(trace.instants().size(), 1U);
    EXPECT_EQ(problems("lost-names"), 1);
}

TEST_F(PerfettoReader, CountsPacketsOfOtherKindsAndBrokenOnes) {
    std::string body;
    pbf_writer{body}.add_string(89, "a trace uuid");
    std::string bytes = smallFile();
    pbf_writer{bytes}.add_message(fields::trace::kPacket, body);
    pbf_writer{bytes}.add_message(fields::trace::kPacket, std::string("\x0a\x7f", 2)); // longer than its packet
    EXPECT_EQ(read(bytes).sliceCount(), 2U);
    EXPECT_EQ(problems("unknown-packet"), 1);
    EXPECT_EQ(problems("bad-packet"), 1);
}

// The counts of these inputs are compared by the golden tests; here is what they do not count.
TEST_F(PerfettoReader, ReadsNestedArgsAndCountersInTheirUnits) {
    const Trace& trace =
        read(test::PacketText::bytes(test::readAll(test::dataDir() / "traces/perfetto_track_events.packets")));
    const ArgSetId args = trace.sliceArgs()[findSlice(trace, "request")];
    EXPECT_EQ(trace.intArg(args, "size"), -3);
    EXPECT_EQ(trace.textArg(args, "list"), R"([1, "two", true])");
    EXPECT_EQ(trace.textArg(args, "map"), R"({"k": 0.5, "l": [null]})");
    ASSERT_EQ(trace.counters().size(), 2U);
    EXPECT_EQ(trace.counters()[0].values, (std::vector<double>{4, 2.5}));
    EXPECT_EQ(trace.counters()[1].values, (std::vector<double>{2000, 5000})) << "changes, in units of 1000";
    EXPECT_EQ(trace.counters()[1].pid, 77);
}

TEST_F(PerfettoReader, PutsEventsOnTheTracesClock) {
    const Trace& trace =
        read(test::PacketText::bytes(test::readAll(test::dataDir() / "traces/perfetto_clock_snapshots.packets")));
    EXPECT_EQ(trace.origin(), TimeNs{1'000'000});
    EXPECT_EQ(trace.start(findSlice(trace, "on monotonic")), TimeNs{200'000});
    EXPECT_EQ(trace.end(findSlice(trace, "on monotonic")), TimeNs{1'100'000}) << "by the second snapshot";
    EXPECT_EQ(trace.start(findSlice(trace, "on realtime")), TimeNs{300'000}) << "by way of the monotonic clock";
}

TEST_F(PerfettoReader, LeavesSlicesOpenThatNeverEnd) {
    const Trace& trace =
        read(foreignEvent(fields::event::kTypeBegin, 10, "open") +
             foreignEvent(fields::event::kTypeBegin, 20, "closed") + foreignEvent(fields::event::kTypeEnd, 30, ""));
    ASSERT_EQ(trace.sliceCount(), 2U);
    ASSERT_EQ(trace.openSlices().size(), 1U);
    EXPECT_EQ(trace.name(trace.openSlices()[0]), "open");
    EXPECT_EQ(trace.end(trace.openSlices()[0]), trace.span());
    EXPECT_EQ(problems("unmatched-begin"), 1);
}

TEST_F(PerfettoReader, GoesOnBehindDamage) {
    const std::string bytes = smallFile();
    for (const std::string& damage :
         {std::string("damage"), std::string(100, '\0'), std::string("\x0a\xff\xff\xff\x7f")}) {
        EXPECT_EQ(read(bytes + damage + bytes).sliceCount(), 4U);
        ASSERT_EQ(problems("corrupt"), 1);
        EXPECT_THAT(traces_.problems[0].where.text(), HasSubstr("byte " + std::to_string(bytes.size())));
    }
}

/// An event as Chrome wrote it before TrackEvents had types and tracks.
std::string legacyEvent(char phase, std::uint64_t time, std::string_view name, std::int64_t duration,
                        std::uint64_t id) {
    std::string legacy;
    pbf_writer legacy_writer{legacy};
    legacy_writer.add_int32(fields::legacy_event::kPhase, phase);
    legacy_writer.add_int64(fields::legacy_event::kDurationUs, duration);
    legacy_writer.add_uint64(fields::legacy_event::kUnscopedId, id);
    std::string event;
    pbf_writer event_writer{event};
    event_writer.add_string(fields::event::kName, name.data(), name.size());
    event_writer.add_message(fields::event::kLegacyEvent, legacy);
    std::string body;
    pbf_writer body_writer{body};
    body_writer.add_uint64(fields::packet::kTimestamp, time);
    body_writer.add_uint32(fields::packet::kSequenceId, 1);
    body_writer.add_message(fields::packet::kTrackEvent, event);
    std::string out;
    pbf_writer{out}.add_message(fields::trace::kPacket, body);
    return out;
}

TEST_F(PerfettoReader, ReadsEventsOfChromesJsonInPackets) {
    std::string thread;
    pbf_writer thread_writer{thread};
    thread_writer.add_int32(fields::thread::kPid, 5);
    thread_writer.add_int32(fields::thread::kTid, 6);
    thread_writer.add_string(fields::thread::kName, "worker");
    std::string body;
    pbf_writer body_writer{body};
    body_writer.add_uint32(fields::packet::kSequenceId, 1);
    body_writer.add_message(fields::packet::kThreadDescriptor, thread);
    std::string packet;
    pbf_writer{packet}.add_message(fields::trace::kPacket, body);

    const Trace& trace = read(packet + legacyEvent('X', 1000, "whole", 3, 0) + legacyEvent('B', 5000, "pair", 0, 0) +
                              legacyEvent('E', 7000, "", 0, 0) + legacyEvent('b', 1000, "request", 0, 9) +
                              legacyEvent('e', 4000, "request", 0, 9) + legacyEvent('i', 2000, "mark", 0, 0) +
                              legacyEvent('Q', 2000, "unknown", 0, 0));
    ASSERT_EQ(trace.sliceCount(), 3U);
    EXPECT_EQ(trace.sliceDurations()[findSlice(trace, "whole")], 3000);
    EXPECT_EQ(trace.sliceDurations()[findSlice(trace, "pair")], 2000);
    EXPECT_EQ(trace.sliceDurations()[findSlice(trace, "request")], 3000);
    const Track& track = trace.tracks()[trace.sliceTracks()[findSlice(trace, "whole")]];
    EXPECT_EQ(track.pid, 5);
    EXPECT_EQ(track.tid, 6);
    EXPECT_EQ(trace.text(track.thread_name), "worker");
    EXPECT_EQ(trace.tracks()[trace.sliceTracks()[findSlice(trace, "request")]].pid, 5);
    EXPECT_EQ(trace.instants().size(), 1U);
    EXPECT_EQ(problems("unknown-event"), 1);
}

TEST_F(PerfettoReader, ReadsFilesThatWereAppendedToEachOther) {
    EXPECT_EQ(read(smallFile() + smallFile()).sliceCount(), 4U) << "interning starts again where it is cleared";
    EXPECT_TRUE(traces_.problems.empty());
}

TEST_F(PerfettoReader, StopsWhereZerosFollowAsAfterAPowerCut) {
    const std::string bytes = smallFile();
    EXPECT_EQ(read(bytes + std::string(100, '\0')).sliceCount(), 2U);
    ASSERT_EQ(problems("corrupt"), 1);
    EXPECT_THAT(traces_.problems[0].where.text(), HasSubstr("byte " + std::to_string(bytes.size())));
}

TEST_F(PerfettoReader, SurvivesACutAtEveryByte) {
    const std::string bytes = smallFile();
    std::size_t most = 0;
    for (std::size_t size = 0; size < bytes.size(); ++size) {
        auto result = test::readBytes(folder_, std::string_view(bytes).substr(0, size));
        if (!result.ok()) {
            EXPECT_EQ(result.error().kind, ErrorKind::Input) << size;
            EXPECT_EQ(most, 0U) << size;
            continue;
        }
        const std::size_t slices = result.value().trace->sliceCount();
        EXPECT_GE(slices, most) << size;
        most = slices;
    }
    EXPECT_EQ(most, 2U);
}

TEST_F(PerfettoReader, SurvivesAnyChangedByte) {
    const std::string bytes = smallFile();
    for (std::size_t i = 0; i < bytes.size(); i += test::kSanitized ? 7 : 1) { // fuzzers see to the rest
        for (int value = 0; value < 256; value += 5) {
            std::string changed = bytes;
            changed[i] = static_cast<char>(value);
            const auto result = test::readBytes(folder_, changed);
            EXPECT_TRUE(result.ok() || result.error().kind == ErrorKind::Input);
        }
    }
}

TEST_F(PerfettoReader, SurvivesChangedBytesInWhatOthersWrite) {
    for (const auto& entry : std::filesystem::directory_iterator(test::dataDir() / "traces")) {
        if (entry.path().extension() != ".packets") continue;
        const std::string bytes = test::PacketText::bytes(test::readAll(entry.path()));
        for (std::size_t i = 0; i < bytes.size(); ++i) {
            for (const int change : {0x01, 0x80, 0xff}) {
                std::string changed = bytes;
                changed[i] = static_cast<char>(changed[i] ^ change);
                const auto result = test::readBytes(folder_, changed);
                EXPECT_TRUE(result.ok() || result.error().kind == ErrorKind::Input);
            }
        }
    }
}

} // namespace
} // namespace bubblescope::perfetto
