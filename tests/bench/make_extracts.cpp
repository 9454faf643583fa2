// make_extracts FOLDER RANKS MEGABYTES: the extracts of a job whose raw traces would be RANKS times MEGABYTES, one file
// a rank, as PyTorch's profiler writes them: pipelines of at most 16 stages, and as many of them as the ranks are for.
// The raw trace of each stage is generated, extracted and removed. It does not state its rank, so that its extract is
// that of each replica of the stage, which records the same: the names of the copies state the rank. Prints the bytes
// of both, and the processor time of extracting.

#include "core/analysis/extract_file.h"
#include "tests/bench/kineto_like.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>

namespace bubblescope {
namespace {

namespace fs = std::filesystem;

Result<ExtractedFile> extractStage(const fs::path& raw, std::size_t bytes, const bench::PipelinePlace& place,
                                   std::clock_t& took) {
    std::string text = bench::kinetoLike(bytes, place);
    const std::string rank = fmt::format("\"rank\": {}, ", place.rank);
    text.erase(text.find(rank), rank.size());
    std::ofstream(raw, std::ios::binary) << text;
    JobControl control;
    const std::clock_t begin = std::clock();
    auto done = extractFile(raw, extractName(raw), {}, control);
    took += std::clock() - begin;
    fs::remove(raw);
    return done;
}

Status make(const fs::path& folder, std::size_t ranks, std::size_t bytes) {
    const std::size_t stages = std::min<std::size_t>(ranks, 16);
    if (ranks == 0 || ranks % stages != 0) return usageError("RANKS is not a multiple of 16");
    fs::create_directories(folder);
    std::uint64_t before = 0;
    std::uint64_t after = 0;
    std::clock_t took = 0;
    for (std::size_t stage = 0; stage < stages; ++stage) {
        const fs::path raw = folder / "trace.json";
        const bench::PipelinePlace place{stage, stages, 2 * stages, ranks / stages};
        BUBBLESCOPE_ASSIGN(const ExtractedFile done, extractStage(raw, bytes, place, took));
        for (std::size_t rank = stage; rank < ranks; rank += stages)
            fs::copy_file(extractName(raw), folder / extractName(fmt::format("rank{}.json", rank)));
        fs::remove(extractName(raw));
        before += done.bytes_before;
        after += done.bytes;
    }
    fmt::print("{} ranks: {} MB of raw traces, {:.1f} MB of extracts ({:.2f} %), {:.2f} s for each file\n", ranks,
               (before >> 20) * (ranks / stages), static_cast<double>(after * (ranks / stages)) / (1 << 20),
               100.0 * static_cast<double>(after) / static_cast<double>(before),
               static_cast<double>(took) / CLOCKS_PER_SEC / static_cast<double>(stages));
    return {};
}

} // namespace
} // namespace bubblescope

int main(int argc, char** argv) {
    if (argc != 4) return 2;
    const auto number = [&](int at) { return static_cast<std::size_t>(std::strtoul(argv[at], nullptr, 10)); };
    const bubblescope::Status made = bubblescope::make(argv[1], number(2), number(3) << 20);
    if (made.ok()) return 0;
    fmt::print(stderr, "{}\n", made.error().text());
    return 1;
}
