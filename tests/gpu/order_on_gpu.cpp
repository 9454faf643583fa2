// order_on_gpu FILE RANK FOLDER COMMUNICATORS BYTES SECONDS: performs one rank of an order with NCCL, on the first GPU.
// All ranks run at the same time and find each other through FOLDER. Prints "ends" (exit code 0), or "hangs" (3) if
// the order has not ended after SECONDS.

#include "core/schedule/schedule_files.h"
#include "runtime/backend/cuda/cuda_device.h"
#include "runtime/backend/cuda/nccl_peers.h"
#include "tests/gpu/order_on_peers.h"

#include <fmt/format.h>

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace bubblescope::runtime::test {
namespace {

using Clock = std::chrono::steady_clock;

int run(const std::vector<std::string>& words) {
    const auto lowered = readLoweredFile(words[1]);
    const auto kind = communicatorKindFromName(words[4]);
    const auto gpu = openGpu(0);
    if (!lowered.ok() || !gpu.ok() || !kind) {
        fmt::print(stderr, "{}\n", !lowered.ok() ? lowered.error().text() : !kind ? words[4] : gpu.error().text());
        return 2;
    }
    const LoweredSchedule order = lowered.value().hasTransfers() ? lowered.value() : withTransfers(lowered.value());
    gpu.value()->bindThread();
    const auto library = makeNcclPeers();
    const Rank self{std::stoi(words[2])};
    const auto end = Clock::now() + std::chrono::seconds(std::stoi(words[6]));
    OrderOnPeers one{order, self, {*kind, {}}, std::stoll(words[5]), *library, *gpu.value(), {}, {}, {}};
    one.id_of = [&](std::size_t n) {
        const std::filesystem::path file = std::filesystem::path(words[3]) / fmt::format("id{}", n);
        if (self.value == 0) {
            const std::string id = library->makeId();
            std::ofstream(file.string() + ".new") << id;
            std::filesystem::rename(file.string() + ".new", file);
            return id;
        }
        while (!std::filesystem::exists(file)) {
            if (Clock::now() > end) throw std::runtime_error("rank 0 did not publish its id in time");
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        std::ifstream in(file, std::ios::binary);
        return std::string(std::istreambuf_iterator(in), {});
    };
    one.stops = [&] { return Clock::now() > end; };
    one.await = [&](Accelerator::Event event) {
        while (!gpu.value()->reached(event)) {
            if (one.stops()) return false;
        }
        return true;
    };
    const bool ended = one.run();
    std::puts(ended ? "ends" : "hangs");
    std::fflush(stdout);
    ::_exit(ended ? 0 : 3); // without waiting for what hangs
}

} // namespace
} // namespace bubblescope::runtime::test

int main(int argc, char** argv) {
    const std::vector<std::string> words(argv, argv + argc);
    if (words.size() != 7) {
        std::fputs("order_on_gpu FILE RANK FOLDER COMMUNICATORS BYTES SECONDS\n", stderr);
        return 2;
    }
    try {
        return bubblescope::runtime::test::run(words);
    } catch (const std::exception& failure) {
        fmt::print(stderr, "{}\n", failure.what());
        return 4;
    }
}
