#include "core/formats/source/packing.h"
#include "tests/unit/formats/packed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bubblescope {
namespace {

using test::gzipped;
using test::zstdPacked;
using testing::HasSubstr;

class UnpackTest : public testing::TestWithParam<Packing> {
protected:
    [[nodiscard]] std::string pack(std::string_view text) const {
        return GetParam() == Packing::Gzip ? gzipped(text) : zstdPacked(text);
    }
    Result<Unpacked> unpacked(std::string_view packed) {
        LoadProgress progress(control_, packed.size());
        return unpack(packed, GetParam(), "file", progress);
    }
    JobControl control_;
};

TEST_P(UnpackTest, UnpacksSeveralMembersAndIgnoresPadding) {
    const auto out = unpacked(pack("one ") + pack(std::string(5'000'000, 'x')) + std::string(512, '\0'));
    ASSERT_TRUE(out.ok()) << out.error().text();
    EXPECT_EQ(out.value().fault, "");
    EXPECT_EQ(out.value().bytes.text(), "one " + std::string(5'000'000, 'x'));
}

/// Text that hardly packs, so that members are large.
std::string noise(std::size_t bytes, std::uint32_t seed) {
    std::mt19937 random(seed);
    std::string text(bytes, ' ');
    for (char& letter : text)
        letter = static_cast<char>('0' + random() % 64);
    return text;
}

TEST_P(UnpackTest, UnpacksSeveralMembersSideBySide) {
    std::string text;
    std::string packed;
    for (std::uint32_t i = 0; i < 12; ++i) {
        const std::string part = noise(400'000, i);
        text += part;
        packed += pack(part);
    }
    const auto out = unpacked(packed + std::string(512, '\0'));
    ASSERT_TRUE(out.ok()) << out.error().text();
    EXPECT_EQ(out.value().fault, "");
    EXPECT_GE(out.value().pieces, 11U) << "the last has the padding";
    EXPECT_TRUE(out.value().bytes.text() == text);
    EXPECT_EQ(unpacked(pack(text)).value().pieces, 0U) << "one member is one piece";

    // An error in one of them is found as before, and everything before it is kept.
    std::string damaged = packed;
    const std::size_t within = packed.size() / 2 + 50'000; // of a member
    for (std::size_t i = within; i < within + 64; ++i)
        damaged[i] = static_cast<char>(damaged[i] ^ 0x55);
    const auto part = unpacked(damaged);
    ASSERT_TRUE(part.ok());
    EXPECT_THAT(part.value().fault, HasSubstr("corrupt"));
    EXPECT_GE(part.value().pieces, 4U);
    EXPECT_GE(part.value().fault_at, packed.size() / 3);
    EXPECT_TRUE(text.starts_with(part.value().bytes.text().substr(0, 5 * 400'000)));
    const auto cut = unpacked(std::string_view(packed).substr(0, packed.size() - 1000));
    ASSERT_TRUE(cut.ok());
    EXPECT_TRUE(cut.value().cut_off);
    EXPECT_TRUE(text.starts_with(cut.value().bytes.text()));
}

// Bytes that look like the beginning of a member within one.
TEST_P(UnpackTest, IsNotMisledByBytesThatLookLikeAMember) {
    const std::string beginning =
        GetParam() == Packing::Gzip ? std::string("\x1f\x8b\x08\0\0\0\0\0\0\x03", 10) : std::string("\x28\xb5\x2f\xfd");
    std::mt19937 random(1);
    std::string text(3'000'000, ' '); // does not pack at all: it is stored as it is
    for (char& letter : text)
        letter = static_cast<char>(random());
    for (std::size_t at = 200'000; at < text.size(); at += 300'000)
        text.replace(at, beginning.size(), beginning);
    const std::string packed = pack(text);
    ASSERT_NE(packed.find(beginning, 1000), std::string::npos) << "the guess is put to the test";
    const auto out = unpacked(packed + pack("end"));
    ASSERT_TRUE(out.ok()) << out.error().text();
    EXPECT_EQ(out.value().fault, "");
    EXPECT_TRUE(out.value().bytes.text() == text + "end");
}

TEST_P(UnpackTest, WritersMakeWhatItReads) {
    const std::string text = noise(9'000'000, 1);
    const std::unique_ptr<Packer> packer = makePacker(GetParam());
    std::string packed;
    for (std::size_t at = 0; at < text.size(); at += 700'000)
        ASSERT_TRUE(packer->add(std::string_view(text).substr(at, 700'000), packed));
    ASSERT_TRUE(packer->finish(packed));
    const auto out = unpacked(packed);
    ASSERT_TRUE(out.ok()) << out.error().text();
    EXPECT_TRUE(out.value().bytes.text() == text);
    EXPECT_EQ(out.value().pieces, GetParam() == Packing::Zstd ? 3U : 0U) << "a frame for each four megabytes";
    std::string nothing;
    const std::unique_ptr<Packer> empty = makePacker(GetParam());
    ASSERT_TRUE(empty->finish(nothing));
    EXPECT_EQ(unpacked(nothing).value().bytes.size(), 0U);
}

TEST_P(UnpackTest, KeepsWhatComesBeforeADamagedMember) {
    const std::string first = pack("one ");
    std::string packed = first + pack("two and some more text to damage");
    packed[first.size() + 1] = static_cast<char>(packed[first.size() + 1] ^ 0x55); // within the magic bytes
    const auto other = unpacked(packed);
    ASSERT_TRUE(other.ok());
    EXPECT_EQ(other.value().bytes.text(), "one ");

    std::string body = first + pack("two and some more text to damage");
    for (std::size_t i = first.size() + 12; i < body.size(); ++i)
        body[i] = static_cast<char>(body[i] ^ 0x55);
    const auto out = unpacked(body);
    ASSERT_TRUE(out.ok()) << out.error().text();
    EXPECT_THAT(out.value().fault, HasSubstr("corrupt"));
    EXPECT_FALSE(out.value().cut_off);
    EXPECT_GE(out.value().fault_at, first.size());
    EXPECT_THAT(std::string(out.value().bytes.text()), HasSubstr("one "));
}

TEST_P(UnpackTest, SaysOfEveryCutThatItIsOne) {
    const std::string packed = pack("some words and again some words, and once more some words");
    for (std::size_t size = 4; size < packed.size(); ++size) {
        const auto out = unpacked(std::string_view(packed).substr(0, size));
        ASSERT_TRUE(out.ok()) << size;
        EXPECT_THAT(out.value().fault, HasSubstr("truncated")) << size;
        EXPECT_TRUE(out.value().cut_off) << size;
    }
}

TEST_P(UnpackTest, RefusesWhatWouldFillTheMemory) {
    // 300 MB of zeros pack to next to nothing; no trace does.
    const auto out = unpacked(pack(std::string(std::size_t{300} << 20, '\0')));
    ASSERT_FALSE(out.ok());
    EXPECT_THAT(out.error().message, HasSubstr("decompresses to more than"));
}

TEST_P(UnpackTest, StopsWhenAsked) {
    std::stop_source source;
    source.request_stop();
    control_.stop = source.get_token();
    const auto out = unpacked(pack("text"));
    ASSERT_FALSE(out.ok());
    EXPECT_EQ(out.error().kind, ErrorKind::Cancelled);
}

// Small files share large pages, as long as one of them is needed.
TEST_P(UnpackTest, SmallFilesKeepTheirTextsBesideOthers) {
    std::vector<std::pair<std::string, Unpacked>> files;
    for (std::uint32_t i = 0; i < 40; ++i) {
        const std::string text = noise(i % 3 == 0 ? 700'000 : 1'000 * i, i);
        auto out = unpacked(pack(text));
        ASSERT_TRUE(out.ok()) << out.error().text();
        files.emplace_back(text, std::move(out).value());
        if (i % 5 == 4) files.erase(files.begin() + i % 7); // its place is not used again
    }
    for (const auto& [text, file] : files)
        EXPECT_EQ(file.bytes.text(), text);
}

// Sizes that files state of themselves are hints.
TEST(ByteBuffer, BesideOthersGrowsBeyondWhatWasExpected) {
    constexpr std::size_t kExpected = std::size_t{1} << 20;
    std::vector<ByteBuffer> buffers;
    for (char letter = 'a'; letter < 'p'; ++letter) {
        ByteBuffer& buffer = buffers.emplace_back(ByteBuffer::besideOthers(kExpected));
        ASSERT_GE(buffer.room(), kExpected);
        std::memset(buffer.end(), letter, kExpected);
        buffer.grew(kExpected);
        if (letter % 2 == 0) continue;
        buffer.reserve(2 * kExpected);
        ASSERT_GE(buffer.room(), kExpected);
        std::memset(buffer.end(), letter, kExpected);
        buffer.grew(kExpected);
    }
    char letter = 'a';
    for (const ByteBuffer& buffer : buffers) {
        EXPECT_EQ(buffer.text(), std::string((letter % 2 == 0 ? 1 : 2) * kExpected, letter));
        ++letter;
    }
}

#if defined(MADV_HUGEPAGE) && defined(MADV_FREE)
// A load that follows another one has no pages to wait for.
TEST(ByteBuffer, BesideOthersLeavesItsPagesToTheNextOnceAllAreGone) {
    constexpr std::size_t kBytes = std::size_t{3} << 20;
    void* const trial = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(trial, MAP_FAILED);
    const bool large_pages = madvise(trial, kBytes, MADV_HUGEPAGE) == 0;
    munmap(trial, kBytes);
    if (!large_pages) GTEST_SKIP() << "the system has no large pages";
    const auto filled = [](char letter) {
        ByteBuffer buffer = ByteBuffer::besideOthers(kBytes);
        std::memset(buffer.end(), letter, kBytes);
        buffer.grew(kBytes);
        return buffer;
    };
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    /// Whether memory is used; nothing if not even addresses are reserved.
    const auto isResident = [page](const char* place) -> std::optional<bool> {
        unsigned char resident = 0;
        char* const begin = const_cast<char*>(place) - reinterpret_cast<std::uintptr_t>(place) % page;
        if (mincore(begin, page, &resident) != 0) return std::nullopt;
        return (resident & 1) != 0;
    };
    std::optional<ByteBuffer> first = filled('a');
    const ByteBuffer living = filled('b');
    first.reset();
    const ByteBuffer other = filled('c');
    EXPECT_EQ(living.text(), std::string(kBytes, 'b')) << "its place is not given away while it lives";
    EXPECT_EQ(other.text(), std::string(kBytes, 'c'));
    { const ByteBuffer last = filled('d'); }
    // Neither place has enough space for this one. It has a separate third place, which is not needed after it.
    const char* const alone = filled('e').text().data();
    ASSERT_TRUE(isResident(alone).has_value()) << "its place is kept";
    ByteBuffer next = ByteBuffer::besideOthers(kBytes);
    EXPECT_EQ(next.end(), alone);
    if (!isResident(next.end() + kBytes / 2).value_or(false)) GTEST_SKIP() << "the system took the pages back";
}
#endif

INSTANTIATE_TEST_SUITE_P(Packings, UnpackTest, testing::Values(Packing::Gzip, Packing::Zstd),
                         [](const auto& packing) { return packing.param == Packing::Gzip ? "gzip" : "zstd"; });

} // namespace
} // namespace bubblescope
