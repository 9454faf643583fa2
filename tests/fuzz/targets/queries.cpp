// Queries that users type. SQLite has its own fuzzers; here are the tables below it and what may be done to them.

#include "core/query/database.h"
#include "core/trace/trace_builder.h"
#include "tests/fuzz/checks.h"
#include "tests/fuzz/targets.h"

#include <stop_token>

namespace bubblescope::fuzz {
namespace {

/// Two threads and a stream, with slices that nest, arrows, a counter and args.
const Run& smallRun() {
    static const Run kRun = [] {
        TraceBuilder builder;
        builder.addFile({"trace.json", "kineto", 3});
        for (const std::int64_t thread : {1, 2, 7}) {
            const TrackId track = builder.addTrack(thread == 7 ? 0 : 100, thread);
            for (int i = 0; i < 9; ++i) {
                StoredArg arg;
                arg.name = builder.intern("correlation");
                arg.setInt(i);
                builder.addSlice({track, TimeNs{10 * i}, TimeNs{i % 3 * 15}, builder.intern(i % 2 == 0 ? "a" : "b"),
                                  builder.intern(thread == 7 ? "kernel" : "cpu_op"), builder.args().add({&arg, 1})});
                builder.addFlow({static_cast<std::uint64_t>(i), TimeNs{10 * i + 1}, track, kNoId, false});
            }
        }
        builder.addCounter(100, builder.intern("memory"), TimeNs{5}, 1.5);
        Run run;
        DiagnosticLog log;
        run.trace = builder.finish(log);
        return run;
    }();
    return kRun;
}

} // namespace

void sqlQueries(std::string_view bytes) {
    constexpr int kMostChecks = 100; // a million of SQLite's instructions
    query::Database database({smallRun(), nullptr, nullptr});
    std::stop_source stop;
    JobControl control;
    control.stop = stop.get_token();
    control.at_check = [&stop, checks = 0]() mutable {
        if (++checks == kMostChecks) stop.request_stop();
    };
    query::QueryLimits limits;
    limits.result_bytes = std::size_t{1} << 20U;
    const auto rows = database.run(bytes, control, limits);
    if (!rows.ok()) {
        require(rows.error().kind != ErrorKind::Input, "what is wrong with a query is no error of the trace");
        require(rows.error().kind == ErrorKind::Cancelled || !rows.error().message.empty(), "errors say what they are");
        return;
    }
    for (const report::DataColumn& column : rows.value().columns())
        require(column.size() == rows.value().rows(), "columns of a result are of one length");
    const auto slices = database.run("SELECT count(*) FROM slice", {});
    require(slices.ok() && slices.value().columns().front().int64s().front() == 27, "a query changes nothing");
}

} // namespace bubblescope::fuzz
