#include "core/formats/perfetto/event_stream.h"

#include "core/formats/perfetto/fields.h"
#include "tests/support/sanitized.h"

#include <gtest/gtest.h>

#include <malloc.h>
#include <protozero/pbf_writer.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace bubblescope::perfetto {
namespace {

struct Seen {
    std::vector<std::string> events;
    std::vector<ClockReading> clocks;
};

class EventStreamTest : public testing::Test {
protected:
    StreamMemory memory_;
    EventStream stream_{[this](const StreamEvent& event) {
                            std::string text = std::string(event.category) + " " + std::string(event.name);
                            if (const auto number = event.integer("n")) text += " n=" + std::to_string(*number);
                            if (const auto word = event.text("t")) text += " t=" + std::string(*word);
                            text += " " + std::string(stream_.processOf(event.track)) + " " +
                                    std::to_string(event.start.count()) + "-" + std::to_string(event.end.count());
                            seen_.events.push_back(text);
                        },
                        [this](const ClockReading& clocks) { seen_.clocks.push_back(clocks); }, memory_};
    Seen seen_;
    Encoder encoder_{7};

    std::string beginning() {
        encoder_.process(1, 1, "rank 0", 0);
        encoder_.track(2, 1, "compute", 0);
        encoder_.clockSnapshot(TimeNs{5}, TimeNs{1'000});
        return encoder_.take();
    }
    std::string slice(int number) {
        const std::vector<Arg> args{{"n", std::int64_t{number}}, {"t", std::string_view("some text of its own")}};
        encoder_.beginSlice(2, TimeNs{100 * number}, "op", "F" + std::to_string(number), args);
        encoder_.endSlice(2, TimeNs{100 * number + 50});
        return encoder_.take();
    }
};

TEST_F(EventStreamTest, HandsOutEventsByteByByte) {
    std::string bytes = beginning();
    bytes += slice(1);
    bytes += slice(2);
    for (const char byte : bytes)
        stream_.feed({&byte, 1});
    EXPECT_EQ(seen_.events, (std::vector<std::string>{"op F1 n=1 t=some text of its own rank 0 100-150",
                                                      "op F2 n=2 t=some text of its own rank 0 200-250"}));
    ASSERT_EQ(seen_.clocks.size(), 1U);
    EXPECT_EQ(seen_.clocks[0].realtime, TimeNs{1'000});
    EXPECT_EQ(stream_.pending(), 0U);
    EXPECT_EQ(stream_.counts().damaged, 0);
}

TEST_F(EventStreamTest, WaitsForTheRestOfAPacket) {
    stream_.feed(beginning());
    const std::string bytes = slice(1);
    stream_.feed(bytes.substr(0, bytes.size() - 1));
    EXPECT_TRUE(seen_.events.empty());
    EXPECT_GT(stream_.pending(), 0U);
    stream_.feed(bytes.substr(bytes.size() - 1));
    EXPECT_EQ(seen_.events.size(), 1U);
}

TEST_F(EventStreamTest, GoesOnBehindWhatIsNoPacket) {
    stream_.feed(beginning());
    const std::string first = slice(1);
    const std::string second = slice(2);
    const std::string third = slice(3);
    stream_.feed(first + std::string(4096, '\0') + second); // what a file system leaves of a page that was lost
    stream_.feed(third.substr(0, 5));
    stream_.feed(third.substr(5));
    EXPECT_EQ(seen_.events.size(), 3U);
    EXPECT_EQ(stream_.counts().torn, 1);
    EXPECT_EQ(stream_.counts().skipped, 4096);
}

TEST_F(EventStreamTest, AnEndWithoutABeginIsCounted) {
    stream_.feed(beginning());
    encoder_.endSlice(2, TimeNs{10});
    stream_.feed(encoder_.take());
    EXPECT_EQ(stream_.counts().unmatched, 1);
    EXPECT_TRUE(seen_.events.empty());
}

// The data of slices must not move when others begin and end: short texts, and texts that strings store in place.
TEST_F(EventStreamTest, TextsOfSlicesWithinOthersStayTheirs) {
    stream_.feed(beginning());
    for (int depth = 0; depth < 20; ++depth) {
        const std::string text(static_cast<std::size_t>(depth), static_cast<char>('a' + depth));
        const std::vector<Arg> args{{"t", std::string_view(text)}, {"n", std::int64_t{depth - 3}}};
        encoder_.beginSlice(2, TimeNs{depth}, "op", "slice", args);
        stream_.feed(encoder_.take());
    }
    for (int depth = 0; depth < 20; ++depth)
        encoder_.endSlice(2, TimeNs{100});
    stream_.feed(encoder_.take());
    ASSERT_EQ(seen_.events.size(), 20U);
    for (int depth = 0; depth < 20; ++depth) {
        const std::string text(static_cast<std::size_t>(depth), static_cast<char>('a' + depth));
        EXPECT_EQ(seen_.events[static_cast<std::size_t>(19 - depth)], "op slice n=" + std::to_string(depth - 3) +
                                                                          " t=" + text + " rank 0 " +
                                                                          std::to_string(depth) + "-100");
    }
}

/// A slice with these annotations, whose texts and names `interned` numbers.
std::string withAnnotations(const std::vector<std::string>& annotations, const std::string& interned) {
    std::string event;
    protozero::pbf_writer writer(event);
    writer.add_int32(fields::event::kType, fields::event::kTypeBegin);
    writer.add_uint64(fields::event::kTrackUuid, 2);
    for (const std::string& annotation : annotations)
        writer.add_message(fields::event::kDebugAnnotations, annotation);
    std::string end;
    protozero::pbf_writer end_writer(end);
    end_writer.add_int32(fields::event::kType, fields::event::kTypeEnd);
    end_writer.add_uint64(fields::event::kTrackUuid, 2);
    std::string bytes;
    protozero::pbf_writer trace(bytes);
    for (const std::string& message : {event, end}) {
        protozero::pbf_writer packet(trace, fields::trace::kPacket);
        packet.add_int64(fields::packet::kTimestamp, 5);
        packet.add_uint32(fields::packet::kSequenceId, 1);
        packet.add_uint32(fields::packet::kSequenceFlags,
                          &message == &end ? 0 : fields::packet::kFlagStateCleared | fields::packet::kFlagNeedsState);
        if (message == event) packet.add_message(fields::packet::kInternedData, interned);
        packet.add_message(fields::packet::kTrackEvent, message);
    }
    return bytes;
}

std::string entry(std::uint64_t number, std::string_view text) {
    std::string bytes;
    protozero::pbf_writer writer(bytes);
    writer.add_uint64(fields::interned::kIid, number);
    writer.add_string(fields::interned::kText, std::string(text));
    return bytes;
}

// Numbers are small in our files; others may choose any.
TEST(EventStreamArgs, NumbersAndValuesOfAnySizeAreRead) {
    constexpr std::array<std::uint64_t, 6> kNumbers{1, 33, 127, 128, 1'000'000, UINT64_MAX};
    const std::vector<std::int64_t> values{0, 127, 128, -1, INT64_MAX, INT64_MIN};
    std::string interned;
    std::vector<std::string> annotations;
    {
        protozero::pbf_writer writer(interned);
        for (const std::uint64_t number : kNumbers)
            writer.add_message(fields::interned::kArgNames, entry(number, "name " + std::to_string(number)));
        writer.add_message(fields::interned::kArgNames, entry(2, "again"));
        writer.add_message(fields::interned::kArgNames, entry(2, "text"));
        writer.add_message(fields::interned::kArgStrings, entry(7, "numbered"));
    }
    for (std::size_t i = 0; i < kNumbers.size(); ++i) {
        protozero::pbf_writer writer(annotations.emplace_back());
        writer.add_uint64(fields::annotation::kNameIid, kNumbers.at(i));
        writer.add_int64(fields::annotation::kInt, values[i]);
    }
    const auto add = [&annotations](auto write) {
        protozero::pbf_writer writer(annotations.emplace_back());
        write(writer);
    };
    namespace annotation = fields::annotation;
    add([](auto& writer) {
        writer.add_string(annotation::kName, "spelled");
        writer.add_bool(annotation::kBool, true);
    });
    add([](auto& writer) {
        writer.add_uint64(annotation::kNameIid, 2);
        writer.add_string(annotation::kString, "first");
    });
    add([](auto& writer) { // of the same name
        writer.add_string(annotation::kName, "text");
        writer.add_string(annotation::kString, "second");
    });
    add([](auto& writer) {
        writer.add_string(annotation::kString, std::string(300, 'x')); // the value before its name
        writer.add_string(annotation::kName, "long");
    });
    add([](auto& writer) {
        writer.add_string(annotation::kName, "interned");
        writer.add_uint64(annotation::kStringIid, 7);
    });
    StreamMemory memory;
    int slices = 0;
    EventStream stream(
        [&](const StreamEvent& event) {
            ++slices;
            for (std::size_t i = 0; i < kNumbers.size(); ++i)
                EXPECT_EQ(event.integer("name " + std::to_string(kNumbers.at(i))), values[i]) << i;
            EXPECT_EQ(event.integer("spelled"), 1);
            EXPECT_EQ(event.text("text"), "first");
            EXPECT_EQ(event.text("text"), "first") << "however often it is asked for";
            EXPECT_EQ(event.text("long"), std::string(300, 'x'));
            EXPECT_EQ(event.text("interned"), "numbered");
            EXPECT_EQ(event.integer("interned"), std::nullopt);
            EXPECT_EQ(event.text("again"), std::nullopt);
            EXPECT_EQ(event.args.size(), kNumbers.size() + 4);
        },
        nullptr, memory);
    stream.feed(withAnnotations(annotations, interned));
    EXPECT_EQ(slices, 1);
    EXPECT_EQ(stream.counts().damaged, 0);
    // Annotations that end early, or name what is unknown.
    for (std::string& annotation : annotations)
        annotation.pop_back();
    stream.feed(withAnnotations({annotations[0]}, interned));
    EXPECT_EQ(stream.counts().damaged, 1);
    stream.feed(withAnnotations({annotations[6]}, interned));
    EXPECT_EQ(stream.counts().damaged, 2);
}

/// Ways to make a stream hold ever more: `i` is new each time.
std::string held(int way, int i) {
    Encoder encoder(static_cast<std::uint32_t>(way == 4 ? i + 1 : 7));
    const auto number = static_cast<std::uint64_t>(i);
    switch (way) {
    case 0: encoder.process(number + 1, i, "process " + std::to_string(i), 0); break;
    case 1: encoder.instant(2, TimeNs{i}, "op", "name " + std::to_string(i) + std::string(1000, 'x'), {}); break;
    case 2: {
        const std::string text(4000, static_cast<char>('a' + i % 26));
        const std::vector<Arg> args{{"text", std::string_view(text)}};
        encoder.beginSlice(number, TimeNs{i}, "op", "F0", args);
        break;
    }
    case 3: encoder.beginSlice(2, TimeNs{i}, "op", "F" + std::to_string(i), {}); break;
    default: encoder.track(2, 1, "compute", 0); break; // of many writers
    }
    return encoder.take();
}

TEST(StreamMemoryTest, WhatStreamsHoldIsBoundedAndGivenBack) {
    constexpr std::size_t kMost = 300'000;
    constexpr std::size_t kMostOfOne = 100'000;
    StreamMemory memory{kMost, kMostOfOne};
    {
        std::vector<std::unique_ptr<EventStream>> streams;
        for (int one = 0; one < 6; ++one) {
            const auto& stream =
                streams.emplace_back(std::make_unique<EventStream>([](const StreamEvent&) {}, nullptr, memory));
            for (int i = 0; i < 5'000; ++i) {
                stream->feed(held(one, i));
                ASSERT_LE(memory.held, std::min(kMost, kMostOfOne * static_cast<std::size_t>(one + 1)));
            }
            if (one != 3) {
                EXPECT_GT(stream->counts().damaged, 0) << one;
            }
        }
        // A packet that does not end: what does not fit is skipped, and the next whole one is read.
        EventStream waiting([](const StreamEvent&) {}, nullptr, memory);
        waiting.feed(std::string("\x0a\xff\xff\xff\x07", 5) + std::string(kMost, 'x'));
        EXPECT_EQ(waiting.pending(), 0U);
        EXPECT_EQ(waiting.counts().torn, 1);
    }
    EXPECT_EQ(memory.held, 0U);
}

/// The memory that the allocator has handed out.
std::size_t inUse() {
    const struct mallinfo2 all = ::mallinfo2();
    return all.uordblks + all.hblkhd;
}

TEST(StreamMemoryTest, BuffersTakeWhatIsCounted) {
    if (test::kSanitized) GTEST_SKIP() << "another allocator";
    constexpr std::size_t kMost = std::size_t{4} << 20;
    StreamMemory memory{kMost, kMost};
    const std::string begin("\x0a\xff\xff\xff\x07", 5); // a packet of 16 MiB
    const std::string part(std::size_t{1} << 18, 'x');
    std::vector<std::unique_ptr<EventStream>> streams;
    const std::size_t before = inUse();
    for (int i = 0; i < 100; ++i) {
        const auto& stream =
            streams.emplace_back(std::make_unique<EventStream>([](const StreamEvent&) {}, nullptr, memory));
        stream->feed(begin);
        for (int piece = 0; piece < 4; ++piece)
            stream->feed(part);
    }
    EXPECT_LE(memory.held, kMost);
    EXPECT_LE(inUse() - before, 3 * kMost);
}

TEST(StreamMemoryTest, APacketOfManyNumbersLeavesNothing) {
    if (test::kSanitized) GTEST_SKIP() << "another allocator";
    constexpr std::size_t kMany = std::size_t{1} << 18;
    std::string event;
    {
        protozero::pbf_writer writer(event);
        writer.add_int32(fields::event::kType, fields::event::kTypeInstant);
        const std::vector<std::uint64_t> numbers(kMany, 1);
        writer.add_packed_uint64(fields::event::kCategoryIids, numbers.begin(), numbers.end());
        for (std::size_t i = 0; i < kMany / 8; ++i)
            writer.add_message(fields::event::kDebugAnnotations, std::string());
    }
    std::string packet;
    {
        protozero::pbf_writer trace(packet);
        protozero::pbf_writer writer(trace, fields::trace::kPacket);
        writer.add_int64(fields::packet::kTimestamp, 5);
        writer.add_message(fields::packet::kTrackEvent, event);
    }
    StreamMemory memory;
    int events = 0;
    std::vector<std::unique_ptr<EventStream>> streams;
    const std::size_t before = inUse();
    for (int i = 0; i < 100; ++i) {
        streams.emplace_back(std::make_unique<EventStream>([&](const StreamEvent&) { ++events; }, nullptr, memory));
        streams.back()->feed(packet);
    }
    EXPECT_EQ(events, 100);
    EXPECT_LE(inUse() - before, memory.held + streams.size() * (std::size_t{1} << 17));
}

TEST(StreamMemoryTest, SlicesThatHaveEndedLeaveWhatIsCounted) {
    if (test::kSanitized) GTEST_SKIP() << "another allocator";
    constexpr int kTracks = 200;
    constexpr int kDepth = 100;
    std::vector<std::string> names;
    for (int i = 0; i < 16; ++i)
        names.push_back("arg" + std::to_string(i));
    std::vector<Arg> args;
    for (const std::string& name : names)
        args.push_back({name, std::int64_t{1}});
    Encoder encoder(7);
    encoder.process(1, 1, "rank 0", 0);
    encoder.clockSnapshot(TimeNs{5}, TimeNs{1'000});
    StreamMemory memory;
    EventStream stream([](const StreamEvent&) {}, nullptr, memory);
    stream.feed(encoder.take());
    const std::size_t before = inUse();
    for (int track = 0; track < kTracks; ++track) {
        for (int depth = 0; depth < kDepth; ++depth)
            encoder.beginSlice(static_cast<std::uint64_t>(track) + 2, TimeNs{depth}, "op", "slice", args);
        for (int depth = 0; depth < kDepth; ++depth)
            encoder.endSlice(static_cast<std::uint64_t>(track) + 2, TimeNs{kDepth});
        stream.feed(encoder.take());
    }
    EXPECT_EQ(stream.counts().slices, kTracks * kDepth);
    EXPECT_EQ(stream.counts().damaged, 0);
    constexpr std::size_t kOwn = std::size_t{1} << 20; // of the encoder, and of what is not per slice
    EXPECT_LE(inUse() - before, memory.held * 3 / 2 + kOwn);
}

TEST_F(EventStreamTest, WhatHasEndedIsGivenBack) {
    stream_.feed(beginning());
    stream_.feed(slice(1));
    const std::size_t before = memory_.held;
    for (int i = 0; i < 1000; ++i)
        stream_.feed(slice(1));
    EXPECT_EQ(memory_.held, before);
}

} // namespace
} // namespace bubblescope::perfetto
