#include "core/formats/paddle/job_log.h"

#include "core/base/text.h"
#include "core/formats/chrome/decimal.h"

#include <optional>

namespace bubblescope::paddle {
namespace {

constexpr std::string_view kMark = "Profiler Info: Job (";
constexpr std::size_t kSniffedBytes = std::size_t{1} << 20;

struct Job {
    std::string_view type;
    std::int64_t microbatch = 0;
    TimeNs start{0};
    TimeNs end{0};
};

/// The text after `name = ` up to the next comma or the end of the line.
std::optional<std::string_view> valueOf(std::string_view line, std::string_view name) {
    std::size_t at = line.find(name);
    if (at == std::string_view::npos) return std::nullopt;
    at += name.size();
    if (line.substr(at, 3) != " = ") return std::nullopt;
    line.remove_prefix(at + 3);
    const std::size_t end = line.find_first_of(", \r");
    return line.substr(0, end);
}

/// Milliseconds since 1970, with decimals.
std::optional<TimeNs> milliseconds(std::string_view line, std::string_view name) {
    const auto text = valueOf(line, name);
    const auto thousandth = text ? chrome::microsecondsToNs(*text) : std::nullopt;
    // Digits below the microsecond are an artefact of printing a double: gettimeofday does not provide them.
    if (!thousandth || thousandth->count() > INT64_MAX / 1000 || thousandth->count() < 0) return std::nullopt;
    return *thousandth * 1000;
}

std::optional<Job> parseJob(std::string_view line) {
    const auto type = valueOf(line, "type");
    const auto microbatch = valueOf(line, "micro_batch_id");
    const auto start = milliseconds(line, "job_start_time");
    const auto end = milliseconds(line, "job_end_time");
    if (!type || type->empty() || !microbatch || !start || !end || *end < *start) return std::nullopt;
    std::string_view digits = *microbatch;
    const auto number = takeNumber<std::int64_t>(digits);
    if (!number) return std::nullopt;
    return Job{*type, *number, *start, *end};
}

/// The worker's number after "workerlog.".
std::optional<std::int32_t> workerOf(std::string_view where) {
    constexpr std::string_view kName = "workerlog.";
    const std::size_t at = where.rfind(kName);
    if (at == std::string_view::npos) return std::nullopt;
    where.remove_prefix(at + kName.size());
    const auto worker = takeNumber<std::int32_t>(where);
    return worker && *worker >= 0 ? worker : std::nullopt;
}

} // namespace

bool looksLikeJobLog(std::string_view text) {
    return text.substr(0, kSniffedBytes).find(kMark) != std::string_view::npos;
}

Status readJobLog(std::string_view text, const std::string& where, TraceBuilder& builder, DiagnosticLog& log,
                  LoadProgress& progress) {
    const TrackId track = builder.addTrack(0, 0);
    builder.track(track).thread_name = builder.intern("jobs");
    const StringId category = builder.intern("paddle_job");
    const StringId microbatch = builder.intern("micro_batch_id");
    std::size_t jobs = 0;
    for (std::size_t at = text.find(kMark); at != std::string_view::npos; at = text.find(kMark, at + kMark.size())) {
        if (!progress.reached(at, text.size())) return cancelledError();
        const std::string_view line = text.substr(at, text.find('\n', at) - at);
        const auto job = parseJob(line);
        if (!job) {
            log.add("bad-event", say("{}, byte {}", where, at), say("skipped unreadable lines of the job profiler"));
            continue;
        }
        ++jobs;
        builder.addSlice({track, job->start, job->end - job->start, builder.intern(job->type), category,
                          builder.args().addNumber(microbatch, job->microbatch)});
    }
    if (jobs == 0) return inputError(where, "contains no readable line of the job profiler");
    TraceFile& file = builder.file(builder.currentFile());
    file.format = "paddle";
    file.rank = workerOf(where);
    return {};
}

} // namespace bubblescope::paddle
