// Inputs with a repeated part: four times the bytes may take about four times the memory, not sixteen.

#include "core/formats/chrome/reader.h"
#include "core/formats/paddle/job_log.h"
#include "core/formats/perfetto/reader.h"
#include "core/formats/torchtitan/event_log.h"
#include "tests/fuzz/checks.h"
#include "tests/fuzz/meter.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <protozero/pbf_writer.hpp>

#include <functional>
#include <string>
#include <thread>

namespace bubblescope::fuzz {
namespace {

using Make = std::function<std::string(int count)>;
using Read = std::function<Status(const std::string& bytes, TraceBuilder&, DiagnosticLog&, LoadProgress&)>;

struct Case {
    const char* name;
    Make make;
    Read read;
};

Status readJson(const std::string& bytes, TraceBuilder& builder, DiagnosticLog& log, LoadProgress& progress) {
    const auto owned = std::make_shared<const std::string>(bytes);
    return chrome::readChrome(FileBytes(owned, *owned), kInput, builder, log, progress);
}

Status readPackets(const std::string& bytes, TraceBuilder& builder, DiagnosticLog& log, LoadProgress& progress) {
    const auto owned = std::make_shared<const std::string>(bytes);
    return perfetto::readPerfetto(FileBytes(owned, *owned), kInput, builder, log, progress);
}

std::string times(int count, const std::function<std::string(int)>& part) {
    std::string all;
    for (int i = 0; i < count; ++i)
        all += part(i);
    return all;
}

std::string packet(const std::function<void(protozero::pbf_writer&)>& fill) {
    std::string body;
    std::string bytes;
    protozero::pbf_writer writer(body);
    fill(writer);
    protozero::pbf_writer(bytes).add_message(1, body);
    return bytes;
}

/// An event, with fields of its TrackEvent by `fill`.
std::string trackEvent(std::int64_t time, int type, const std::function<void(protozero::pbf_writer&)>& fill) {
    std::string body;
    protozero::pbf_writer writer(body);
    writer.add_enum(9, type);
    writer.add_uint64(11, 1);
    writer.add_string(23, "slice");
    fill(writer);
    return packet([&](protozero::pbf_writer& out) {
        out.add_int64(8, time);
        out.add_uint32(10, 1);
        if (time == 0) out.add_uint32(13, 1);
        out.add_message(11, body);
    });
}

std::string slicesOf(int count, const std::function<void(protozero::pbf_writer&, int)>& fill) {
    return times(count, [&](int i) {
        return trackEvent(2 * i, 1, [&](protozero::pbf_writer& out) { fill(out, i); }) +
               trackEvent(2 * i + 1, 2, [](protozero::pbf_writer&) {});
    });
}

const std::vector<Case>& cases() {
    static const std::vector<Case> kCases{
        {"events",
         [](int count) {
             return "[" + times(count, [](int i) {
                        return fmt::format(R"({{"ph":"X","name":"n{}","pid":1,"tid":1,"ts":{},"dur":1}},)", i, i);
                    });
         },
         readJson},
        {"arrays",
         [](int count) {
             return "{" +
                    times(count,
                          [](int) {
                              return R"("traceEvents":[{"ph":"X","name":"n","pid":1,"tid":1,"ts":1,"dur":1}],)";
                          }) +
                    R"("end":1})";
         },
         readJson},
        {"tracks",
         [](int count) {
             return "[" + times(count, [](int i) {
                        return fmt::format(R"({{"ph":"X","name":"n","pid":{},"tid":{},"ts":1,"dur":1}},)", i, i);
                    });
         },
         readJson},
        {"begins_without_ends",
         [](int count) {
             return "[" + times(count, [](int i) {
                        return fmt::format(R"({{"ph":"B","name":"n","pid":1,"tid":1,"ts":{}}},)", i);
                    });
         },
         readJson},
        {"args_of_one_event",
         [](int count) {
             return R"([{"ph":"X","name":"n","pid":1,"tid":1,"ts":1,"dur":1,"args":{)" +
                    times(count, [](int i) { return fmt::format(R"("a{}":[{}],)", i, i); }) + R"("z":1}}])";
         },
         readJson},
        {"unclosed_objects",
         [](int count) { return "[" + times(count, [](int) { return R"({"ph":"X","x":{"y":1},)"; }); }, readJson},
        {"packets", [](int count) { return slicesOf(count, [](protozero::pbf_writer&, int) {}); }, readPackets},
        {"categories_of_one_event",
         [](int count) {
             return trackEvent(0, 1, [&](protozero::pbf_writer& out) {
                 for (int i = 0; i < count; ++i)
                     out.add_string(22, fmt::format("c{}", i));
             });
         },
         readPackets},
        {"categories_of_many_events",
         [](int count) {
             return slicesOf(count, [](protozero::pbf_writer& out, int i) {
                 for (int c = 0; c < 4; ++c)
                     out.add_string(22, fmt::format("c{}", (i + c) % 50));
             });
         },
         readPackets},
        {"entries_of_an_annotation",
         [](int count) {
             std::string annotation;
             protozero::pbf_writer writer(annotation);
             writer.add_string(10, "list");
             for (int i = 0; i < count; ++i) {
                 std::string entry;
                 protozero::pbf_writer(entry).add_int64(4, i);
                 writer.add_message(12, entry);
             }
             return slicesOf(1, [&](protozero::pbf_writer& out, int) { out.add_message(4, annotation); });
         },
         readPackets},
        {"interned_names",
         [](int count) {
             return times(count, [](int i) {
                 std::string name;
                 protozero::pbf_writer named(name);
                 named.add_uint64(1, static_cast<std::uint64_t>(i + 1));
                 named.add_string(2, fmt::format("name {}", i));
                 std::string interned;
                 protozero::pbf_writer(interned).add_message(2, name);
                 return packet([&](protozero::pbf_writer& out) {
                     out.add_uint32(10, 1);
                     if (i == 0) out.add_uint32(13, 1);
                     out.add_message(12, interned);
                 });
             });
         },
         readPackets},
        {"descriptors_in_a_chain",
         [](int count) {
             return times(count, [](int i) {
                 std::string track;
                 protozero::pbf_writer writer(track);
                 writer.add_uint64(1, static_cast<std::uint64_t>(i + 1));
                 writer.add_uint64(5, static_cast<std::uint64_t>(i));
                 return packet([&](protozero::pbf_writer& out) { out.add_message(60, track); });
             });
         },
         readPackets},
        {"lines_of_torchtitan",
         [](int count) {
             return times(count, [](int i) {
                 return fmt::format("{{\"name\":\"step\",\"ph\":\"X\",\"ts\":{},\"dur\":1,\"rank\":0}}\n", i);
             });
         },
         [](const std::string& bytes, TraceBuilder& builder, DiagnosticLog& log, LoadProgress& progress) {
             return torchtitan::readEventLog(bytes, kInput, builder, log, progress);
         }},
        {"lines_of_paddle",
         [](int count) {
             return times(count, [](int i) { return fmt::format("[{}] {}: forward_{} start\n", i, i, i); });
         },
         [](const std::string& bytes, TraceBuilder& builder, DiagnosticLog& log, LoadProgress& progress) {
             return paddle::readJobLog(bytes, kInput, builder, log, progress);
         }},
    };
    return kCases;
}

/// On a separate thread, which cannot reuse memory of an earlier input.
Used usedFor(const Case& of, const std::string& bytes) {
    Used used;
    std::thread([&] {
        TraceBuilder builder;
        DiagnosticLog log;
        JobControl control;
        LoadProgress progress(control, bytes.size());
        builder.addFile({kInput, {}, std::nullopt});
        const Meter meter;
        const Status status = of.read(bytes, builder, log, progress);
        if (status.ok()) (void)builder.finish(log);
        used = meter.used();
    }).join();
    return used;
}

class Linear : public testing::TestWithParam<Case> {};

TEST_P(Linear, FourTimesTheInputTakesFourTimesTheMemory) {
    constexpr int kCount = 4000;
    const std::string one = GetParam().make(kCount);
    const std::string four = GetParam().make(4 * kCount);
    (void)usedFor(GetParam(), one); // what is made once
    const Used little = usedFor(GetParam(), one);
    const Used much = usedFor(GetParam(), four);
    const double more = static_cast<double>(four.size()) / static_cast<double>(one.size());
    constexpr double kSlack = 2; // numbers become longer, and memory that grows by doubling may have just doubled
    constexpr double kLeast = 1 << 20;
    EXPECT_LT(static_cast<double>(much.allocated), kSlack * more * static_cast<double>(little.allocated) + kLeast);
    EXPECT_LT(static_cast<double>(much.peak), kSlack * more * static_cast<double>(little.peak) + kLeast);
    EXPECT_GT(much.allocated, 0U) << "nothing was measured";
}

INSTANTIATE_TEST_SUITE_P(Of, Linear, testing::ValuesIn(cases()),
                         [](const auto& of) { return std::string(of.param.name); });

} // namespace
} // namespace bubblescope::fuzz
