#include "core/formats/sniff.h"

#include <gtest/gtest.h>

#include <string>

namespace bubblescope {
namespace {

std::string packet(const std::string& content) {
    return "\x0A" + std::string(1, static_cast<char>(content.size())) + content;
}

TEST(Sniff, TellsPerfettoByAllPacketsInSight) {
    const std::string timed = std::string("\x40\x01", 2); // field 8, a varint
    EXPECT_EQ(sniffFormat(packet(timed)), FileFormat::Perfetto);
    EXPECT_EQ(sniffFormat(packet(timed) + packet(timed)), FileFormat::Perfetto);
    EXPECT_EQ(sniffFormat(packet("") + packet(timed)), FileFormat::Perfetto);
    EXPECT_EQ(sniffFormat(packet(timed) + "text"), FileFormat::Unknown);
    // A packet longer than what is in sight, its length in three bytes.
    EXPECT_EQ(sniffFormat("\x0A\xF0\xA2\x04\x40" + std::string(100, '\x01')), FileFormat::Perfetto);
    // One of 123 bytes reads as an empty line and a brace.
    EXPECT_EQ(sniffFormat("\n{\x40" + std::string(122, '\x01')), FileFormat::Perfetto);
}

TEST(Sniff, ATextThatBeginsWithAnEmptyLineIsNone) {
    EXPECT_EQ(sniffFormat("\n                                 Some License\n            Version 2.0, January 2004\n"),
              FileFormat::Unknown);
    EXPECT_EQ(sniffFormat("\n# A heading\n\nAnd what stands below it, long enough to hold what seems a packet.\n"),
              FileFormat::Unknown);
    EXPECT_EQ(sniffFormat("\n\n\n{\"traceEvents\": []}"), FileFormat::Json);
}

// The error for each common file that we do not read states how to convert it.
TEST(Sniff, KnowsTheWayOutOfOthersFormats) {
    EXPECT_NE(conversionAdvice("run.nsys-rep", "?").find("nsys export --type sqlite"), std::string_view::npos);
    EXPECT_NE(conversionAdvice("trace", "PAR1\x15\x04").find("Parquet"), std::string_view::npos);
    EXPECT_NE(conversionAdvice("traces.json", std::string("PK\x03\x04\x14", 5)).find("unpack"), std::string_view::npos);
    EXPECT_NE(conversionAdvice("notes.txt", "Dear diary").find("Chrome trace events"), std::string_view::npos);
}

} // namespace
} // namespace bubblescope
