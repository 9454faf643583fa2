// Files made to do harm. Each is read in a separate process: no crash, bounded memory, everything usable loaded, and
// all else reported.

#include "core/formats/source/file_bytes.h"
#include "core/trace/summary.h"
#include "tests/support/child_process.h"
#include "tests/unit/formats/packed.h"
#include "tests/unit/formats/trace_bytes.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <protozero/pbf_writer.hpp>

#include <malloc.h>
#include <sys/resource.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <limits>

namespace bubblescope {
namespace {

using testing::HasSubstr;

constexpr std::size_t kMebibyte = std::size_t{1} << 20;
constexpr const char* kGood = R"({"ph":"X","name":"good","pid":1,"tid":1,"ts":1,"dur":2})";

/// "slices=3 tracks=2 bad-event=1 ", or "error: …".
std::string outcome(const std::filesystem::path& file) {
    JobControl control;
    const auto read = readTraces({file}, control);
    if (!read.ok()) return "error: " + read.error().text();
    const Trace& trace = *read.value().trace;
    std::size_t tracks = 0;
    for (const FileSummary& of_file : summarize(trace))
        tracks += of_file.tracks.size();
    std::string text =
        fmt::format("slices={} tracks={} instants={} ", trace.sliceCount(), tracks, trace.instants().size());
    std::size_t text_bytes = 0;
    for (SliceId slice = 0; slice < trace.sliceCount(); ++slice) // whose args are parsed only now
        text_bytes += trace.args(trace.sliceArgs()[slice]).size() + trace.argsJson(trace.sliceArgs()[slice]).size();
    for (const Diagnostic& problem : read.value().problems)
        text += fmt::format("{}={} ", problem.kind, problem.count);
    return text_bytes == 0 ? text : text + "args";
}

class Hostile : public testing::Test {
protected:
    std::string read(const std::filesystem::path& file, std::size_t most_memory = 256 * kMebibyte) {
        const test::ChildResult result = test::inChild([&file] { return outcome(file); });
        EXPECT_EQ(result.exit_code, 0) << "signal " << result.signal;
        if (!test::kSanitized) {
            EXPECT_LT(result.peak_bytes, most_memory);
        }
        return result.said;
    }
    std::string readBytes(std::string_view bytes, std::size_t most_memory = 256 * kMebibyte) {
        return read(folder_.write("trace", bytes), most_memory);
    }
    void expectNoEndWhereAFileGetsShorter(std::size_t size);

