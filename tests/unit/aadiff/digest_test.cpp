#include "core/aadiff/digest.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <random>
#include <set>
#include <thread>
#include <vector>

namespace bubblescope {
namespace {

std::vector<std::uint64_t> someWords(std::size_t size) {
    std::vector<std::uint64_t> words(size);
    std::mt19937_64 random(7);
    for (std::uint64_t& word : words)
        word = random();
    return words;
}

std::uint64_t of(const std::vector<std::uint64_t>& words) {
    return digest::of(words.data(), words.size() * sizeof(std::uint64_t));
}

/// Straight from the definition, byte by byte.
std::uint64_t byDefinition(const std::vector<unsigned char>& bytes) {
    const auto mix = [](std::uint64_t x) {
        x ^= x >> 30;
        x *= 0xBF58476D1CE4E5B9ULL;
        x ^= x >> 27;
        x *= 0x94D049BB133111EBULL;
        x ^= x >> 31;
        return x;
    };
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < bytes.size(); i += 8) {
        std::uint64_t word = 0;
        for (std::size_t k = 0; k < 8 && i + k < bytes.size(); ++k)
            word += std::uint64_t{bytes[i + k]} << (8 * k);
        sum += mix(word + (i / 8 + 1) * 0x9E3779B97F4A7C15ULL);
    }
    return mix(sum + (bytes.size() + 1) * 0x9E3779B97F4A7C15ULL);
}

TEST(Digest, IsWhatItsDefinitionSays) {
    std::vector<unsigned char> bytes;
    for (int i = 0; i < 70; ++i) {
        EXPECT_EQ(digest::of(bytes.data(), bytes.size()), byDefinition(bytes)) << i << " bytes";
        bytes.push_back(static_cast<unsigned char>(37 * i + 11));
    }
}

// Files of other versions and other people's programs hold digests: these never change.
TEST(Digest, KeepsItsValues) {
    const std::array<float, 5> numbers{1.0F, -0.0F, 3.5F, 1e-30F, 2.0F};
    EXPECT_EQ(digest::of(nullptr, 0), 0xe220a8397b1dcdafULL);
    EXPECT_EQ(digest::of("a", 1), 0x9cc9964958266158ULL);
    EXPECT_EQ(digest::of(numbers.data(), sizeof numbers), 0xe1e85133ddae1a8fULL);
}

TEST(Digest, DoesNotDependOnOrderOrThreads) {
    const std::vector<std::uint64_t> words = someWords(10'007);
    constexpr std::size_t kParts = 5;
    std::array<std::uint64_t, kParts> sums{};
    std::vector<std::thread> threads;
    for (std::size_t part = 0; part < kParts; ++part) {
        threads.emplace_back([&, part] {
            const std::size_t begin = words.size() * part / kParts;
            const std::size_t end = words.size() * (part + 1) / kParts;
            sums[part] = digest::sum(words.data() + begin, (end - begin) * sizeof(std::uint64_t), begin);
        });
    }
    for (std::thread& thread : threads)
        thread.join();
    std::uint64_t total = 0;
    for (std::size_t part = kParts; part-- > 0;)
        total += sums[part];
    EXPECT_EQ(digest::finish(total, words.size() * sizeof(std::uint64_t)), of(words));
}

TEST(Digest, SeesEveryFlippedBit) {
    std::vector<std::uint64_t> words = someWords(257);
    const std::uint64_t clean = of(words);
    std::set<std::uint64_t> seen{clean};
    for (std::uint64_t& word : words) {
        for (int bit = 0; bit < 64; ++bit) {
            word ^= std::uint64_t{1} << bit;
            EXPECT_TRUE(seen.insert(of(words)).second);
            word ^= std::uint64_t{1} << bit;
        }
    }
    EXPECT_EQ(of(words), clean);
}

TEST(Digest, SeesWhatMovesAndWhatIsCutOff) {
    std::vector<std::uint64_t> words = someWords(64);
    const std::uint64_t clean = of(words);
    std::swap(words[3], words[40]);
    EXPECT_NE(of(words), clean);
    std::swap(words[3], words[40]);
    words.push_back(0);
    EXPECT_NE(of(words), clean);
    // All zeros, of different sizes.
    const std::array<unsigned char, 32> zeros{};
    std::set<std::uint64_t> sizes;
    for (std::size_t size = 0; size <= zeros.size(); ++size)
        EXPECT_TRUE(sizes.insert(digest::of(zeros.data(), size)).second) << size;
}

TEST(Digest, SeesPairsOfFlips) {
    // The same bit of two words, and the other way round: what plain sums and exclusive ors miss.
    std::vector<std::uint64_t> words(128, 0x3F8000003F800000ULL);
    const std::uint64_t clean = of(words);
    for (std::size_t a = 0; a < words.size(); ++a) {
        for (std::size_t b = a + 1; b < words.size(); ++b) {
            for (const std::uint64_t bit : {std::uint64_t{1} << 63U, std::uint64_t{1} << 22U, std::uint64_t{1}}) {
                words[a] ^= bit;
                words[b] ^= bit;
                EXPECT_NE(of(words), clean);
                words[b] ^= bit;
                words[b] += 1;
                words[a] -= 1;
                EXPECT_NE(of(words), clean);
                words[b] -= 1;
                words[a] += 1;
                words[a] ^= bit;
            }
        }
    }
}

TEST(Digest, TakesAnyAlignment) {
    const std::vector<std::uint64_t> words = someWords(33);
    const std::size_t bytes = words.size() * sizeof words[0];
    std::vector<unsigned char> shifted(bytes + 7);
    for (std::size_t by = 0; by < 8; ++by) {
        std::memcpy(shifted.data() + by, words.data(), bytes);
        EXPECT_EQ(digest::of(shifted.data() + by, bytes), of(words));
    }
}

} // namespace
} // namespace bubblescope
