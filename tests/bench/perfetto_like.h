#pragma once

#include "core/formats/perfetto/encoder.h"

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <string>
#include <vector>

namespace bubblescope::bench {

/// A Perfetto trace of `slices` slices like those of recorders: in time order, on 4 processes with 6 threads each, with
/// interned names and categories, two levels deep, and two args in every fourth slice.
inline std::string perfettoLike(std::size_t slices) {
    constexpr std::uint64_t kThreads = 24;
    perfetto::Encoder encoder(1);
    encoder.clockSnapshot(TimeNs{0});
    for (std::uint64_t process = 0; process < 4; ++process)
        encoder.process(1000 + process, static_cast<std::int32_t>(process), fmt::format("rank {}", process), 0);
    for (std::uint64_t thread = 0; thread < kThreads; ++thread)
        encoder.track(1 + thread, 1000 + thread / 6, fmt::format("stream {}", thread % 6), 0);
    std::vector<std::string> names;
    for (int i = 0; i < 300; ++i)
        names.push_back(fmt::format("void cutlass::Kernel<tensorop_bf16_s16816gemm_{}x128_tn>(Params)", i));
    std::string out;
    for (std::size_t i = 0; i < slices; i += 2) {
        const std::uint64_t thread = 1 + i / 2 % kThreads;
        const TimeNs time{static_cast<std::int64_t>(5'000'000'000'000'000 + i * 400)};
        const std::array<perfetto::Arg, 2> args{
            {{"microbatch", static_cast<std::int64_t>(i % 64)}, {"chunk", static_cast<std::int64_t>(i % 4)}}};
        const std::span<const perfetto::Arg> some =
            i % 4 == 0 ? std::span<const perfetto::Arg>(args) : std::span<const perfetto::Arg>();
        encoder.beginSlice(thread, time, "op", names[i % names.size()], some);
        encoder.beginSlice(thread, time + TimeNs{100}, "kernel", names[i * 7 % names.size()]);
        encoder.endSlice(thread, time + TimeNs{700});
        encoder.endSlice(thread, time + TimeNs{750});
        if (i % 4096 == 0) out += encoder.take();
    }
    return out + encoder.take();
}

} // namespace bubblescope::bench
