// make_extracts FOLDER RANKS MEGABYTES: the extracts of a job whose raw traces would be RANKS times MEGABYTES, one file
// a rank, as PyTorch's profiler writes them. One raw trace exists at a time: it is generated, extracted and removed.
// Prints the bytes and seconds of both.

#include "core/analysis/extract_file.h"
#include "tests/bench/kineto_like.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>

int main(int argc, char** argv) {
    using namespace bubblescope;
    if (argc != 4) return 2;
    const std::filesystem::path folder = argv[1];
    const auto ranks = static_cast<std::size_t>(std::strtoul(argv[2], nullptr, 10));
    const std::size_t bytes = static_cast<std::size_t>(std::strtoul(argv[3], nullptr, 10)) << 20;
    std::filesystem::create_directories(folder);
    std::uint64_t before = 0;
    std::uint64_t after = 0;
    std::chrono::duration<double> extracting{0};
    for (std::size_t rank = 0; rank < ranks; ++rank) {
        const std::filesystem::path raw = folder / fmt::format("rank{}.json", rank);
        std::ofstream(raw, std::ios::binary) << bench::kinetoLike(bytes, {.rank = rank, .pp = ranks});
        JobControl control;
        const auto begin = std::chrono::steady_clock::now();
        const auto done = extractFile(raw, extractName(raw), {}, control);
        extracting += std::chrono::steady_clock::now() - begin;
        std::filesystem::remove(raw);
        if (!done.ok()) {
            fmt::print(stderr, "{}\n", done.error().text());
            return 1;
        }
        before += done.value().bytes_before;
        after += done.value().bytes;
    }
    fmt::print("{} ranks: {} MB of raw traces, {} MB of extracts ({:.2f} %), {:.2f} s for each file\n", ranks,
               before >> 20, after >> 20, 100.0 * static_cast<double>(after) / static_cast<double>(before),
               extracting.count() / static_cast<double>(ranks));
}
