#include "app/cli/trace_output.h"

#include "core/base/temporary_folder.h"
#include "core/formats/chrome/writer.h"
#include "core/formats/csv/writer.h"
#include "core/formats/read_trace.h"
#include "core/formats/source/packing.h"
#include "core/report/svg/draw_trace.h"

namespace bubblescope::cli {

std::vector<std::string> traceEndings() {
    std::vector<std::string> endings;
    for (const char* const packing : {"", ".gz", ".zst"}) {
        for (const char* const format : {".pftrace", ".perfetto-trace", ".json", ".csv", ".svg"})
            endings.push_back(std::string(format) + packing);
    }
    return endings;
}

std::optional<std::string> traceFormatOf(const std::filesystem::path& file) {
    const std::string extension = (packingAskedFor(file) ? file.stem() : file).extension().string();
    if (extension == ".json") return "chrome";
    if (extension == ".pftrace" || extension == ".perfetto-trace") return "perfetto";
    if (extension == ".csv") return "csv";
    if (extension == ".svg") return "svg";
    return std::nullopt;
}

Status writeTraceAs(const std::string& format, const std::filesystem::path& file, const Trace& trace,
                    DiagnosticLog& log, std::span<const Diagnostic> problems) {
    if (format == "chrome") return chrome::writeChrome(file, trace, log, problems);
    if (format == "perfetto") return perfetto::writeTrace(file, trace, log, problems);
    return csv::writeSlices(file, trace);
}

perfetto::RankCounter memoryCounter(Rank rank, std::span<const MemoryPoint> curve) {
    perfetto::RankCounter counter{rank, "memory", {}};
    for (const MemoryPoint& point : curve)
        counter.values.emplace_back(point.time, static_cast<double>(point.bytes));
    return counter;
}

Status writeStep(const std::filesystem::path& file, const RunInfo& info, const StepTimeline& step,
                 std::span<const perfetto::RankCounter> counters) {
    const std::string format = traceFormatOf(file).value_or("perfetto");
    if (format == "perfetto") return perfetto::writeTimeline(file, info, {&step, 1}, {}, counters);
    // Other formats are written from slices, which the Perfetto file contains.
    BUBBLESCOPE_ASSIGN(
        const TemporaryFolder folder,
        TemporaryFolder::make("bubblescope", runError("cannot create a temporary folder", "end the name in .pftrace")));
    const std::filesystem::path slices = folder.path() / "step.pftrace";
    BUBBLESCOPE_TRY(perfetto::writeTimeline(slices, info, {&step, 1}, {}, counters));
    JobControl control;
    BUBBLESCOPE_ASSIGN(const ReadTraces read, readTraces({slices}, control));
    if (format == "svg") return svg::writeTrace(file, *read.trace, {});
    DiagnosticLog log;
    return writeTraceAs(format, file, *read.trace, log);
}

} // namespace bubblescope::cli
