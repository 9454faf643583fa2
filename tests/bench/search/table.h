#pragma once

#include "core/optimize/search/search.h"

#include <cstdint>
#include <ctime>
#include <string>
#include <vector>

/// The tables of resources/benchmarks/search.md.
namespace bubblescope::search_table {

/// How far each search goes.
struct Options {
    double seconds = 0; ///< of wall-clock time; 0 = as the part has it
    int rounds = 0;     ///< instead of seconds, the same on any machine; 0 = not given
    int threads = 0;    ///< 0 = all cores
    int smallest = 4;   ///< ranks
    int largest = 16;   ///< ranks
    int draws = 30;     ///< of times, or of noise
    std::string only;   ///< v1, v2, v4; empty = all
};

/// Sets what ends the search.
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

/// Each returns the exit code: 1 where a goal is missed.
int exhaustive(const Options& options);
int uneven(const Options& options);
int zeroBubble(const Options& options);
int dynaPipe(const Options& options);
int flexFusion(const Options& options);
int noise(const Options& options);
int moves(const Options& options);

} // namespace bubblescope::search_table
