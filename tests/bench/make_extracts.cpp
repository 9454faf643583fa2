// make_extracts FOLDER RANKS MEGABYTES: the extracts of a job whose raw traces would be RANKS times MEGABYTES, one file
// a rank, as PyTorch's profiler writes them: pipelines of at most 16 stages, and as many of them as the ranks are for.
// The raw trace of each stage is generated, extracted and removed. Replicas of a stage record the same, so their
// extracts are that of the first one with another rank. Prints the bytes of both, and the processor time of extracting.

#include "core/analysis/extract_file.h"
#include "core/formats/perfetto/packet.h"
#include "core/formats/source/file_extract.h"
#include "tests/bench/kineto_like.h"

#include <fmt/format.h>
#include <protozero/buffer_string.hpp>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

namespace bubblescope {
namespace {

namespace fs = std::filesystem;

fs::path rawOf(const fs::path& folder, std::size_t rank) {
    return folder / fmt::format("rank{}.json", rank);
}

Result<ExtractedFile> extractStage(const fs::path& raw, std::size_t bytes, const bench::PipelinePlace& place,
                                   std::clock_t& took) {
    std::ofstream(raw, std::ios::binary) << bench::kinetoLike(bytes, place);
    JobControl control;
    const std::clock_t begin = std::clock();
    auto done = extractFile(raw, extractName(raw), {}, control);
    took += std::clock() - begin;
    fs::remove(raw);
    return done;
}

/// What an extract of another rank would be that recorded the same.
Result<std::string> ofRank(const std::string& extract, std::size_t rank) {
    std::size_t behind = 0;
    std::string_view first;
    if (perfetto::takeFrame(extract, behind, first)) return inputError("extract", "has no packet");
    protozero::pbf_reader fields(first.data(), first.size());
    if (!fields.next(perfetto::fields::packet::kExtract)) return inputError("extract", "was copied");
    const auto view = fields.get_view();
    BUBBLESCOPE_ASSIGN(FileExtract file, FileExtract::decoded({view.data(), view.size()}, "extract"));
    file.file.rank = static_cast<std::int32_t>(rank);
    std::string packet;
    protozero::pbf_writer(packet).add_bytes(perfetto::fields::packet::kExtract, file.encoded());
    std::string out;
    protozero::pbf_writer(out).add_bytes(perfetto::fields::trace::kPacket, packet);
    return out.append(extract, behind);
}

Status make(const fs::path& folder, std::size_t ranks, std::size_t bytes) {
    const std::size_t stages = std::min<std::size_t>(ranks, 16);
    if (ranks == 0 || ranks % stages != 0) return usageError("RANKS is not a multiple of 16");
    fs::create_directories(folder);
    std::uint64_t before = 0;
    std::uint64_t after = 0;
    std::clock_t took = 0;
    for (std::size_t stage = 0; stage < stages; ++stage) {
        const fs::path raw = rawOf(folder, stage);
        const bench::PipelinePlace place{stage, stages, 2 * stages, ranks / stages};
        BUBBLESCOPE_ASSIGN(const ExtractedFile done, extractStage(raw, bytes, place, took));
        std::ifstream file(extractName(raw), std::ios::binary);
        const std::string extract(std::istreambuf_iterator<char>(file), {});
        for (std::size_t rank = stage + stages; rank < ranks; rank += stages) {
            BUBBLESCOPE_ASSIGN(const std::string other, ofRank(extract, rank));
            std::ofstream(extractName(rawOf(folder, rank)), std::ios::binary) << other;
        }
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
