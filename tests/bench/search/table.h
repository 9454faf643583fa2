#pragma once

#include "core/optimize/search/search.h"

#include <cstdint>
#include <ctime>
#include <string>

/// The tables of resources/benchmarks/search.md.
namespace bubblescope::search_table {

/// Limits of each search.
struct Options {
    double seconds = 0; ///< wall-clock time limit; 0 = default of the benchmark part
    int rounds = 0;     ///< number of rounds instead of seconds, for equal results on all machines; 0 = not set
    int threads = 0;    ///< 0 = all cores
    int smallest = 4;   ///< number of ranks
    int largest = 16;   ///< number of ranks
    int draws = 30;     ///< number of draws of times or noise
    std::string only;   ///< v1, v2 or v4; empty = all
};

/// Sets the limits of the search.
inline void limit(SearchRequest& request, const Options& options, double seconds) {
    request.threads = options.threads;
    if (options.rounds > 0) {
        request.rounds = options.rounds;
        return;
    }
    const double given = options.seconds > 0 ? options.seconds : seconds;
    request.time_limit = TimeNs{static_cast<std::int64_t>(given * 1e9)};
}

/// Processor time of all threads.
inline double processorSeconds() {
    return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

/// Each function returns the exit code: 1 if a goal is missed.
int exhaustive(const Options& options);
int uneven(const Options& options);
int zeroBubble(const Options& options);
int dynaPipe(const Options& options);
int flexFusion(const Options& options);
int noise(const Options& options);
int moves(const Options& options);

} // namespace bubblescope::search_table
