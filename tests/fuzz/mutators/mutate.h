#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

/// Changes an input in the terms of its format, so that most of it stays well formed: what a reader rejects at its
/// first byte teaches nothing of the rest. Each also repeats parts many times, by which work that grows faster than the
/// input shows. libFuzzer's own changes are made to the pieces.
namespace bubblescope::fuzz {

using Random = std::minstd_rand;

/// A number below `end`, which is not 0.
[[nodiscard]] inline std::size_t below(Random& random, std::size_t end) {
    return static_cast<std::size_t>(random()) % end;
}

/// libFuzzer's change of any bytes, of at most `most` then.
[[nodiscard]] std::string mutateBytes(std::string bytes, std::size_t most);

[[nodiscard]] std::string mutateJson(std::string_view text, std::size_t most, Random& random);
[[nodiscard]] std::string mutateProtobuf(std::string_view message, std::size_t most, Random& random);
/// gzip or zstd, or bytes that are packed as one of them.
[[nodiscard]] std::string mutatePacked(std::string_view packed, std::size_t most, Random& random);
[[nodiscard]] std::string mutateDatabase(std::string_view file, std::size_t most, Random& random);

/// How often a part is repeated: mostly a few times, sometimes until `most` bytes are full.
[[nodiscard]] std::size_t repetitions(std::size_t bytes, std::size_t most, Random& random);

} // namespace bubblescope::fuzz
