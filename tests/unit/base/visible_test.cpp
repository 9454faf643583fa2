#include "core/base/visible.h"

#include "core/base/csv_cell.h"
#include "core/base/sentence.h"
#include "core/base/text.h"

#include <gtest/gtest.h>

namespace bubblescope {
namespace {

TEST(Visible, ShowsAnEscapeForWhatMovesHidesOrBreaksText) {
    EXPECT_EQ(visible("plain F0.3"), "plain F0.3");
    EXPECT_EQ(visible("forged\r\nVerdict: fine"), "forged\\r\\nVerdict: fine");
    EXPECT_EQ(visible("a\tb"), "a\\tb");
    EXPECT_EQ(visible("\x1b[31mred\x7f"), "\\x1b[31mred\\x7f");
    EXPECT_EQ(visible("c1 \xc2\x9b"), "c1 \\u009b");
    EXPECT_EQ(visible("\xe2\x80\xae"
                      "abc\xe2\x81\xa9"),
              "\\u202e"
              "abc\\u2069");
    EXPECT_EQ(visible("\xe2\x80\xa8\xe2\x80\xa9"), "\\u2028\\u2029");
    EXPECT_EQ(visible("\xff raw \xc3"), "\\xff raw \\xc3");
    EXPECT_EQ(visible(std::string_view("nul\0", 4)), "nul\\x00");
    EXPECT_EQ(visible("\xe6\xb5\x81\xe6\xb0\xb4 \xc2\xb5s \xef\xbf\xbd"),
              "\xe6\xb5\x81\xe6\xb0\xb4 \xc2\xb5s \xef\xbf\xbd")
        << "other scripts, and a replacement character that was written as one, stay";
}

TEST(Visible, KeepsLineEndsOfWhatIsInLinesAlready) {
    EXPECT_EQ(visible("one\ntwo\r\n", LineEnds::Kept), "one\ntwo\r\n");
    EXPECT_EQ(visible("one\rtwo\n", LineEnds::Kept), "one\\rtwo\n");
}

TEST(Visible, IsWhatSentencesDocumentsAndTablesShowOfNames) {
    const std::string name = "F0\nfine\xe2\x80\xae";
    EXPECT_EQ(say("slice '{}'", name).text(), "slice 'F0\\nfine\\u202e'");
    EXPECT_EQ(csvCell(name), "F0\\nfine\\u202e");
    EXPECT_EQ(escapeXml("a\xe2\x80\xae<"), "a\\u202e&lt;");
}

} // namespace
} // namespace bubblescope
