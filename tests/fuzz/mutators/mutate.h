#pragma once

#include <cstddef>
#include <random>
#include <string>
#include <string_view>

/// Mutators that preserve most of an input's format, because an input that is rejected at its first byte does not test
/// the rest of the reader. Each mutator also repeats parts many times, to detect work that grows faster than the input.
/// The parts themselves are changed by libFuzzer's mutations.
namespace bubblescope::fuzz {

using Random = std::minstd_rand;

/// Random number below `end`, which must not be 0.
[[nodiscard]] inline std::size_t below(Random& random, std::size_t end) {
    return static_cast<std::size_t>(random()) % end;
}

/// Applies libFuzzer's byte mutations. The result has at most `most` bytes.
[[nodiscard]] std::string mutateBytes(std::string bytes, std::size_t most);

[[nodiscard]] std::string mutateJson(std::string_view text, std::size_t most, Random& random);
[[nodiscard]] std::string mutateProtobuf(std::string_view message, std::size_t most, Random& random);
/// Mutates gzip or zstd data, or compresses other bytes with one of these formats.
[[nodiscard]] std::string mutatePacked(std::string_view packed, std::size_t most, Random& random);
[[nodiscard]] std::string mutateDatabase(std::string_view file, std::size_t most, Random& random);

/// Random number of repetitions of a part: usually a few, sometimes enough to fill `most` bytes.
[[nodiscard]] std::size_t repetitions(std::size_t bytes, std::size_t most, Random& random);

} // namespace bubblescope::fuzz
