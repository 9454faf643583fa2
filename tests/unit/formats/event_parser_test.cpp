#include "core/formats/chrome/event_parser.h"

#include "core/base/text.h"
#include "core/formats/chrome/decimal.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace bubblescope::chrome {
namespace {

struct Parsed {
    bool ok = false;
    EventBatch batch;

    [[nodiscard]] const Event& event() const { return batch.events.at(0); }
    [[nodiscard]] std::string_view text(StringId id) const { return batch.texts.text(id); }
};

Parsed parsed(std::string_view text) {
    EventParser parser;
    Parsed result;
    result.ok = parser.parse(text, 1000, result.batch);
    return result;
}

TEST(EventParser, ReadsAllFieldsInAnyOrderAndSpacing) {
    const std::string text =
        "{ \"args\" : {\"a\": [1, {\"b\": 2}]} ,\n\t\"tid\": \"7\",\"pid\":-3,\"ph\":\"X\",\"cat\":"
        "\"kernel\", \"other\":[{}],\"dur\":2.5 , \"name\":\"a longer name than eight\","
        "\"ts\" : 4319161296904.186\n,\"id\":\"0xA\",\"bp\":\"e\",\"bind_id\":12,\"flow_in\":true,"
        "\"flow_out\":false,\"traceEvents\":null}";
    const Parsed result = parsed(text);
    ASSERT_TRUE(result.ok);
    const Event& event = result.event();
    EXPECT_EQ(event.offset, 1000U);
    EXPECT_EQ(event.phase, 'X');
    EXPECT_EQ(event.time, TimeNs{4319161296904186});
    EXPECT_EQ(event.duration, TimeNs{2500});
    EXPECT_EQ(event.pid, (RowId{false, -3}));
    EXPECT_EQ(event.tid, (RowId{false, 7})); // a number written as text
    EXPECT_EQ(result.text(event.category), "kernel");
    EXPECT_EQ(result.text(event.name), "a longer name than eight");
    EXPECT_EQ(event.id, std::hash<std::string_view>{}("0xA"));
    EXPECT_EQ(event.bind, 12U);
    EXPECT_TRUE(event.binds_enclosing);
    EXPECT_TRUE(event.flows_in);
    EXPECT_FALSE(event.flows_out);
    EXPECT_EQ(event.args, 1000 + text.find("{\"a\""));
    EXPECT_EQ(text.substr(event.args - 1000, event.args_size), "{\"a\": [1, {\"b\": 2}]} ");
}

TEST(EventParser, ReadsTextsWithEscapesAndOfAnyLength) {
    for (const char* const end : {"", "\\\\", "\\\"", "\\n", "\\u00e9", "\xc3\xa9"}) {
        const std::string_view ends = end;
        const std::string_view shown = ends == "\\\\"   ? "\\"
                                       : ends == "\\\"" ? "\""
                                       : ends == "\\n"  ? "\n"
                                       : ends.empty()   ? ""
                                                        : "\xc3\xa9";
        for (std::size_t length = 0; length < 40; ++length) {
            const std::string letters(length, 'n');
            const Parsed result = parsed("{\"name\":\"" + letters + end + "\" ,\"cat\":\"" + end + letters + "\"}");
            ASSERT_TRUE(result.ok);
            EXPECT_EQ(result.text(result.event().name), letters + std::string(shown));
            EXPECT_EQ(result.text(result.event().category), std::string(shown) + letters);
        }
    }
}

TEST(EventParser, KeepsTextsWithFlawsAndNotesWhereTheyAre) {
    const Parsed escape = parsed(R"({"ph":"B","name":"wrong \q"})");
    ASSERT_TRUE(escape.ok);
    EXPECT_EQ(escape.text(escape.event().name), "wrong \\q");
    EXPECT_EQ(escape.batch.flaws.backslashes, std::vector<std::uint64_t>{1018});
    const Parsed control = parsed("{\"name\":\"a\nb\",\n\"cat\":\"\xFF\"}");
    ASSERT_TRUE(control.ok);
    EXPECT_EQ(control.text(control.event().name), "a\nb");
    EXPECT_EQ(control.text(control.event().category), "?");
    EXPECT_EQ(control.batch.flaws.controls, std::vector<std::uint64_t>{1010});
    EXPECT_EQ(control.batch.flaws.not_utf8, std::vector<std::uint64_t>{1022});
}

// Between the quotes too many of two events, texts and the parts between them are exchanged.
TEST(EventParser, RejectsArgsThatSwallowEvents) {
    EXPECT_FALSE(parsed(R"({"args":{"a":"5" b","c":1}},{"ph":"X","name":"n"},{"args":{"a":"6" b","c":1}})").ok);
    EXPECT_FALSE(parsed(R"({"args":{"a":"5" b","c":1}})").ok);
    EXPECT_TRUE(parsed(R"({"args":{"a":[[1,2],{},[],{"b":[{"c":3}]}],"d":{"e":null}}})").ok);
}

