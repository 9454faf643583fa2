#include "core/base/ids.h"
#include "core/base/wire.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace bubblescope {
namespace {

TEST(Wire, ValuesComeBackAsTheyWere) {
    const std::map<std::string, std::vector<std::pair<TimeNs, std::optional<double>>>> value{
        {"a", {{TimeNs{-5}, 0.1}, {TimeNs{7}, std::nullopt}}}, {std::string("\0b", 2), {}}};
    const Error error = inputError("file, byte 3", "is broken", "mend it");
    WireWriter out;
    out(value, error, Rank{3}, true, std::filesystem::path("a/b"), std::array<int, 2>{1, -2});
    const std::string bytes = out.take();

    WireReader in(bytes);
    std::remove_const_t<decltype(value)> seen;
    Error seen_error;
    Rank rank;
    bool flag = false;
    std::filesystem::path path;
    std::array<int, 2> numbers{};
    in(seen, seen_error, rank, flag, path, numbers);
    EXPECT_TRUE(in.done());
    EXPECT_EQ(seen, value);
    EXPECT_EQ(seen_error.text(), error.text());
    EXPECT_EQ(rank, Rank{3});
    EXPECT_TRUE(flag);
    EXPECT_EQ(path, "a/b");
    EXPECT_EQ(numbers, (std::array<int, 2>{1, -2}));

    for (std::size_t length = 0; length < bytes.size(); ++length) {
        WireReader cut(std::string_view(bytes).substr(0, length));
        cut(seen, seen_error, rank, flag, path, numbers);
        EXPECT_TRUE(cut.failed()) << length;
    }
}

} // namespace
} // namespace bubblescope
