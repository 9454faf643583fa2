#include "core/formats/perfetto/encoder.h"
#include "core/formats/perfetto/packet.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace bubblescope::perfetto {
namespace {

std::string packets(int slices) {
    Encoder encoder(1);
    encoder.process(1, 11, "rank 0", 0);
    encoder.track(2, 1, "compute", 0);
    for (int i = 0; i < slices; ++i) {
        const std::vector<Arg> args{{"n", std::int64_t{i}}};
        encoder.beginSlice(2, TimeNs{10 * i}, "op", "name", args);
        encoder.endSlice(2, TimeNs{10 * i + 5});
    }
    return encoder.take();
}

std::vector<std::size_t> offsetsIn(std::string_view bytes) {
    std::vector<std::size_t> offsets;
    std::size_t next = 0;
    std::string_view body;
    for (std::size_t at = 0; !takeFrame(bytes, next, body); at = next)
        offsets.push_back(at);
    return offsets;
}

// Each run can be decoded without those before it, in any order, and together they are the file: a large file is
// decoded in as many pieces as it has runs.
TEST(PacketRuns, DivideAFileIntoPiecesOfItsPackets) {
    const std::string bytes = packets(5'000);
    const std::vector<std::size_t> expected = offsetsIn(bytes);
    ASSERT_EQ(expected.size(), 10'002U);
    PacketRuns runs(bytes);
    std::vector<PacketBatch> found(64);
    std::size_t count = found.size();
    for (std::size_t run = found.size(); run-- > 0;) { // backwards
        if (!runs.decode(run, found[run])) count = run;
    }
    EXPECT_EQ(count, 10'002U / 512 + 1);
    std::vector<std::size_t> offsets;
    for (std::size_t run = 0; run < count; ++run) {
        for (const Packet& packet : found[run].packets)
            offsets.push_back(packet.offset);
        EXPECT_EQ(found[run].end.has_value(), run + 1 == count);
    }
    EXPECT_EQ(offsets, expected);
    EXPECT_EQ(*found[count - 1].end, PacketBatch::End::Whole);
}

TEST(PacketRuns, TheLastOneSaysWhereTheFileBreaks) {
    const std::string whole = packets(400);
    for (const std::size_t cut : {whole.size() - 1, whole.size() / 2 + 3}) {
        const std::string bytes = whole.substr(0, cut);
        PacketRuns runs(bytes);
        PacketBatch batch;
        std::size_t packets = 0;
        std::size_t run = 0;
        std::optional<PacketBatch::End> end;
        for (; runs.decode(run, batch); ++run) {
            packets += batch.packets.size();
            end = batch.end;
        }
        EXPECT_EQ(packets, offsetsIn(bytes).size());
        EXPECT_EQ(end, PacketBatch::End::Cut);
    }
}

// A file that still grows: its packets are read completely, however much of the next one has arrived.
TEST(PacketRuns, StopsBeforeAPacketThatIsNotWholeYet) {
    const std::string whole = packets(700);
    const std::vector<std::size_t> expected = offsetsIn(whole);
    std::vector<std::size_t> offsets;
    std::size_t begin = 0;
    bool ended = false;
    for (std::size_t size = 0; !ended; size = std::min(size + 997, whole.size())) {
        const bool complete = size == whole.size();
        PacketRuns runs(std::string_view(whole).substr(0, size), begin, complete);
        PacketBatch batch;
        for (std::size_t run = 0; runs.decode(run, batch); ++run) {
            for (const Packet& packet : batch.packets)
                offsets.push_back(packet.offset);
            begin = batch.next;
            ended = batch.end.has_value();
            EXPECT_TRUE(!ended || complete);
        }
    }
    EXPECT_EQ(offsets, expected);
    EXPECT_EQ(begin, whole.size());
}

// Bytes that are not a packet end the file, even if it still grows.
TEST(PacketRuns, EndsAtDamageBeforeTheFileIsComplete) {
    const std::string bytes = packets(10) + "no packet";
    PacketRuns runs(bytes, 0, false);
    PacketBatch batch;
    ASSERT_TRUE(runs.decode(0, batch));
    EXPECT_EQ(batch.end, PacketBatch::End::NoPacket);
    EXPECT_EQ(batch.next, bytes.size() - std::string_view("no packet").size());
}

} // namespace
} // namespace bubblescope::perfetto
