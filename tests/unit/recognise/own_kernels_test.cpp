#include "core/recognise/own_kernels.h"

#include "core/timeline/trace_names.h"
#include "core/trace/trace_builder.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <stop_token>

namespace bubblescope {
namespace {

constexpr int kKernels = 50'000;

/// Args of kernels that count how often they are read.
class CountedArgs : public ArgReader {
public:
    void visit(std::string_view, std::uint64_t, const ArgVisit& visit) const override {
        ++reads;
        (void)(visit({"op", std::string_view("F0.0")}) && visit({"step", std::int64_t{0}}));
    }
    mutable std::atomic<int> reads{0};
};

struct KernelTrace {
    std::shared_ptr<CountedArgs> args = std::make_shared<CountedArgs>();
    std::shared_ptr<const Trace> trace;
};

KernelTrace kernelsOf(bool with_ops) {
    KernelTrace made;
    TraceBuilder builder;
    builder.addFile({"rank0.json", "kineto", 0});
    const std::uint32_t source = builder.args().addSource({nullptr, {}, made.args});
    const TrackId stream = builder.addTrack(0, 7);
    const StringId kernel = builder.intern("kernel");
    for (int i = 0; i < kKernels; ++i)
        builder.addSlice({stream, TimeNs{10 * i}, TimeNs{5}, kernel, kernel,
                          ArgStore::inSource(source, static_cast<std::uint64_t>(i))});
    if (with_ops) {
        const TrackId row = builder.addTrack(0, 1);
        builder.addSlice({row, TimeNs{0}, TimeNs{5}, kernel, builder.intern(trace_names::kOp), 0});
    }
    DiagnosticLog log;
    made.trace = builder.finish(log);
    return made;
}

// A profile of another job has millions of kernels.
TEST(OwnKernels, ReadNoArgsWhereThereAreNoOps) {
    const KernelTrace foreign = kernelsOf(false);
    OwnKernels kernels(*foreign.trace);
    EXPECT_TRUE(kernels.addTrack(foreign.trace->tracks()[0], {0}, JobControl{}));
    EXPECT_EQ(foreign.args->reads, 0);
    EXPECT_FALSE(kernels.any());

    const KernelTrace own = kernelsOf(true);
    OwnKernels found(*own.trace);
    EXPECT_TRUE(found.addTrack(own.trace->tracks()[0], {0}, JobControl{}));
    EXPECT_GE(own.args->reads, kKernels);
    EXPECT_TRUE(found.any());
}

TEST(OwnKernels, StopBetweenKernels) {
    const KernelTrace own = kernelsOf(true);
    std::stop_source stop;
    stop.request_stop();
    JobControl control;
    control.stop = stop.get_token();
    OwnKernels kernels(*own.trace);
    EXPECT_FALSE(kernels.addTrack(own.trace->tracks()[0], {0}, control));
    EXPECT_LE(own.args->reads, 2 * 4096) << "some milliseconds of work";
}

} // namespace
} // namespace bubblescope
