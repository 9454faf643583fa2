#include "core/recognise/share_files.h"

#include "core/formats/source/file_bytes.h"

#include <algorithm>
#include <cstdint>

namespace bubblescope {
namespace {

/// Opening a file costs something too, and keeps empty ones apart.
std::uint64_t costOf(const InputFile& file) {
    return file.bytes + 4096;
}

/// Fills one range after the other up to `most`; more ranges than there are shares if that is too little.
std::vector<std::size_t> filledUpTo(std::span<const InputFile> files, std::uint64_t most) {
    std::vector<std::size_t> begins{0};
    std::uint64_t filled = 0;
    for (std::size_t i = 0; i < files.size(); ++i) {
        if (filled > 0 && filled + costOf(files[i]) > most) {
            begins.push_back(i);
            filled = 0;
        }
        filled += costOf(files[i]);
    }
    return begins;
}

} // namespace

std::vector<std::size_t> shareFiles(std::span<const InputFile> files, std::size_t shares) {
    std::uint64_t least = 0;
    std::uint64_t most = 0;
    bool standard_input = false;
    for (const InputFile& file : files) {
        least = std::max(least, costOf(file));
        most += costOf(file);
        standard_input = standard_input || file.path == kStandardInput;
    }
    if (standard_input) least = most;
    while (least < most) {
        const std::uint64_t middle = least + (most - least) / 2;
        if (filledUpTo(files, middle).size() <= shares)
            most = middle;
        else
            least = middle + 1;
    }
    std::vector<std::size_t> begins = filledUpTo(files, most);
    begins.resize(shares + 1, files.size());
    return begins;
}

} // namespace bubblescope
