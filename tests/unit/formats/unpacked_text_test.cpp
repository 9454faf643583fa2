#include "core/formats/perfetto/encoder.h"
#include "core/formats/perfetto/reader.h"
#include "core/formats/source/file_bytes.h"
#include "core/formats/source/packed_args.h"
#include "core/formats/source/unpacked_text.h"
#include "core/trace/trace_builder.h"
#include "tests/support/scratch_folder.h"
#include "tests/unit/formats/packed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <random>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

// Packed files that are read while they are unpacked, and what is kept of them.
namespace bubblescope {
namespace {

using test::gzipped;
using test::zstdPacked;
using testing::ElementsAre;
using testing::HasSubstr;

std::string letters(std::size_t bytes, std::uint32_t seed) {
    std::mt19937 random(seed);
    std::string text(bytes, ' ');
    for (char& letter : text)
        letter = static_cast<char>('0' + random() % 64);
    return text;
}

/// Bytes of a text that are in memory.
std::size_t residentBytes(std::string_view text) {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    std::vector<unsigned char> pages((text.size() + page - 1) / page);
    if (::mincore(const_cast<char*>(text.data()), text.size(), pages.data()) != 0) return SIZE_MAX;
    std::size_t sum = 0;
    for (const unsigned char state : pages)
        sum += (state & 1U) != 0 ? page : 0;
    return sum;
}

class UnpackedTextTest : public testing::TestWithParam<Packing> {
protected:
    [[nodiscard]] std::string pack(std::string_view text) const {
        return GetParam() == Packing::Gzip ? gzipped(text) : zstdPacked(text);
    }
    std::shared_ptr<UnpackedText> open(std::string_view packed) {
        return UnpackedText::open(nullptr, packed, GetParam(), "file", log_, progress_);
    }
    JobControl control_;
    LoadProgress progress_{control_, 1};
    DiagnosticLog log_;
};

TEST_P(UnpackedTextTest, HasOnlyAFewMegabytesInMemory) {
    std::string expected = letters(1 << 20, 1);
    while (expected.size() < (std::size_t{48} << 20))
        expected += expected;
    for (const bool several : {false, true}) {
        std::string packed;
        const std::size_t member = several ? std::size_t{5} << 20 : expected.size();
        for (std::size_t at = 0; at < expected.size(); at += member)
            packed += pack(std::string_view(expected).substr(at, member));
        const auto text = open(packed);
        ASSERT_NE(text, nullptr);
        constexpr std::size_t kStep = std::size_t{1} << 20;
        for (std::size_t at = 0; at < expected.size(); at += kStep) {
            ASSERT_TRUE(text->extend(at + kStep).ok());
            ASSERT_GE(text->text().size(), std::min(expected.size(), at + kStep));
            ASSERT_TRUE(text->text().substr(at, kStep) == std::string_view(expected).substr(at, kStep)) << at;
            text->release(at + kStep);
            EXPECT_LE(residentBytes(text->text()), std::size_t{24} << 20) << at;
        }
        EXPECT_EQ(text->text().size(), expected.size());
        ASSERT_TRUE(text->extend(expected.size() + 1).ok());
        EXPECT_TRUE(text->complete());
    }
    EXPECT_TRUE(log_.take().empty());
}

TEST_P(UnpackedTextTest, ReportsDamageWhereTheTextEnds) {
    const std::string expected = letters(12 << 20, 2);
    std::string packed = pack(expected);
    packed.resize(packed.size() / 2);
    const auto text = open(packed);
    ASSERT_NE(text, nullptr);
    ASSERT_TRUE(text->extend(1).ok());
    EXPECT_FALSE(text->complete());
    EXPECT_TRUE(log_.take().empty()) << "nobody read that far";
    ASSERT_TRUE(text->extend(expected.size()).ok());
    EXPECT_TRUE(text->complete());
    EXPECT_TRUE(expected.starts_with(text->text()));
    EXPECT_GT(text->text().size(), expected.size() / 3);
    const auto problems = log_.take();
    ASSERT_EQ(problems.size(), 1U);
    EXPECT_EQ(problems.front().kind, "truncated");
}

TEST_P(UnpackedTextTest, CanBeStopped) {
    std::stop_source stop;
    control_.stop = stop.get_token();
    const std::string packed = pack(letters(24 << 20, 3));
    const auto text = open(packed);
    ASSERT_NE(text, nullptr);
    ASSERT_TRUE(text->extend(1).ok());
    stop.request_stop();
    const Status status = text->extend(std::size_t{24} << 20);
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().kind, ErrorKind::Cancelled);
}

/// Our own format is read while it is unpacked, too.
TEST_P(UnpackedTextTest, PacketsAreGivenBackWhenTheyWereRead) {
    perfetto::Encoder encoder(1);
    encoder.process(1, 11, "rank 0", 0);
    encoder.track(2, 1, "compute", 0);
    std::string plain = encoder.take();
    std::mt19937 random(6);
    std::int64_t slices = 0;
    while (plain.size() < (std::size_t{48} << 20)) {
        const std::string note = letters(200 + random() % 300, static_cast<std::uint32_t>(random()));
        const std::vector<perfetto::Arg> args{{"note", std::string_view(note)}};
        encoder.beginSlice(2, TimeNs{10 * slices}, "op", "name", args);
        encoder.endSlice(2, TimeNs{10 * slices + 5});
        ++slices;
        plain += encoder.take();
    }
    const test::ScratchFolder folder;
    auto opened = openFileBytes(folder.write("run.pftrace", pack(plain)), log_, progress_);
    ASSERT_TRUE(opened.ok());
    const FileBytes& bytes = opened.value();
    ASSERT_FALSE(bytes.complete());
    TraceBuilder builder;
    builder.addFile({"run.pftrace", {}, std::nullopt});
    ASSERT_TRUE(perfetto::readPerfetto(bytes, "run.pftrace", builder, log_, progress_).ok());
    EXPECT_TRUE(bytes.complete());
    EXPECT_EQ(bytes.text().size(), plain.size());
    EXPECT_LE(residentBytes(bytes.text()), std::size_t{24} << 20);
    const auto trace = builder.finish(log_);
    ASSERT_EQ(trace->sliceCount(), static_cast<std::size_t>(slices));
    EXPECT_EQ(trace->start(static_cast<SliceId>(slices - 1)), TimeNs{10 * (slices - 1)});
    const auto last = trace->args(trace->sliceArgs()[static_cast<SliceId>(slices - 1)]);
    ASSERT_EQ(last.size(), 1U);
    EXPECT_EQ(last.front().name, "note");
    EXPECT_TRUE(log_.take().empty());
}

INSTANTIATE_TEST_SUITE_P(Packings, UnpackedTextTest, testing::Values(Packing::Gzip, Packing::Zstd),
                         [](const auto& each) { return each.param == Packing::Gzip ? "gzip" : "zstd"; });

TEST(ArgPacker, GivesEachObjectBackFromAnyThread) {
    std::mt19937 random(4);
    std::vector<std::string> objects;
    std::vector<std::uint64_t> places;
    ArgPacker packer;
    for (int i = 0; i < 30'000; ++i) {
        std::string object = R"({"correlation": )" + std::to_string(i) + R"(, "shape": [[1, 2], {"a": "}"}]})";
        if (i % 5'000 == 17)
            object.insert(1, R"("text": ")" + std::string(100'000 + random() % 2'000'000, 'x') + "\", ");
        places.push_back(packer.add(object + (i % 2 == 0 ? "\n  " : "")));
        objects.push_back(std::move(object));
    }
    packer.finish();
    const auto reader = packer.reader();
    std::vector<std::jthread> threads;
    for (std::uint32_t seed = 0; seed < 4; ++seed) {
        threads.emplace_back([&, seed] {
            std::mt19937 any(seed);
            for (std::size_t i = seed; i < objects.size(); i += 1 + any() % 97)
                ASSERT_EQ(reader->object({}, places[i]), objects[i]);
        });
    }
    threads.clear();

    // A visitor may read others meanwhile.
    std::vector<std::string> names;
    reader->visit({}, places[20'000], [&](const ArgView& arg) {
        EXPECT_EQ(reader->object({}, places[3]), objects[3]);
        names.emplace_back(arg.name);
        return true;
    });
    EXPECT_THAT(names, ElementsAre("correlation", "shape"));
}

} // namespace
} // namespace bubblescope
