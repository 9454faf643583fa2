#include "core/formats/perfetto/encoder.h"
#include "core/formats/perfetto/fields.h"

#include <gtest/gtest.h>
#include <protozero/pbf_reader.hpp>

#include <array>
#include <string>
#include <vector>

namespace bubblescope::perfetto {
namespace {

struct Packet {
    std::uint32_t sequence = 0;
    std::uint32_t flags = 0;
    std::uint64_t timestamp = 0;
    std::uint32_t clock = 0;
    bool interned = false;
    bool event = false;
    bool descriptor = false;
};

std::vector<Packet> packetsOf(const std::string& bytes) {
    std::vector<Packet> packets;
    protozero::pbf_reader file(bytes);
    while (file.next(fields::trace::kPacket)) {
        Packet& out = packets.emplace_back();
        protozero::pbf_reader packet = file.get_message();
        while (packet.next()) {
            switch (packet.tag()) {
            case fields::packet::kSequenceId: out.sequence = packet.get_uint32(); break;
            case fields::packet::kSequenceFlags: out.flags = packet.get_uint32(); break;
            case fields::packet::kTimestamp: out.timestamp = packet.get_uint64(); break;
            case fields::packet::kTimestampClockId: out.clock = packet.get_uint32(); break;
            case fields::packet::kInternedData: out.interned = true, packet.skip(); break;
            case fields::packet::kTrackEvent: out.event = true, packet.skip(); break;
            case fields::packet::kTrackDescriptor: out.descriptor = true, packet.skip(); break;
            default: packet.skip();
            }
        }
    }
    return packets;
}

TEST(Encoder, FlagsTheFirstPacketAndThoseThatUseInternedText) {
    Encoder encoder(7);
    encoder.process(1, 1, "rank 0", 0);
    encoder.track(2, 1, "compute", 0);
    encoder.beginSlice(2, TimeNs{100}, "op", "F0.0");
    encoder.endSlice(2, TimeNs{250});
    const auto packets = packetsOf(encoder.take());

    ASSERT_EQ(packets.size(), 4U);
    for (const Packet& packet : packets)
        EXPECT_EQ(packet.sequence, 7U);
    EXPECT_EQ(packets[0].flags, 1U);
    EXPECT_EQ(packets[1].flags, 0U);
    EXPECT_EQ(packets[2].flags, 2U);
    EXPECT_EQ(packets[3].flags, 0U);
    EXPECT_EQ(packets[2].timestamp, 100U);
    EXPECT_EQ(packets[2].clock, 3U);
    EXPECT_EQ(packets[3].timestamp, 250U);
}

TEST(Encoder, NamesTheClockThatViewersShouldRelateEventsTo) {
    // Perfetto drops every event whose clock it cannot relate to the trace's own.
    for (const auto realtime : {std::optional<TimeNs>{}, std::optional(TimeNs{9})}) {
        Encoder encoder(1);
        encoder.clockSnapshot(TimeNs{5}, realtime);
        const std::string bytes = encoder.take();
        protozero::pbf_reader file(bytes);
        ASSERT_TRUE(file.next(fields::trace::kPacket));
        protozero::pbf_reader packet = file.get_message();
        ASSERT_TRUE(packet.next(fields::packet::kClockSnapshot));
        protozero::pbf_reader snapshot = packet.get_message();
        int clocks = 0;
        std::uint32_t primary = 0;
        while (snapshot.next()) {
            if (snapshot.tag() == fields::clock::kPrimaryClock) {
                primary = snapshot.get_uint32();
            } else {
                clocks += snapshot.tag() == fields::clock::kClocks ? 1 : 0;
                snapshot.skip();
            }
        }
        EXPECT_EQ(primary, fields::clock::kMonotonic);
        EXPECT_EQ(clocks, realtime ? 3 : 2) << "with the one that Perfetto relates all others to";
    }
}

TEST(Encoder, SendsATextOnlyOnceAndAcrossTakes) {
    Encoder encoder(1);
    encoder.beginSlice(2, TimeNs{1}, "op", "F0.0");
    encoder.endSlice(2, TimeNs{2});
    const std::string first = encoder.take();
    encoder.beginSlice(2, TimeNs{3}, "op", "F0.0");
    const std::string second = encoder.take();

    EXPECT_EQ(packetsOf(first)[0].flags, 3U) << "a first packet that interns carries both flags";
    EXPECT_TRUE(packetsOf(first)[0].interned);
    EXPECT_FALSE(packetsOf(second)[0].interned);
    EXPECT_NE(first.find("F0.0"), std::string::npos);
    EXPECT_EQ(second.find("F0.0"), std::string::npos);
    EXPECT_TRUE(encoder.take().empty());
}

TEST(Encoder, WritesLongTextsAndAsManyAsCome) {
    Encoder encoder(1);
    const std::string name(70'000, 'n'); // its length takes three bytes, like those of the messages around it
    const std::string value(200, 'v');
    const std::array<Arg, 2> args{{{"text", std::string_view(value)}, {"below", std::int64_t{-1}}}};
    encoder.instant(2, TimeNs{1}, "op", name, args);
    const std::size_t before = encoder.bytes().size();
    EXPECT_GT(before, name.size() + value.size());
    for (int i = 0; i < 5000; ++i) // the table of texts grows some times
        encoder.instant(2, TimeNs{i}, "op", "F" + std::to_string(i));
    const std::size_t after = encoder.bytes().size();
    for (int i = 0; i < 5000; ++i)
        encoder.instant(2, TimeNs{i}, "op", "F" + std::to_string(i));
    const std::string bytes(encoder.bytes());
    const auto packets = packetsOf(bytes);
    ASSERT_EQ(packets.size(), 10'001U);
    for (std::size_t i = 0; i < packets.size(); ++i)
        EXPECT_EQ(packets[i].interned, i <= 5000) << i;
    EXPECT_LT(bytes.size() - after, after - before) << "texts that are known are not told again";
    encoder.clear();
    EXPECT_TRUE(encoder.bytes().empty());
    encoder.endSlice(2, TimeNs{5});
    EXPECT_EQ(packetsOf(encoder.take()).size(), 1U);
}

TEST(InternTable, NumbersTextsThatDifferInAnyLetter) {
    InternTable table;
    std::vector<std::string> texts{""};
    for (std::size_t size = 1; size < 40; ++size) {
        for (std::size_t at = 0; at < size; ++at) {
            texts.emplace_back(size, 'a');
            texts.back()[at] = 'b';
        }
    }
    for (const bool first : {true, false}) {
        for (std::size_t i = 0; i < texts.size(); ++i) {
            const InternTable::Number found = table.numberOf(texts[i]);
            EXPECT_EQ(found.number, i + 1);
            EXPECT_EQ(found.is_new, first);
        }
    }
}

} // namespace
} // namespace bubblescope::perfetto
