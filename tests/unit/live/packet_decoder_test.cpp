#include "core/formats/perfetto/event_stream.h"
#include "core/formats/perfetto/fields.h"
#include "core/formats/read_trace.h"
#include "tests/support/scratch_folder.h"
#include "tests/support/shared_data.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <protozero/pbf_writer.hpp>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>
#include <variant>
#include <vector>

// Whole files and growing streams decode packets alike.
namespace bubblescope::perfetto {
namespace {

template <class Args>
std::string lineOf(TimeNs start, TimeNs end, std::string_view category, std::string_view name, const Args& args) {
    std::string line = fmt::format("{}-{} {} {}", start.count(), end.count(), category, name);
    for (const auto& arg : args)
        std::visit([&](const auto& value) { line += fmt::format(" {}={}", arg.name, value); }, arg.value);
    return line;
}

struct Decoded {
    std::vector<std::string> events; ///< slices and instants, with their args
    std::int64_t lost = 0;
};

Decoded asStream(std::string_view bytes) {
    constexpr std::size_t kPiece = 4'099;
    Decoded out;
    StreamMemory memory;
    EventStream stream(
        [&](const StreamEvent& event) {
            out.events.push_back(lineOf(event.start, event.end, event.category, event.name, event.args));
        },
        nullptr, memory);
    for (std::size_t at = 0; at < bytes.size(); at += kPiece)
        stream.feed(bytes.substr(at, kPiece));
    std::ranges::sort(out.events);
    out.lost = stream.counts().damaged;
    return out;
}

Decoded asFile(std::string_view bytes) {
    const test::ScratchFolder folder;
    JobControl control;
    const auto read = readTraces({folder.write("trace.pftrace", bytes)}, control);
    Decoded out;
    if (!read.ok()) return out;
    const Trace& trace = *read.value().trace;
    const TimeNs origin = trace.originInFile();
    for (SliceId slice = 0; slice < trace.sliceCount(); ++slice) {
        if (!trace.isOpen(slice))
            out.events.push_back(lineOf(trace.start(slice) + origin, trace.end(slice) + origin, trace.category(slice),
                                        trace.name(slice), trace.args(trace.sliceArgs()[slice])));
    }
    for (const Instant& instant : trace.instants())
        out.events.push_back(lineOf(instant.time + origin, instant.time + origin, trace.text(instant.category),
                                    trace.text(instant.name), trace.args(instant.args)));
    std::ranges::sort(out.events);
    for (const Diagnostic& problem : read.value().problems)
        out.lost += problem.count;
    return out;
}

TEST(PacketDecoder, StreamsHaveTheEventsOfRecordedFiles) {
    for (const char* name :
         {"h200-checked-run/rank0.pftrace", "h200-checked-run/rank1.pftrace", "h200-torch-job/vm.pid1217.pftrace"}) {
        const std::string bytes = test::readAll(test::dataDir() / "recordings" / name);
        const Decoded stream = asStream(bytes);
        EXPECT_GT(stream.events.size(), 1'000U) << name;
        EXPECT_EQ(stream.events, asFile(bytes).events) << name;
        EXPECT_EQ(stream.lost, 0) << name;
    }
}

std::string message(const auto& write) {
    std::string bytes;
    protozero::pbf_writer writer(bytes);
    write(writer);
    return bytes;
}

std::string numberedText(std::uint64_t number, const char* text) {
    return message([&](auto& writer) {
        writer.add_uint64(fields::interned::kIid, number);
        writer.add_string(fields::interned::kText, text);
    });
}

std::string clockAt(std::uint32_t id, std::int64_t time) {
    return message([&](auto& writer) {
        writer.add_uint32(fields::clock::kId, id);
        writer.add_int64(fields::clock::kTimestamp, time);
    });
}

/// A packet with an event of that type on sequence 1.
std::string packetWith(std::int32_t type, const auto& more) {
    const std::string event = message([&](auto& writer) {
        writer.add_int32(fields::event::kType, type);
        if (type == fields::event::kTypeEnd) return;
        writer.add_uint64(fields::event::kNameIid, 1);
        writer.add_uint64(fields::event::kCategoryIids, 1);
        writer.add_uint64(fields::event::kCategoryIids, 2);
    });
    return message([&](auto& trace) {
        trace.add_message(fields::trace::kPacket, message([&](auto& packet) {
                              packet.add_uint32(fields::packet::kSequenceId, 1);
                              packet.add_message(fields::packet::kTrackEvent, event);
                              more(packet);
                          }));
    });
}

// Features that Bubblescope's writers do not use, but Perfetto's do.
TEST(PacketDecoder, StreamsReadDefaultsCategoriesAndClearedStateLikeFiles) {
    constexpr std::uint32_t kOwnClock = fields::clock::kFirstOfSequence;
    std::string bytes = packetWith(fields::event::kTypeBegin, [&](auto& packet) {
        packet.add_int64(fields::packet::kTimestamp, 100);
        packet.add_bool(fields::packet::kPreviousPacketDropped, true); // what was lost does not matter any more
        packet.add_uint32(fields::packet::kSequenceFlags,
                          fields::packet::kFlagStateCleared | fields::packet::kFlagNeedsState);
        packet.add_message(fields::packet::kInternedData, message([](auto& interned) {
                               interned.add_message(fields::interned::kNames, numberedText(1, "work"));
                               interned.add_message(fields::interned::kCategories, numberedText(1, "first"));
                               interned.add_message(fields::interned::kCategories, numberedText(2, "second"));
                           }));
        packet.add_message(fields::packet::kDefaults, message([&](auto& defaults) {
                               defaults.add_uint32(fields::defaults::kTimestampClockId, kOwnClock);
                               defaults.add_message(fields::defaults::kTrackEventDefaults, message([](auto& event) {
                                                        event.add_uint64(fields::defaults::kTrackUuid, 9);
                                                    }));
                           }));
        packet.add_message(fields::packet::kClockSnapshot, message([&](auto& snapshot) {
                               snapshot.add_message(fields::clock::kClocks, clockAt(kOwnClock, 0));
                               snapshot.add_message(fields::clock::kClocks, clockAt(fields::clock::kBoottime, 1'000));
                           }));
    });
    bytes += packetWith(fields::event::kTypeInstant, [](auto&) {}); // no time
    bytes +=
        packetWith(fields::event::kTypeEnd, [](auto& packet) { packet.add_int64(fields::packet::kTimestamp, 150); });
    const Decoded stream = asStream(bytes);
    EXPECT_EQ(stream.events, std::vector<std::string>{"1100-1150 first,second work"});
    EXPECT_EQ(stream.lost, 1);
    const Decoded file = asFile(bytes);
    EXPECT_EQ(file.events, stream.events);
    EXPECT_EQ(file.lost, 1);
}

} // namespace
} // namespace bubblescope::perfetto
