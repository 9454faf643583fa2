#pragma once

#include "tests/support/scratch_folder.h"

#include <cstddef>
#include <string>

/// Inputs of which one thing is large.
namespace bubblescope::doubling {

/// A file of rules that finds the ops of madeRun().
[[nodiscard]] std::string rulesFile(const test::ScratchFolder& folder);

struct RunSizes {
    std::size_t steps = 4;
    std::size_t ranks = 2;
    std::size_t microbatches = 2;
};
/// A Chrome trace of a forward and a backward pass per micro-batch, with times that vary by `seed`; its file.
[[nodiscard]] std::string madeRun(const test::ScratchFolder& folder, const std::string& name, const RunSizes& sizes,
                                  unsigned seed = 1);

/// What a trace without a pipeline has many of.
enum class Many { Names, Tracks, Args, Flows, Overlaps, Depth, Instants, Counters, Processes, OpenSlices };
[[nodiscard]] std::string madeTrace(const test::ScratchFolder& folder, Many what, std::size_t count);

/// `count` copies of a small file of one rank each, in one folder; the folder.
[[nodiscard]] std::string madeFolder(const test::ScratchFolder& folder, std::size_t count);

} // namespace bubblescope::doubling
