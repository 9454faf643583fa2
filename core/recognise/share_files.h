#pragma once

#include "core/formats/trace_files.h"

#include <cstddef>
#include <span>
#include <vector>

namespace bubblescope {

/// Cuts files, in their order, into as many ranges as there are shares, so that the largest range's bytes are as few as
/// they can be. Share i takes files [result[i], result[i + 1]). Standard input belongs to the first process, so with it
/// among the files that one takes all of them.
[[nodiscard]] std::vector<std::size_t> shareFiles(std::span<const InputFile> files, std::size_t shares);

} // namespace bubblescope
