#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace bubblescope::bench {

/// Position of a rank in `dp` pipelines of `pp` stages, in which all forwards of `microbatches` micro-batches precede
/// all backwards.
struct PipelinePlace {
    std::size_t rank = 0;
    std::size_t pp = 0; ///< 0 = ops are not annotated
    std::size_t microbatches = 8;
    std::size_t dp = 1;
};

/// Annotation of the op that starts in a time slot; empty for a bubble. Each slot has the length of one op.
inline std::string annotatedOp(const PipelinePlace& place, std::size_t slot) {
    const std::size_t half = place.microbatches + place.pp - 1;
    const bool backward = slot % (2 * half) >= half;
    const std::size_t stage = place.rank % place.pp;
    const std::size_t waits = backward ? place.pp - 1 - stage : stage;
    const std::size_t microbatch = slot % half - waits; // too large if the slot is before the first op
    if (microbatch >= place.microbatches) return {};
    return fmt::format("PP:{}{}{}", stage, backward ? 'B' : 'F', microbatch);
}

/// A trace similar to those of PyTorch's profiler, generated only from numbers: host operators, launches, kernels on
/// two streams with realistic args, and flow arrows between launch and kernel. About `bytes` long.
inline std::string kinetoLike(std::size_t bytes, const PipelinePlace& place = {}) {
    constexpr std::size_t kOpsASlot = 50; // operators per slot
    const std::string head = fmt::format(R"json({{"schemaVersion": 1, "baseTimeNanoseconds": 1759251600000000000,
"distributedInfo": {{"backend": "nccl", "rank": {}, "world_size": {}}}, "displayTimeUnit": "ms",
"traceEvents": [
)json",
                                         place.rank, place.pp == 0 ? 8 : place.pp * place.dp);
    constexpr std::string_view kTail = R"json(  {"ph": "i", "name": "end", "pid": 1, "tid": 1, "ts": 5000000000000}
], "traceName": "trace.json"})json";
    constexpr std::string_view kTypes =
        R"json("Concrete Inputs": ["", "", "[64, 1]"], "Input type": ["float", "float"],)json";
    constexpr std::string_view kShape =
        R"json("registers per thread": 128, "shared memory": 49152, "blocks per SM": 3.87,)json"
        R"json( "warps per SM": 31.030304, "grid": [8, 64, 1], "block": [256, 1, 1])json";
    std::string out(head);
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
        if (place.pp > 0) {
            const std::string op = annotatedOp(place, i / kOpsASlot);
            if (op.empty()) continue; // leaves the slot empty
            if (i % kOpsASlot == 0) {
                fmt::format_to(to,
                               "  {{\n    \"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"{}\", \"pid\": 4242,"
                               " \"tid\": 4243,\n    \"ts\": {}.000, \"dur\": {}.000\n  }},\n",
                               op, us, 20 * kOpsASlot - 1);
            }
        }
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

/// The same kind of trace after a tool has edited it: on one line, row names first, with another key at the start.
inline std::string merged(std::string_view trace) {
    std::string out;
    out.reserve(trace.size());
    bool in_text = false; // these traces do not contain escape sequences
    for (const char letter : trace) {
        if (letter == '"') in_text = !in_text;
        if (in_text || (letter != ' ' && letter != '\n')) out += letter;
    }
    const std::string_view events = "\"traceEvents\":[";
    return out.insert(out.find(events) + events.size(),
                      R"({"name":"thread_name","ph":"M","ts":0,"pid":4242,"tid":4242,"args":{"name":"python"}},)");
}

/// The same kind of trace after a tool has sorted its events by a key other than time.
inline std::string shuffled(std::string_view trace) {
    const std::string_view border = "\n  },\n";
    const std::size_t begin = trace.find('[', trace.find("\"traceEvents\"")) + 2;
    std::vector<std::string_view> events;
    std::size_t at = begin;
    for (std::size_t end = trace.find(border, at); end != std::string_view::npos; end = trace.find(border, at)) {
        events.push_back(trace.substr(at, end + border.size() - at));
        at = end + border.size();
    }
    std::shuffle(events.begin(), events.end(), std::mt19937_64(1));
    std::string out(trace.substr(0, begin));
    out.reserve(trace.size());
    for (const std::string_view event : events)
        out += event;
    return out.append(trace.substr(at));
}

} // namespace bubblescope::bench
