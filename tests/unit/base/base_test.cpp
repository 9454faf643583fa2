#include "core/base/diagnostic.h"
#include "core/base/text.h"
#include "core/base/time.h"

#include <gtest/gtest.h>

namespace bubblescope {
namespace {

TEST(Time, ParsesUnitsAndFractionsExactly) {
    const std::pair<const char*, std::int64_t> cases[] = {
        {"1.5ms", 1'500'000}, {"800us", 800'000}, {"20ns", 20},    {"2s", 2'000'000'000}, {"0", 0},
        {"0.001us", 1},       {".5us", 500},      {"1.0000ns", 1},
    };
    for (const auto& [text, expected] : cases) {
        const auto time = parseTime(text);
        ASSERT_TRUE(time.ok()) << text;
        EXPECT_EQ(time.value().count(), expected) << text;
    }
}

TEST(Time, RefusesWhatItCannotRepresent) {
    for (const char* const text : {"", "ms", "5", "-1ms", "1.2.3ms", "1 m s", "1min", "0.5ns", "1.0005us", "1e3ns",
                                   "99999999999999999999ns", "9300000000s"}) {
        const auto time = parseTime(text);
        ASSERT_FALSE(time.ok()) << text;
        EXPECT_EQ(time.error().kind, ErrorKind::Usage) << text;
        EXPECT_NE(time.error().text().find("1.5ms"), std::string::npos) << "the hint shows how to write one";
    }
}

TEST(Time, FormatsInTheUnitThatFits) {
    EXPECT_EQ(formatTime(TimeNs{820}), "820 ns");
    EXPECT_EQ(formatTime(TimeNs{1'500}), "1.50 us");
    EXPECT_EQ(formatTime(TimeNs{165'000'000}), "165 ms");
    EXPECT_EQ(formatTime(TimeNs{2'000'000'000}), "2.00 s");
    EXPECT_EQ(formatTime(TimeNs{9'994'000}), "9.99 ms");
    EXPECT_EQ(formatTime(TimeNs{9'996'000}), "10.0 ms") << "three digits after rounding";
    EXPECT_EQ(formatTime(TimeNs{999'600'000}), "1.00 s");
    EXPECT_EQ(formatTimeDelta(TimeNs{12'000}), "+12.0 us");
    EXPECT_EQ(formatTimeDelta(TimeNs{-3}), "-3 ns");
    EXPECT_EQ(formatTimeDelta(TimeNs{0}), "0 ns");
}

TEST(Text, ShowsThreeDigitsOfLargeNumbers) {
    EXPECT_EQ(formatThousands(512), "512");
    EXPECT_EQ(formatThousands(999.6), "1.00k");
    EXPECT_EQ(formatThousands(11'422), "11.4k");
    EXPECT_EQ(formatThousands(730'982), "731k");
    EXPECT_EQ(formatThousands(-1'204'000), "-1.20M");
}

TEST(Error, TextNamesPlaceMessageAndHint) {
    EXPECT_EQ(inputError("a.json, byte 7", "not JSON", "check it").text(), "a.json, byte 7: not JSON (check it)");
    EXPECT_EQ(usageError("wrong").text(), "wrong");
    EXPECT_EQ(exitCode(ErrorKind::Usage), 2);
    EXPECT_EQ(exitCode(ErrorKind::Input), 3);
    EXPECT_EQ(exitCode(ErrorKind::Run), 4);
}

Result<int> half(int value) {
    if (value % 2 != 0) return usageError("odd");
    return value / 2;
}

Result<int> quarter(int value) {
    BUBBLESCOPE_ASSIGN(const int once, half(value));
    return half(once);
}

TEST(Result, PropagatesTheFirstError) {
    EXPECT_EQ(quarter(12).value(), 3);
    EXPECT_FALSE(quarter(6).ok());
    EXPECT_EQ(quarter(7).error().message, "odd");
}

TEST(DiagnosticLog, CountsRepeatsAndKeepsTheFirstPlace) {
    DiagnosticLog log;
    log.add("truncated", std::string("a"), say("cut off"));
    log.add("truncated", std::string("b"), say("cut off"));
    log.add("truncated", std::string("c"), say("cut off elsewhere"), 3);
    ASSERT_EQ(log.entries().size(), 2U);
    EXPECT_EQ(log.entries()[0].count, 2);
    EXPECT_EQ(log.entries()[0].where.text(), "a");
    EXPECT_EQ(log.entries()[1].count, 3);
}

} // namespace
} // namespace bubblescope
