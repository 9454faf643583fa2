#include "core/base/bytes.h"

#include <gtest/gtest.h>

namespace bubblescope {
namespace {

TEST(Bytes, UnitsAreThoseThatPeopleWrite) {
    EXPECT_EQ(parseBytes("0").value(), 0);
    EXPECT_EQ(parseBytes("4096B").value(), 4096);
    EXPECT_NE(parseBytes("4096").error().message.find("the unit is missing"), std::string::npos);
    EXPECT_EQ(parseBytes("12 B").value(), 12);
    EXPECT_EQ(parseBytes("1.5KiB").value(), 1536);
    EXPECT_EQ(parseBytes("95.6GiB").value(), 102'649'718'374) << "95.6 * 2^30, rounded";
    EXPECT_EQ(parseBytes("24GB").value(), 24'000'000'000);
    EXPECT_EQ(parseBytes("80GiB").value(), 80LL << 30);
    EXPECT_EQ(parseBytes("0.25TiB").value(), 1LL << 38);
}

TEST(Bytes, WhatIsNoSizeIsRefused) {
    for (const char* text : {"", "GiB", "-1B", "1.5B", "1.2.3KiB", "80 gib", "1e9", "9223372036854775808", "8388608TiB",
                             "0.0000000000000000000000001TB", "12B ", "0x10"}) {
        EXPECT_FALSE(parseBytes(text).ok()) << text;
    }
    EXPECT_EQ(parseBytes("5 cm").error().kind, ErrorKind::Usage);
}

TEST(Bytes, BandwidthsInBytesAndBits) {
    EXPECT_EQ(parseBandwidth("50GB/s").value(), 50'000'000'000);
    EXPECT_EQ(parseBandwidth("25 GiB/s").value(), 25LL << 30);
    EXPECT_EQ(parseBandwidth("400Gbit/s").value(), 50'000'000'000);
    EXPECT_EQ(parseBandwidth("12bit/s").ok(), false) << "one and a half bytes";
    for (const char* text : {"", "50GB", "0GB/s", "/s", "50Gb/s", "50 GB / s", "-5GB/s"})
        EXPECT_FALSE(parseBandwidth(text).ok()) << text;
}

TEST(Bytes, AreShownInTheUnitThatFits) {
    EXPECT_EQ(formatBytes(0), "0 B");
    EXPECT_EQ(formatBytes(1023), "1023 B");
    EXPECT_EQ(formatBytes(1536), "1.50 KiB");
    EXPECT_EQ(formatBytes(80LL << 30), "80.0 GiB");
    EXPECT_EQ(formatBytes((1LL << 20) - 1), "1.00 MiB");
    EXPECT_EQ(formatBytes(-2048), "-2.00 KiB");
}

} // namespace
} // namespace bubblescope
