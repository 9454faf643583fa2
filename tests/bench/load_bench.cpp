#include "core/formats/read_trace.h"

#include <benchmark/benchmark.h>
#include <nlohmann/json.hpp>
#include <simdjson.h>

#include <malloc.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

// bench_load FOLDER [options of Google Benchmark]: loads the files that make_bench_traces wrote to the folder, and any
// others in it, against general JSON libraries on the same file.
namespace bubblescope {
namespace {

namespace fs = std::filesystem;

/// Bytes on disk: of a folder, those of its files.
std::uintmax_t bytesOf(const fs::path& path) {
    if (!fs::is_directory(path)) return fs::file_size(path);
    std::uintmax_t sum = 0;
    for (const auto& entry : fs::recursive_directory_iterator(path))
        sum += entry.is_regular_file() ? entry.file_size() : 0;
    return sum;
}

constexpr const char* kPeak = "--peak";

/// The peak memory of a process that only loads, in bytes; mapped pages of the file count. It is
/// this program started again: a mere fork has the locks of this process's threads, but not the threads.
double peakOfLoading(const fs::path& path) {
    const pid_t child = fork();
    if (child == 0) {
        execl("/proc/self/exe", "bench_load", kPeak, path.c_str(), nullptr);
        _exit(1);
    }
    int status = 0;
    rusage usage{};
    if (child < 0 || wait4(child, &status, 0, &usage) != child || status != 0) return 0;
    return static_cast<double>(usage.ru_maxrss) * 1024.0;
}

/// The code of such a process.
int loadOnce(const fs::path& path) {
    JobControl control;
    return readTraces({path}, control).ok() ? 0 : 1;
}

/// Bytes of this process's memory that are allocated.
double heapInUse() {
    const struct mallinfo2 info = mallinfo2();
    return static_cast<double>(info.uordblks + info.hblkhd);
}

/// `unpacked`: bytes that the file unpacks to.
void load(benchmark::State& state, const fs::path& path, std::uintmax_t unpacked) {
    const double peak = peakOfLoading(path);
    std::size_t slices = 0;
    double kept = 0;
    for (auto unused : state) {
        const double before = heapInUse();
        JobControl control;
        auto read = readTraces({path}, control);
        kept = heapInUse() - before;
        if (!read.ok()) return state.SkipWithError(read.error().text().c_str());
        slices = read.value().trace->sliceCount();
        benchmark::DoNotOptimize(read);
    }
    state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * unpacked));
    state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations() * slices));
    state.counters["slices"] = static_cast<double>(slices);
    state.counters["kept_a_slice"] = kept / static_cast<double>(std::max<std::size_t>(1, slices));
    state.counters["peak_MB"] = peak / 1e6;
    state.counters["peak_over_bytes"] = peak / static_cast<double>(unpacked);
}

std::string content(const fs::path& path) {
    std::ifstream stream(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
}

void simdjsonDom(benchmark::State& state, const fs::path& path) {
    for (auto unused : state) {
        simdjson::dom::parser parser;
        simdjson::dom::element document;
        if (parser.load(path.string()).get(document) != simdjson::SUCCESS) state.SkipWithError("no JSON");
        benchmark::DoNotOptimize(document);
    }
    state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * bytesOf(path)));
}

void nlohmannDom(benchmark::State& state, const fs::path& path) {
    for (auto unused : state) {
        const auto document = nlohmann::json::parse(content(path));
        benchmark::DoNotOptimize(document.size());
    }
    state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * bytesOf(path)));
}

void add(const std::string& name, const std::function<void(benchmark::State&)>& run) {
    benchmark::RegisterBenchmark(name.c_str(), run)
        ->Unit(benchmark::kMillisecond)
        ->UseRealTime()
        ->MeasureProcessCPUTime();
}

int run(int argc, char** argv) {
    if (argc < 2) return std::fprintf(stderr, "usage: %s FOLDER [options]\n", argv[0]), 2;
    if (argc == 3 && std::strcmp(argv[1], kPeak) == 0) return loadOnce(argv[2]);
    const fs::path folder(argv[1]);
    std::vector<fs::path> inputs;
    for (const auto& entry : fs::directory_iterator(folder))
        inputs.push_back(entry.path());
    std::sort(inputs.begin(), inputs.end());
    for (const fs::path& input : inputs) {
        const std::string name = input.filename().string();
        // Packed files count with their unpacked size; the unpacked files are next to them.
        const bool packed = input.extension() == ".gz" || input.extension() == ".zst";
        const fs::path plain = packed ? input.parent_path() / input.stem() : input;
        const std::uintmax_t bytes = bytesOf(fs::exists(plain) ? plain : input);
        add("load/" + name, [input, bytes](benchmark::State& state) { load(state, input, bytes); });
    }
    // Last: what their documents leave of the heap slows the loads behind them, which take six times as long.
    for (const fs::path& input : inputs) {
        if (input.extension() != ".json") continue;
        const std::string name = input.filename().string();
        add("simdjson_dom/" + name, [input](benchmark::State& state) { simdjsonDom(state, input); });
    }
    for (const fs::path& input : inputs) {
        if (input.extension() != ".json") continue;
        const std::string name = input.filename().string();
        add("nlohmann/" + name, [input](benchmark::State& state) { nlohmannDom(state, input); });
    }
    benchmark::Initialize(&argc, argv);
    benchmark::RunSpecifiedBenchmarks();
    return 0;
}

} // namespace
} // namespace bubblescope

int main(int argc, char** argv) {
    return bubblescope::run(argc, argv);
}