TEST(EventParser, TakesTextsOfOneBatchForOne) {
    EventParser parser;
    EventBatch batch;
    std::vector<StringId> ids;
    for (int i = 0; i < 400; ++i) // more than are known without a look into the pool
        ASSERT_TRUE(
            parser.parse(fmt::format(R"({{"name":"n{}"}},{{"name":"n{}"}},{{"name":""}})", i % 200, i % 3), 0, batch));
    for (std::size_t i = 0; i < batch.events.size(); i += 3) {
        EXPECT_EQ(batch.texts.text(batch.events[i].name), fmt::format("n{}", i / 3 % 200));
        EXPECT_EQ(batch.texts.text(batch.events[i + 1].name), fmt::format("n{}", i / 3 % 3));
        EXPECT_EQ(batch.events[i + 2].name, 0U);
    }
    EXPECT_EQ(batch.texts.size(), 201U);
}

TEST(EventParser, ReadsPhasesOfOneLetterOnly) {
    for (const auto& [text, phase] : std::vector<std::pair<std::string, char>>{{R"("X")", 'X'},
                                                                               {R"("")", '?'},
                                                                               {R"("XY")", '?'},
                                                                               {R"("\"")", '"'},
                                                                               {R"("\\")", '\\'},
                                                                               {"5", '5'},
                                                                               {"null", '?'},
                                                                               {"[1]", '?'},
                                                                               {"{}", '?'}})
        EXPECT_EQ(parsed("{\"ph\":" + text + "}").event().phase, phase) << text;
}

// Values that are not JSON are skipped if they are not needed.
TEST(EventParser, RejectsWhatIsNoObject) {
    for (const char* const text : {"5",
                                   "null",
                                   "[]",
                                   "{",
                                   "}",
                                   "{]",
                                   "[}",
                                   "{\"a\"}",
                                   "{\"a\":}",
                                   "{\"a\":,}",
                                   "{\"a\":1,}",
                                   "{,}",
                                   "{1:2}",
                                   "{\"a\" 1}",
                                   "{\"a\":1 \"b\":2}",
                                   "{\"a\":1}{\"b\":2}",
                                   "{\"a\":1},",
                                   ",{\"a\":1}",
                                   "{\"a\":1},5",
                                   "{\"a\":[}",
                                   "{\"ts\":}",
                                   "{\"ts\":,\"ph\":\"X\"}",
                                   "{\"a\":\"open}",
                                   "{\"a\":1}]",
                                   "{\"a\":1}],{\"b\":2}",
                                   "{\"id2\":{\"local\"}}",
                                   "{\"id2\":{\"local\":1}",
                                   "{\"args\":{\"a\":1}"}) {
        const Parsed result = parsed(text);
        EXPECT_FALSE(result.ok) << text;
        EXPECT_TRUE(result.batch.events.empty()) << text;
    }
    for (const char* const text :
         {"", "{}", "{\"a\":nonsense}", "{\"ts\":NaN}", "{\"a\":1},{\"b\":2}", "{\"id2\":{}}", "{\"id2\":5}"})
        EXPECT_TRUE(parsed(text).ok) << text;
}

TEST(EventParser, EndsWhereTheArrayDoes) {
    EventParser parser;
    EventBatch batch;
    const std::string_view text = "{\"ts\":1}, {\"ts\":2} \n], \"more\": [{\"ts\":3}]}";
    EXPECT_EQ(parser.parseToEnd(text, 0, batch), text.find(" \n]"));
    EXPECT_EQ(batch.events.size(), 2U);
    EXPECT_EQ(parser.parseToEnd("{\"ts\":1}, {\"ts\":2", 0, batch), std::nullopt);
    EXPECT_EQ(batch.events.size(), 2U);
}

/// All data of an event, with its texts.
std::string said(const Event& event, const EventBatch& batch) {
    const auto time = [](const std::optional<TimeNs>& one) { return one ? one->count() : -1; };
    const auto row = [&](const RowId& id) {
        return id.is_text ? std::string(batch.texts.text(static_cast<StringId>(id.number))) : std::to_string(id.number);
    };
    return fmt::format("{} {}{}{}{} {} {} {} '{}' '{}' '{}' '{}' {} {} {} {}", static_cast<int>(event.phase),
                       event.has_time, event.binds_enclosing, event.flows_in, event.flows_out, event.offset,
                       time(event.time), time(event.duration), batch.texts.text(event.name),
                       batch.texts.text(event.category), row(event.pid), row(event.tid), event.id, event.bind,
                       event.args, event.args_size);
}

