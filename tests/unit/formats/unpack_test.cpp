#include "core/formats/source/packing.h"
#include "tests/unit/formats/packed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stop_token>

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
    EXPECT_THAT(out.value().fault, HasSubstr("damaged"));
    EXPECT_FALSE(out.value().cut_off);
    EXPECT_GE(out.value().fault_at, first.size());
    EXPECT_THAT(std::string(out.value().bytes.text()), HasSubstr("one "));
}

TEST_P(UnpackTest, SaysOfEveryCutThatItIsOne) {
    const std::string packed = pack("some words and again some words, and once more some words");
    for (std::size_t size = 4; size < packed.size(); ++size) {
        const auto out = unpacked(std::string_view(packed).substr(0, size));
        ASSERT_TRUE(out.ok()) << size;
        EXPECT_THAT(out.value().fault, HasSubstr("cut off")) << size;
        EXPECT_TRUE(out.value().cut_off) << size;
    }
}

TEST_P(UnpackTest, RefusesWhatWouldFillTheMemory) {
    // 300 MB of zeros pack to next to nothing; no trace does.
    const auto out = unpacked(pack(std::string(std::size_t{300} << 20, '\0')));
    ASSERT_FALSE(out.ok());
    EXPECT_THAT(out.error().message, HasSubstr("unpacks to more than"));
}

TEST_P(UnpackTest, StopsWhenAsked) {
    std::stop_source source;
    source.request_stop();
    control_.stop = source.get_token();
    const auto out = unpacked(pack("text"));
    ASSERT_FALSE(out.ok());
    EXPECT_EQ(out.error().kind, ErrorKind::Cancelled);
}

INSTANTIATE_TEST_SUITE_P(Packings, UnpackTest, testing::Values(Packing::Gzip, Packing::Zstd),
                         [](const auto& packing) { return packing.param == Packing::Gzip ? "gzip" : "zstd"; });

} // namespace
} // namespace bubblescope
