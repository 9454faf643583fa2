#include "core/io/chrome/reader.h"
#include "core/io/read_trace.h"
#include "tests/bench/kineto_like.h"
#include "tests/support/scratch_folder.h"
#include "tests/unit/io/packed.h"

#include <benchmark/benchmark.h>
#include <nlohmann/json.hpp>
#include <simdjson.h>

#include <sys/resource.h>

#include <cstdlib>
#include <fstream>

// Loading traces, against general JSON libraries on the same file. BUBBLESCOPE_BENCH_MB sets its size (default 200).
namespace bubblescope {
namespace {

struct Files {
    test::ScratchFolder folder;
    std::size_t bytes = 0;
    std::filesystem::path json;
    std::filesystem::path gzip;
    std::filesystem::path zstd;
    std::filesystem::path ranks; ///< a folder with the same in four files

    Files() {
        const char* const megabytes = std::getenv("BUBBLESCOPE_BENCH_MB");
        bytes = (megabytes != nullptr ? std::strtoull(megabytes, nullptr, 10) : 200) << 20;
        const std::string text = bench::kinetoLike(bytes);
        bytes = text.size();
        json = folder.write("trace.json", text);
        gzip = folder.write("trace.json.gz", test::gzipped(text));
        zstd = folder.write("trace.json.zst", test::zstdPacked(text));
        const std::string quarter = bench::kinetoLike(bytes / 4);
        for (int rank = 0; rank < 4; ++rank)
            folder.write("ranks/rank" + std::to_string(rank) + ".json", quarter);
        ranks = folder.path() / "ranks";
    }
};

const Files& files() {
    static const Files made;
    return made;
}

/// The most memory this process ever had, in bytes.
double peakMemory() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<double>(usage.ru_maxrss) * 1024.0;
}

void load(benchmark::State& state, const std::filesystem::path& path) {
    std::size_t slices = 0;
    for (auto unused : state) {
        JobControl control;
        auto read = readTraces({path}, control);
        if (!read.ok()) return state.SkipWithError(read.error().text().c_str());
        slices = read.value().trace->sliceCount();
        benchmark::DoNotOptimize(read);
    }
    state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * files().bytes));
    state.counters["slices"] = static_cast<double>(slices);
    state.counters["peak_over_json"] = peakMemory() / static_cast<double>(files().bytes);
}

void loadJson(benchmark::State& state) {
    load(state, files().json);
}
void loadGzip(benchmark::State& state) {
    load(state, files().gzip);
}
void loadZstd(benchmark::State& state) {
    load(state, files().zstd);
}
void loadFourRanks(benchmark::State& state) {
    load(state, files().ranks);
}

std::string content() {
    std::ifstream stream(files().json, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
}

void simdjsonDom(benchmark::State& state) {
    for (auto unused : state) {
        simdjson::dom::parser parser;
        simdjson::dom::element document;
        if (parser.load(files().json.string()).get(document) != simdjson::SUCCESS) state.SkipWithError("no JSON");
        benchmark::DoNotOptimize(document);
    }
    state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * files().bytes));
}

void nlohmannDom(benchmark::State& state) {
    for (auto unused : state) {
        const auto document = nlohmann::json::parse(content());
        benchmark::DoNotOptimize(document.size());
    }
    state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * files().bytes));
}

BENCHMARK(loadJson)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(loadFourRanks)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(loadGzip)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(loadZstd)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(simdjsonDom)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(nlohmannDom)->Unit(benchmark::kMillisecond)->UseRealTime()->Iterations(1);

} // namespace
} // namespace bubblescope

BENCHMARK_MAIN();
