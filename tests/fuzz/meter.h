#pragma once

#include <cstddef>
#include <cstdint>

/// The cost of an input for a reader, in counts that are the same on every machine, without a clock.
namespace bubblescope::fuzz {

struct Used {
    std::size_t peak = 0;      ///< maximum number of bytes allocated at a time
    std::size_t allocated = 0; ///< total number of allocated bytes
    /// Number of branches taken in the readers if they are built with counters (the fuzz preset), otherwise 0.
    std::uint64_t branches = 0;
};

/// Measures from its construction on. Only one instance per process at a time.
class Meter {
public:
    Meter();
    Meter(const Meter&) = delete;
    Meter& operator=(const Meter&) = delete;
    ~Meter();

    [[nodiscard]] Used used() const;
};

/// Limit for an input of a given size: a constant plus an amount per byte.
struct Bounds {
    std::size_t peak_per_byte = 0;
    std::size_t allocated_per_byte = 0;
    std::uint64_t branches_per_byte = 0;
    std::size_t peak = std::size_t{16} << 20;
    std::size_t allocated = std::size_t{64} << 20;
    std::uint64_t branches = 4'000'000;
};

/// Throws BrokenPromise if a limit is exceeded. Prints the measurement if BUBBLESCOPE_FUZZ_METER is set.
void requireLinear(const Used& used, std::size_t input, const Bounds& bounds);

} // namespace bubblescope::fuzz
