#include "core/base/wire.h"
#include "core/recognise/partitioned_trace.h"

#include <gtest/gtest.h>

#include <random>

namespace bubblescope {
namespace {

std::vector<InputFile> filesOf(const std::vector<std::uint64_t>& megabytes) {
    std::vector<InputFile> files;
    for (const std::uint64_t size : megabytes)
        files.push_back({"file", false, size << 20});
    return files;
}

using Begins = std::vector<std::size_t>;

TEST(PartitionFiles, SpreadsBytesEvenly) {
    EXPECT_EQ(partitionFiles(filesOf({1, 1, 1, 1, 1, 1, 1, 1}), 4), (Begins{0, 2, 4, 6, 8}));
    EXPECT_EQ(partitionFiles(filesOf({8, 1, 1, 1, 1, 1, 1, 2}), 2), (Begins{0, 1, 8}));
    EXPECT_EQ(partitionFiles(filesOf({1, 1, 1, 9}), 3), (Begins{0, 3, 4, 4})) << "the last has none left";
    EXPECT_EQ(partitionFiles(filesOf({5}), 3), (Begins{0, 1, 1, 1}));
    EXPECT_EQ(partitionFiles(filesOf({0, 0, 0, 0}), 4), (Begins{0, 1, 2, 3, 4})) << "sizes are not known";
}

TEST(PartitionFiles, NoOtherCutHasASmallerLargestRange) {
    std::mt19937 random(7);
    for (int round = 0; round < 300; ++round) {
        std::vector<std::uint64_t> sizes(1 + random() % 7);
        for (std::uint64_t& size : sizes)
            size = 1 + random() % 9;
        const auto largest = [&sizes](std::size_t a, std::size_t b) {
            std::vector<std::uint64_t> sums(3);
            for (std::size_t i = 0; i < sizes.size(); ++i)
                sums[i < a ? 0 : i < b ? 1 : 2] += sizes[i];
            return std::max({sums[0], sums[1], sums[2]});
        };
        std::uint64_t best = ~std::uint64_t{0};
        for (std::size_t a = 0; a <= sizes.size(); ++a) {
            for (std::size_t b = a; b <= sizes.size(); ++b)
                best = std::min(best, largest(a, b));
        }
        const Begins begins = partitionFiles(filesOf(sizes), 3);
        ASSERT_EQ(begins.size(), 4U);
        EXPECT_EQ(begins.back(), sizes.size());
        EXPECT_EQ(largest(begins[1], begins[2]), best);
    }
}

TEST(PartitionFiles, StandardInputStaysWithTheFirst) {
    auto files = filesOf({1, 0, 1});
    files[1].path = "-";
    EXPECT_EQ(partitionFiles(files, 2), (Begins{0, 3, 3}));
}

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
