#include "tests/bench/kineto_like.h"
#include "tests/bench/nsys_like.h"
#include "tests/bench/perfetto_like.h"
#include "tests/unit/formats/packed.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

// make_bench_traces FOLDER [MB] [SLICES]: writes the files (parts of a megabyte, too) that bench_load loads. A
// separate program, so that its memory does not count with the load's.
namespace {

void write(const std::filesystem::path& file, std::string_view bytes) {
    std::ofstream(file, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    std::printf("%s: %.0f MB\n", file.string().c_str(), static_cast<double>(bytes.size()) / 1e6);
}

} // namespace

int main(int argc, char** argv) {
    if (argc < 2) return std::fprintf(stderr, "usage: %s FOLDER [MB] [SLICES]\n", argv[0]), 2;
    const std::filesystem::path folder(argv[1]);
    const auto bytes = static_cast<std::size_t>((argc > 2 ? std::strtod(argv[2], nullptr) : 200.0) * 1e6);
    const std::size_t slices = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 3'000'000;
    std::filesystem::create_directories(folder / "ranks");
    std::filesystem::create_directories(folder / "pipeline");
    using namespace bubblescope;
    {
        const std::string text = bench::kinetoLike(bytes);
        write(folder / "kineto.json", text);
        write(folder / "merged.json", bench::merged(text));
        write(folder / "shuffled.json", bench::shuffled(text));
        write(folder / "kineto.json.gz", test::gzipped(text));
        write(folder / "kineto.json.zst", test::zstdPacked(text));
    }
    const std::string quarter = bench::kinetoLike(bytes / 4);
    for (int rank = 0; rank < 4; ++rank)
        write(folder / "ranks" / ("rank" + std::to_string(rank) + ".json"), quarter);
    write(folder / "perfetto.pftrace", bench::perfettoLike(slices));
    for (std::size_t rank = 0; rank < 8; ++rank)
        write(folder / "pipeline" / ("rank" + std::to_string(rank) + ".json"),
              bench::kinetoLike(bytes / 4, {rank, 8, 8}));
    bench::writeNsysLike(folder / "nsys.sqlite", slices);
    return 0;
}