    test::ScratchFolder folder_;
};

std::string repeated(std::string_view text, std::size_t count) {
    std::string out;
    out.reserve(text.size() * count);
    for (std::size_t i = 0; i < count; ++i)
        out += text;
    return out;
}

std::string asTrace(std::string_view events) {
    return fmt::format("[{},\n{},\n{}]", kGood, events, kGood);
}

TEST_F(Hostile, NestingIsNotFollowedDown) {
    constexpr std::size_t kLevels = 100'000;
    const std::string open = repeated("[", kLevels);
    const std::string close = repeated("]", kLevels);
    const std::string deep =
        fmt::format(R"({{"ph":"X","name":"deep","pid":1,"tid":1,"ts":5,"dur":1,"args":{{"a":{}{}}}}})", open, close);
    EXPECT_THAT(readBytes(asTrace(deep)), HasSubstr("slices=3 tracks=1 instants=0 "));
    const std::string objects = repeated(R"({"a":)", kLevels) + "1" + repeated("}", kLevels);
    EXPECT_THAT(readBytes(asTrace(objects)), HasSubstr("slices=2 "));
    EXPECT_THAT(readBytes(fmt::format(R"({{"before":{}{},"traceEvents":[{}]}})", open, close, kGood)),
                HasSubstr("slices=1 "));
    EXPECT_THAT(readBytes(open), HasSubstr("error: "));
    EXPECT_THAT(readBytes(repeated(R"({"a":)", kLevels)), HasSubstr("error: "));
}

// Each entry's bracket is open to the end of the file: it must not be searched again for each of them.
TEST_F(Hostile, EntriesWithoutAnEndTakeLinearTime) {
    constexpr std::size_t kEntries = test::kSanitized ? 20'000 : 200'000;
    const std::string said = readBytes(asTrace(repeated(R"({"ph":"X","x":{"y":1},)"
                                                        "\n",
                                                        kEntries) +
                                               kGood));
    EXPECT_THAT(said, HasSubstr("slices=3 "));
    EXPECT_THAT(said, HasSubstr("bad-event="));
}

/// A trace with a name of `bytes` bytes between two good events, in packed members of a few megabytes.
std::filesystem::path writeGiantName(const test::ScratchFolder& folder, std::size_t bytes, bool gzip) {
    const auto file = folder.path() / "giant";
    std::ofstream out(file, std::ios::binary);
    const auto put = [&](std::string_view text) { out << (gzip ? test::gzipped(text) : test::zstdPacked(text)); };
    put(fmt::format(R"([{},{{"ph":"X","pid":1,"tid":1,"ts":5,"dur":1,"name":")", kGood));
    std::uint32_t random = 1;
    std::string piece(4 * kMebibyte, 'a');
    for (std::size_t written = 0; written < bytes; written += piece.size()) {
        for (std::size_t at = 0; at < piece.size(); at += 32) { // packs as text traces do, not as a bomb
            random = random * 1664525 + 1013904223;
            piece[at] = static_cast<char>('a' + random / 65536 % 26);
        }
        put(piece);
    }
    put(fmt::format(R"("}},{}])", kGood));
    return file;
}

TEST_F(Hostile, AGiganticTextCostsItsEventAlone) {
    for (const bool gzip : {true, false}) {
        EXPECT_THAT(read(writeGiantName(folder_, 300 * kMebibyte, gzip), 1000 * kMebibyte),
                    HasSubstr("slices=2 tracks=1 instants=0 bad-event=1"));
    }
}

TEST_F(Hostile, ALargeTextIsKept) {
    EXPECT_THAT(read(writeGiantName(folder_, 16 * kMebibyte, true)), HasSubstr("slices=3 tracks=1 instants=0 "));
}

// Two megabytes that unpack to two gigabytes (gzip, 1,000 to 1) and to tens of them (zstd): the bound is 300 MB, which
// may be there twice while it grows.
TEST_F(Hostile, BombsAreNotUnpacked) {
    const std::string zeros(16 * kMebibyte, '\0');
    for (const std::string& member : {test::gzipped(zeros), test::zstdPacked(zeros)}) {
        const std::string said = readBytes(repeated(member, 2 * kMebibyte / member.size()), 700 * kMebibyte);
        EXPECT_THAT(said, HasSubstr("error: "));
        EXPECT_THAT(said, HasSubstr("decompresses to more than"));
    }
}

TEST_F(Hostile, APackedFileThatIsCutGivesWhatItHolds) {
    std::string events;
    for (int i = 0; i < 20'000; ++i)
        events += fmt::format(R"({{"ph":"X","name":"n{}","pid":1,"tid":1,"ts":{},"dur":1}},)"
                              "\n",
                              i * 7919 % 1000, i * 2);
    for (const std::string& packed :
         {test::gzipped(asTrace(events + kGood)), test::zstdPacked(asTrace(events + kGood))}) {
        std::size_t most = 0;
        for (std::size_t part = 1; part < 20; ++part) {
            const auto result = test::readBytes(folder_, std::string_view(packed).substr(0, packed.size() * part / 20));
            if (!result.ok()) continue; // zstd unpacks by blocks of up to 128 KB
            EXPECT_GE(test::countOf(result.value().problems, "truncated"), 1);
            EXPECT_GE(result.value().trace->sliceCount(), most);
            most = result.value().trace->sliceCount();
        }
        EXPECT_GT(most, 10'000U);
    }
}

TEST_F(Hostile, AbsurdTimesAreLeftOutAndCounted) {
    const std::string said = readBytes(asTrace(R"({"ph":"X","name":"a","pid":1,"tid":1,"ts":-5,"dur":1},
        {"ph":"X","name":"b","pid":1,"tid":1,"ts":9223372036854775.807,"dur":1},
        {"ph":"X","name":"c","pid":1,"tid":1,"ts":-9223372036854775.807,"dur":1},
        {"ph":"X","name":"d","pid":1,"tid":1,"ts":1,"dur":9223372036854775.807},
        {"ph":"B","name":"e","pid":1,"tid":1,"ts":-9223372036854775.807},{"ph":"E","pid":1,"tid":1,"ts":9223372036854775.807},
        {"ph":"X","name":"f","pid":1,"tid":1,"ts":1e300,"dur":1},{"ph":"i","name":"g","pid":1,"tid":1,"ts":9e15},
        {"ph":"X","name":"h","pid":1,"tid":1,"ts":NaN,"dur":1},{"ph":"X","name":"i","pid":1,"tid":1,"ts":3,"dur":-Infinity},
        {"ph":"C","name":"j","pid":1,"ts":4,"args":{"v":1e400,"w":-1e308}})"));
    EXPECT_THAT(said, HasSubstr("slices=")) << said;
    EXPECT_THAT(said, HasSubstr("bad-time="));
    EXPECT_THAT(said, HasSubstr("instants=0 "));
}

TEST_F(Hostile, OneIdForEverythingIsNoTrouble) {
    constexpr std::size_t kTimes = test::kSanitized ? 20'000 : 200'000;
    const std::string said = readBytes(asTrace(repeated(R"({"ph":"b","cat":"c","id":1,"name":"n","pid":1,"ts":1},)"
                                                        "\n",
                                                        kTimes) +
                                               repeated(R"({"ph":"s","cat":"c","id":1,"pid":1,"tid":1,"ts":1},)"
                                                        "\n",
                                                        kTimes) +
                                               repeated(R"({"ph":"e","cat":"c","id":1,"name":"n","pid":1,"ts":2},)"
                                                        "\n",
                                                        kTimes) +
                                               kGood),
                                       512 * kMebibyte);
    EXPECT_THAT(said, HasSubstr(fmt::format("slices={} ", kTimes + 3)));
}

TEST_F(Hostile, MillionsOfTracksAreKept) {
    constexpr int kTracks = test::kSanitized ? 50'000 : 1'000'000;
    std::string events;
    for (int i = 0; i < kTracks; ++i)
        events += fmt::format(R"({{"ph":"X","name":"n","pid":1,"tid":{},"ts":{},"dur":1}},)"
                              "\n",
                              i, i % 1000);
    const auto file = folder_.write("tracks", asTrace(events + kGood));
    events = {};
    EXPECT_THAT(read(file, 1500 * kMebibyte), HasSubstr(fmt::format("slices={} tracks={} ", kTracks + 3, kTracks)));
}

TEST_F(Hostile, ManyCountersTakeLinearTime) {
    constexpr int kCounters = test::kSanitized ? 20'000 : 200'000;
    std::string events;
    for (int i = 0; i < kCounters; ++i)
        events += fmt::format(R"({{"ph":"C","name":"c{}","pid":1,"ts":{},"args":{{"v":1}}}},)"
                              "\n",
                              i, i);
    EXPECT_THAT(readBytes(asTrace(events + kGood), 512 * kMebibyte), HasSubstr("slices=3 "));
}

// The 512 rows that one thread may have, and what does not fit on them.
TEST_F(Hostile, ACrowdOfOverlapsSharesItsLastRow) {
    constexpr int kSlices = test::kSanitized ? 2'000 : 50'000;
    std::string events;
    for (int i = 0; i < kSlices; ++i)
        events += fmt::format(R"({{"ph":"X","name":"n","pid":1,"tid":1,"ts":{},"dur":100000}},)"
                              "\n",
                              i);
    const std::string said = readBytes(asTrace(events + kGood));
    EXPECT_THAT(said, HasSubstr(fmt::format("slices={} tracks=1 ", kSlices + 3)));
    EXPECT_THAT(said, HasSubstr("crowded="));
}

TEST_F(Hostile, TextsThatAreNoUtf8AndNulBytesAreKept) {
    const std::string bad = asTrace("{\"ph\":\"X\",\"name\":\"caf\xe9 \\u0000\",\"pid\":1,\"tid\":1,\"ts\":5,\"dur\":1,"
                                    "\"args\":{\"\xff\":\"\xc3\"}}");
    const auto read = test::readBytes(folder_, bad);
    ASSERT_TRUE(read.ok()) << read.error().text();
    const Trace& trace = *read.value().trace;
    ASSERT_EQ(trace.sliceCount(), 3U);
    EXPECT_EQ(test::countOf(read.value().problems, "bad-text"), 1);
    const SliceId slice = test::findSlice(trace, std::string_view("caf? \0", 6));
    ASSERT_NE(slice, kNoId);
    EXPECT_EQ(trace.textArg(trace.sliceArgs()[slice], "?"), "?");
    EXPECT_EQ(trace.argsJson(trace.sliceArgs()[slice]), R"({"?":"?"})");
    // A NUL byte outside of texts is not JSON.
    EXPECT_THAT(readBytes(asTrace(std::string("{\"ph\":\"X\",\0\"ts\":1}", 18))),
                HasSubstr("slices=2 tracks=1 instants=0 bad-event=1"));
    // A block of them, as a crash of the machine leaves in files, costs nothing else.
    const std::string hole = fmt::format("{},{}{},{}", kGood, std::string(1000, '\0'), kGood, kGood);
    EXPECT_THAT(readBytes(asTrace(hole)), HasSubstr("slices=5 tracks=1 instants=0 bad-event=1"));
}

TEST_F(Hostile, LinesGoOnBehindABrokenOne) {
    const std::string line = std::string(kGood) + "\n";
    const std::string said = readBytes(line + "words\n" + line +
                                       R"({"ph":"X","args":{)"
                                       "\n" +
                                       line + line);
    EXPECT_THAT(said, HasSubstr("slices=4 tracks=1 instants=0 bad-event=2"));
}

// ---- Perfetto ------------------------------------------------------------------------------------------

/// Packets written field by field; numbers are those of Perfetto's schema.
class Packets {
public:
    void descriptor(std::uint64_t uuid, std::uint64_t parent) {
        std::string track;
        protozero::pbf_writer writer(track);
        writer.add_uint64(1, uuid);
        writer.add_uint64(5, parent);
        packet([&](protozero::pbf_writer& out) { out.add_message(60, track); });
    }
    void event(std::int64_t time, int type, std::uint64_t uuid, std::uint32_t sequence = 1) {
        std::string event;
        protozero::pbf_writer writer(event);
        writer.add_enum(9, type);
        writer.add_uint64(11, uuid);
        writer.add_string(23, "slice");
        packet([&](protozero::pbf_writer& out) {
            out.add_int64(8, time);
            out.add_uint32(10, sequence);
            out.add_message(11, event);
        });
    }
    template <class Fill>
    void packet(const Fill& fill) {
        std::string body;
        protozero::pbf_writer writer(body);
        fill(writer);
        protozero::pbf_writer(bytes).add_message(1, body);
    }
    std::string bytes;
};

TEST_F(Hostile, ParentsInACircleEnd) {
    Packets file;
    file.descriptor(1, 2);
    file.descriptor(2, 3);
    file.descriptor(3, 1);
    file.descriptor(4, 4);
    for (const std::uint64_t uuid : {1U, 4U}) {
        file.event(10, 1, uuid);
        file.event(20, 2, uuid);
    }
    EXPECT_THAT(readBytes(file.bytes), HasSubstr("slices=2 tracks=2 "));
}

TEST_F(Hostile, EnormousCountsAndLengthsAreNotBelieved) {
    Packets file;
    file.event(10, 1, 1);
    file.event(20, 2, 1);
    const std::string max = "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01";
    EXPECT_THAT(readBytes(file.bytes + "\x0a" + max + "abc"), HasSubstr("slices=1 tracks=1 instants=0 truncated=1"));
    EXPECT_THAT(readBytes(file.bytes + "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"), HasSubstr("slices=1 "));
    // Within a packet: an event, interned data and packed flows that claim to be 2^31 bytes long.
    const std::string much = "\x80\x80\x80\x80\x08";
    Packets inner;
    inner.bytes = file.bytes;
    for (const std::string& body : {"\x5a" + much, "\x62" + much, "\x5a\x07\xfa\x02" + much, "\x5a\x06\x1a" + much})
        protozero::pbf_writer(inner.bytes).add_message(1, body);
    EXPECT_THAT(readBytes(inner.bytes), HasSubstr("slices=1 tracks=1 instants=0 bad-packet=4"));
}

// Little zlib data that hold a packet of 60 MB, 20 times over: after four the bound of 256 MB is reached.
TEST_F(Hostile, PackedPacketsAreUnpackedOnlySoFar) {
    Packets inner;
    const std::string zeros(60 * kMebibyte, '\0');
    inner.packet([&](protozero::pbf_writer& out) { out.add_bytes(99, zeros); });
    const std::string packed = test::gzipped(inner.bytes, IGZIP_ZLIB);
    Packets file;
    file.event(10, 1, 1);
    for (int i = 0; i < 20; ++i)
        file.packet([&](protozero::pbf_writer& out) { out.add_bytes(50, packed); });
    file.event(20, 2, 1);
    EXPECT_THAT(readBytes(file.bytes, 512 * kMebibyte), HasSubstr("bad-packet=16"));
}

// Every clock of a snapshot is related to every other.
TEST_F(Hostile, ASnapshotOfMillionsOfClocks) {
    Packets file;
    file.event(10, 1, 1);
    std::string snapshot;
    protozero::pbf_writer clocks(snapshot);
    for (std::uint32_t id = 0; id < 1'000'000; ++id) {
        protozero::pbf_writer clock(clocks, 1);
        clock.add_uint32(1, 200 + id);
        clock.add_uint64(2, id);
    }
    file.packet([&](protozero::pbf_writer& out) { out.add_message(6, snapshot); });
    file.event(20, 2, 1);
    EXPECT_THAT(readBytes(file.bytes), HasSubstr("slices=1 "));
}

// Each annotation and category may name a text that is in the file once: what is made of them stays within a multiple
// of the file's size.
TEST_F(Hostile, TextsNamedManyTimesAreCut) {
    constexpr std::size_t kLong = 20'000;
    constexpr int kTimes = test::kSanitized ? 2'000 : 10'000;
    Packets file;
    std::string category;
    protozero::pbf_writer named(category);
    named.add_uint64(1, 1);
    named.add_string(2, std::string(kLong, 'c'));
    std::string interned;
    protozero::pbf_writer(interned).add_message(1, category);  // categories
    protozero::pbf_writer(interned).add_message(29, category); // values of annotations
    std::string values;
    for (int i = 0; i < kTimes; ++i) {
        std::string value;
        protozero::pbf_writer(value).add_uint64(17, 1);
        protozero::pbf_writer(values).add_message(12, value);
    }
    const auto event = [&](std::int64_t time, int type) {
        std::string body;
        protozero::pbf_writer writer(body);
        writer.add_enum(9, type);
        writer.add_uint64(11, 1);
        writer.add_string(23, "slice");
        for (int i = 0; i < kTimes; ++i)
            writer.add_uint64(3, 1);
        writer.add_message(4, values);
        file.packet([&](protozero::pbf_writer& out) {
            out.add_int64(8, time);
            out.add_uint32(10, 1);
            if (time == 1) out.add_uint32(13, 1);
            if (time == 1) out.add_message(12, interned);
            out.add_message(11, body);
        });
    };
    event(1, 1);
    event(2, 2);
    ASSERT_LT(file.bytes.size(), kMebibyte);
    const std::string said = readBytes(file.bytes, 128 * kMebibyte);
    EXPECT_THAT(said, HasSubstr("slices=1 tracks=1 instants=0 "));
    EXPECT_THAT(said, HasSubstr(fmt::format("many-categories={} ", 2 * (kTimes - 1))));
    EXPECT_THAT(said, HasSubstr("args"));
}

// A writer that starts again while we read: the lost bytes read as zeros instead of ending the process.
void Hostile::expectNoEndWhereAFileGetsShorter(std::size_t size) {
    std::string events;
    while (events.size() < size)
        events += std::string(kGood) + ",\n";
    const std::filesystem::path file = folder_.write("trace", asTrace(events + kGood));
    const test::ChildResult result = test::inChild([&file] {
        DiagnosticLog log;
        JobControl control;
        LoadProgress progress(control, 1);
        const auto bytes = openFileBytes(file, log, progress);
        const auto sum = [&] {
            std::size_t letters = 0;
            for (const char each : bytes.value().text())
                letters += each != '\0' ? 1 : 0;
            return letters;
        };
        const std::size_t whole = sum();
        const bool lost_before = bytes.value().lost();
        std::filesystem::resize_file(file, 5000);
        bytes.value().release(0, bytes.value().text().size());
        const std::size_t left = sum();
        return fmt::format("{} {} {} {}", whole == bytes.value().text().size(), lost_before,
                           left >= 5000 && left < whole / 2, bytes.value().lost());
    });
    EXPECT_EQ(result.exit_code, 0) << "signal " << result.signal;
    EXPECT_EQ(result.said, "true false true true") << size;
}

TEST_F(Hostile, AFileThatGetsShorterIsNoEnd) {
    for (const std::size_t size : {kMebibyte / 2, 2 * kMebibyte, 8 * kMebibyte})
        expectNoEndWhereAFileGetsShorter(size);
}

TEST_F(Hostile, AbsurdTimesInPacketsAreLeftOut) {
    Packets file;
    for (const std::int64_t time : {std::numeric_limits<std::int64_t>::min(), std::int64_t{5}})
        file.event(time, 1, 1);
    for (const std::int64_t time : {std::int64_t{9}, std::numeric_limits<std::int64_t>::max()})
        file.event(time, 2, 1);
    EXPECT_THAT(readBytes(file.bytes), HasSubstr("slices=1 tracks=1 instants=0 bad-time=2"));
}

TEST_F(Hostile, SequencesAndTracksWithoutEnd) {
    constexpr std::uint32_t kMany = test::kSanitized ? 20'000 : 500'000;
    Packets file;
    for (std::uint32_t i = 0; i < kMany; ++i)
        file.event(i, 1, i, i);
    const std::string said = readBytes(file.bytes, 1000 * kMebibyte);
    EXPECT_THAT(said, HasSubstr(fmt::format("unmatched-begin={} ", kMany)));
}

/// Limits a process to this number of bytes. Memory that earlier tests returned to malloc must not count: it is
/// allocated first, and kept.
void limitMemory(std::size_t room) {
    ::malloc_trim(0);
    std::size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    rlimit limit{};
    ::getrlimit(RLIMIT_AS, &limit);
    limit.rlim_cur = pages * 4096;
    ::setrlimit(RLIMIT_AS, &limit);
    struct Block {
        Block* before;
        std::array<char, 40> rest;
    };
    static Block* last = nullptr;
    while (auto* const block = static_cast<Block*>(std::malloc(sizeof(Block)))) {
        block->before = last;
        last = block;
    }
    limit.rlim_cur += room;
    ::setrlimit(RLIMIT_AS, &limit);
}

// The error states the size that did not fit, and the process continues.
TEST_F(Hostile, WhereMemoryEndsTheErrorNamesTheSize) {
    if (test::kSanitized) GTEST_SKIP() << "sanitizers need all addresses";
    std::string events = "[";
    for (int i = 0; i < 300'000; ++i)
        events += fmt::format(R"({{"ph":"X","name":"n{}","pid":1,"tid":{},"ts":{},"dur":1}},)"
                              "\n",
                              i, i, i);
    const auto file = folder_.write("large.json", events + kGood + "]");
    const test::ChildResult result = test::inChild([&file] {
        limitMemory(32 * kMebibyte);
        std::string said;
        for (int i = 0; i < 2; ++i) {
            JobControl control;
            const auto read = readTraces({file}, control);
            said += read.ok() ? "read; " : read.error().text() + "; ";
        }
        return said;
    });
    EXPECT_EQ(result.exit_code, 0) << "signal " << result.signal;
    EXPECT_THAT(result.said, testing::MatchesRegex("(.*large.json: exceeds the available memory: its [0-9.]+ MiB"
                                                   "[^;]*; ){2}"));
}

} // namespace
} // namespace bubblescope
