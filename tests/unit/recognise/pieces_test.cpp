#include "core/recognise/pieces.h"

#include <gtest/gtest.h>

#include <vector>

namespace bubblescope {
namespace {

TEST(Pieces, AreOneListAndAreFreedAsTheyAreUsed) {
    Pieces<int> pieces;
    EXPECT_TRUE(pieces.empty());
    EXPECT_TRUE(pieces.begin() == pieces.end());
    pieces.append({1, 2});
    pieces.append(std::vector<int>{});
    pieces.append({3});
    pieces.push_back(4);
    pieces.append({5, 6, 7});
    EXPECT_EQ(pieces.size(), 7U);
    EXPECT_EQ(std::vector<int>(pieces.begin(), pieces.end()), (std::vector<int>{1, 2, 3, 4, 5, 6, 7}));
    pieces.eraseIf([](int value) { return value == 3 || value == 4 || value > 5; }); // leaves an empty piece
    const Pieces<int>& fixed = pieces;
    EXPECT_EQ(std::vector<int>(fixed.begin(), fixed.end()), (std::vector<int>{1, 2, 5}));
    std::vector<int> used;
    pieces.consume([&](const std::vector<int>& list) { used.insert(used.end(), list.begin(), list.end()); });
    EXPECT_EQ(used, (std::vector<int>{1, 2, 5}));
    EXPECT_TRUE(pieces.empty());
}

} // namespace
} // namespace bubblescope
