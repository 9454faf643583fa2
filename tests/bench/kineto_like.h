#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <iterator>
#include <string>
#include <string_view>

namespace bubblescope::bench {

/// A trace as PyTorch's profiler writes it, made of nothing but numbers: operators on the host, launches, kernels on
/// two streams with the args that real ones have, and arrows between launch and kernel. About `bytes` long.
inline std::string kinetoLike(std::size_t bytes) {
    constexpr std::string_view kHead = R"json({"schemaVersion": 1, "baseTimeNanoseconds": 1759251600000000000,
"distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 8}, "displayTimeUnit": "ms",
"traceEvents": [
)json";
    constexpr std::string_view kTail = R"json(  {"ph": "i", "name": "end", "pid": 1, "tid": 1, "ts": 5000000000000}
], "traceName": "trace.json"})json";
    constexpr std::string_view kTypes =
        R"json("Concrete Inputs": ["", "", "[64, 1]"], "Input type": ["float", "float"],)json";
    constexpr std::string_view kShape =
        R"json("registers per thread": 128, "shared memory": 49152, "blocks per SM": 3.87,)json"
        R"json( "warps per SM": 31.030304, "grid": [8, 64, 1], "block": [256, 1, 1])json";
    std::string out(kHead);
    out.reserve(bytes + 4096);
    auto to = std::back_inserter(out);
    const auto slice = [&](std::string_view category, std::string_view name, int pid, int tid, std::size_t us,
                           std::size_t fraction, std::string_view args) {
        fmt::format_to(to, "  {{\n    \"ph\": \"X\", \"cat\": \"{}\", \"name\": \"{}\", \"pid\": {}, \"tid\": {},\n",
                       category, name, pid, tid);
        fmt::format_to(to, "    \"ts\": {}.{:03}, \"dur\": 9.{:03},\n    \"args\": {{\n      {}\n    }}\n  }},\n", us,
                       fraction, fraction, args);
    };
    const auto arrow = [&](char phase, std::size_t id, int pid, int tid, std::size_t us) {
        fmt::format_to(to,
                       "  {{\n    \"ph\": \"{}\", \"id\": {}, \"pid\": {}, \"tid\": {}, \"ts\": {}.000,\n"
                       "    \"cat\": \"ac2g\", \"name\": \"ac2g\", \"bp\": \"e\"\n  }},\n",
                       phase, id, pid, tid, us);
    };
    for (std::size_t i = 0; out.size() < bytes; ++i) {
        const std::size_t us = 5'000'000'000'000 + i * 20;
        const int stream = i % 2 == 0 ? 7 : 20;
        slice("cpu_op", fmt::format("aten::op_{}", i % 300), 4242, 4242, us, i % 997,
              fmt::format("\"External id\": {}, \"Record function id\": 0, {} \"Ev Idx\": {}", i, kTypes, i));
        slice("cuda_runtime", "cudaLaunchKernel", 4242, 4243, us + 2, i % 991,
              fmt::format("\"External id\": {}, \"cbid\": 211, \"correlation\": {}", i, i));
        arrow('s', i, 4242, 4243, us + 2);
        slice("kernel", fmt::format("void cutlass::Kernel<tensorop_bf16_s16816gemm_{}x128_tn>(Params)", i % 40), 0,
              stream, us + 8, i % 983,
              fmt::format("\"External id\": {}, \"device\": 0, \"context\": 1, \"stream\": {}, \"correlation\": {}, {}",
                          i, stream, i, kShape));
        arrow('f', i, 0, stream, us + 8);
    }
    return out.append(kTail);
}

} // namespace bubblescope::bench