// With any bytes after the text, and any damage.
TEST(EventParser, ReadsInPlaceWhatItReadsOfACopy) {
    std::mt19937 random(5);
    const auto below = [&random](std::size_t limit) {
        return std::uniform_int_distribution<std::size_t>(0, limit - 1)(random);
    };
    const std::string plain = "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::\\u00e4dd\", \"pid\": 1546, "
                              "\"tid\": \"7\", \"ts\": 4319161297041.922, \"dur\": 53.219, \"args\": {\"Dims\": "
                              "[[512, 256], [], []], \"at\": {\"b\": 2}}},\n{\"ph\": \"s\", \"id\": 3, \"ts\": 1, "
                              "\"id2\": {\"local\": \"0x1\"}}, {}, {\"other\": [{}], \"ph\": \"i\"}";
    const std::string letters = "{}[]:,\"\\ \n0t\x80\0e"; // one of them not UTF-8
    int read = 0;
    for (int round = 0; round < 20'000; ++round) {
        std::string text = plain;
        for (std::size_t damage = round % 4 == 0 ? 0 : 1 + below(3); damage > 0; --damage) {
            const std::size_t at = below(text.size() - 1);
            switch (below(3)) {
            case 0: text[at] = letters[below(letters.size())]; break;
            case 1: text.erase(at, 1 + below(std::min<std::size_t>(20, text.size() - 1 - at))); break;
            default: text.insert(at, 1, letters[below(letters.size())]);
            }
        }
        std::string behind; // any letters
        while (behind.size() < EventParser::kBehind)
            behind += letters[below(letters.size())];
        const Parsed copied = parsed(text);
        const std::string whole = text + behind;
        EventParser parser;
        Parsed in_place;
        in_place.ok = parser.parseInPlace(std::string_view(whole).substr(0, text.size()), 1000, in_place.batch);
        ASSERT_EQ(in_place.ok, copied.ok) << text;
        ASSERT_EQ(in_place.batch.flaws.not_utf8, copied.batch.flaws.not_utf8) << text;
        ASSERT_EQ(in_place.batch.flaws.controls, copied.batch.flaws.controls) << text;
        ASSERT_EQ(in_place.batch.events.size(), copied.batch.events.size()) << text;
        for (std::size_t i = 0; i < copied.batch.events.size(); ++i)
            ASSERT_EQ(said(in_place.batch.events[i], in_place.batch), said(copied.batch.events[i], copied.batch))
                << text;
        read += copied.ok ? 1 : 0;
    }
    EXPECT_GT(read, 6'000);
    EXPECT_LT(read, 18'000);
}

// Digits are read eight at a time.
TEST(EventParser, ReadsNumbersAsTheOrdinaryFunctionsDo) {
    std::mt19937 random(3);
    const auto below = [&random](int limit) { return std::uniform_int_distribution<int>(0, limit - 1)(random); };
    const auto digits = [&](int count) {
        std::string text;
        for (int i = 0; i < count; ++i)
            text += static_cast<char>('0' + below(10));
        return text;
    };
    for (int round = 0; round < 20'000; ++round) {
        std::string text = below(5) == 0 ? "-" : "";
        text += digits(1 + below(22));
        if (below(2) == 0) text += "." + digits(below(6));
        if (below(9) == 0) text += "e" + digits(1 + below(2));
        if (below(9) == 0) text[static_cast<std::size_t>(below(static_cast<int>(text.size())))] = "/;x.-+"[below(6)];
        const char* const space = below(2) == 0 ? "" : " ";
        const char* const quote = below(4) == 0 ? "\"" : "";
        const Parsed result = parsed(fmt::format(
            R"({{"ts":{2}{0}{2}{1},"dur":{2}{0}{2},"pid":{2}{0}{2}{1},"id":{2}{0}{2}}})", text, space, quote));
        ASSERT_TRUE(result.ok) << text;
        const Event& event = result.event();
        const bool is_read = *quote != '\0' || text.front() == '-' || (text.front() >= '0' && text.front() <= '9');
        const std::string_view seen = is_read ? std::string_view(text) : std::string_view();
        EXPECT_EQ(event.time, microsecondsToNs(seen)) << text;
        EXPECT_EQ(event.duration, microsecondsToNs(seen)) << text;
        const auto number = parseNumber<std::int64_t>(seen);
        const std::string_view row = seen.ends_with(".0") ? seen.substr(0, seen.size() - 2) : seen;
        const auto pid = parseNumber<std::int64_t>(row);
        ASSERT_EQ(event.pid.is_text, !pid) << text;
        if (pid) {
            EXPECT_EQ(event.pid.number, *pid) << text;
        } else {
            EXPECT_EQ(result.text(static_cast<StringId>(event.pid.number)), row) << text;
        }
        EXPECT_EQ(event.id, number ? static_cast<std::uint64_t>(*number) : std::hash<std::string_view>{}(seen)) << text;
    }
}

} // namespace
} // namespace bubblescope::chrome
