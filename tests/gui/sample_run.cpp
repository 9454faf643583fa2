#include "tests/gui/sample_run.h"

#include "core/cost/cost_model.h"
#include "core/formats/perfetto/writer.h"
#include "core/graph/simulate.h"
#include "core/trace/trace_builder.h"

namespace bubblescope::gui {

namespace {

/// A begin other than 0, as with real clocks.
constexpr TimeNs kOrigin{std::chrono::hours(5)};

/// One process per rank: a thread whose calls are the ops, and a stream with two kernels for each of them.
std::shared_ptr<const Trace> traceOf(const std::vector<StepTimeline>& steps, bool nested) {
    TraceBuilder builder;
    builder.addFile({"sample.json", "chrome", std::nullopt, {}, {}});
    const StringId annotation = builder.intern("user_annotation");
    const StringId kernel = builder.intern("kernel");
    const StringId matmul = builder.intern("matmul_f16");
    const StringId norm = builder.intern("layer_norm");
    for (std::size_t rank = 0; rank < steps.front().ranks.size(); ++rank) {
        const auto pid = static_cast<std::int64_t>(rank);
        const TrackId host = builder.addTrack(pid, 1);
        const TrackId stream = builder.addTrack(pid, 7);
        builder.track(host).thread_name = builder.intern("main thread");
        builder.track(stream).thread_name = builder.intern("stream 7");
        for (const StepTimeline& step : steps) {
            for (const TimelineOp& op : step.ranks[rank]) {
                const TimeNs part = op.duration() / 4;
                builder.addSlice({host, op.start, op.duration(), builder.intern(opName(op.op)), annotation, 0});
                for (int half = 0; half < 2 && nested; ++half) {
                    const TimeNs start = op.start + 2 * half * part;
                    builder.addSlice({host, start, 2 * part, builder.intern("layer"), annotation, 0});
                    builder.addSlice({host, start + part / 2, part, builder.intern("aten::mm"), annotation, 0});
                }
                builder.addSlice({stream, op.start, 2 * part, matmul, kernel, 0});
                builder.addSlice({stream, op.start + 3 * part, part, norm, kernel, 0});
            }
        }
    }
    DiagnosticLog log;
    return builder.finish(log);
}

} // namespace

Run sampleRun(const SampleSpec& spec) {
    Run run;
    run.files = {"sample.pftrace"};
    run.format = "perfetto";
    run.annotation = "our own";
    run.schedule = makeSchedule(spec.schedule).value();
    CostModel costs;
    costs.times = makeOpTimes(spec.forward, spec.backward, std::nullopt, std::nullopt).value();
    costs.comm = spec.comm;
    const StepTimeline model = simulate(run.schedule, costs).value();
    TimeNs origin = spec.trace ? TimeNs{0} : kOrigin; // times of a trace count from its first event
    for (int i = 0; i < spec.steps; ++i) {
        StepTimeline step = model;
        step.index = i;
        step.begin += origin;
        step.end += origin;
        for (auto& ops : step.ranks) {
            for (TimelineOp& op : ops) {
                op.start += origin;
                op.end += origin;
            }
            if (spec.gap > TimeNs{0})
                ops.push_back({{OpKind::Optimizer, Microbatch(0), Chunk(0)}, step.end, step.end + spec.gap / 2});
        }
        for (auto& spans : step.comm) {
            for (CommSpan& span : spans) {
                span.start += origin;
                span.end += origin;
            }
        }
        origin = step.end + spec.gap;
        run.steps.push_back(std::move(step));
    }
    if (spec.trace) run.trace = traceOf(run.steps, spec.nested);
    return run;
}

void writeSampleRun(const QString& path) {
    RunInfo info;
    info.source = "simulate";
    info.schedule = "1f1b";
    info.pp = 4;
    info.microbatches = 8;
    const Status written = perfetto::writeTimeline(path.toStdString(), info, sampleRun().steps);
    if (!written.ok()) qFatal("%s", written.error().text().c_str());
}

SessionPtr sampleSession(const SampleSpec& spec) {
    return makeSession(sampleRun(spec), JobControl()).value();
}

Result<Run> loadSample(const std::vector<std::filesystem::path>&, JobControl&) {
    return sampleRun();
}

} // namespace bubblescope::gui
