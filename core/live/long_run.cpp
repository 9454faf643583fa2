#include "core/live/long_run.h"

#include "core/analysis/run_in_parts.h"
#include "core/formats/read_trace.h"
#include "core/live/live_analyzer.h"
#include "core/live/segment_follower.h"
#include "core/live/step_window.h"
#include "core/parallel/parallel.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <iterator>
#include <system_error>
#include <utility>

namespace bubblescope::live {
namespace {

/// One step number: its replicas' complete timelines, on one clock.
struct ReadStep {
    std::vector<StepTimeline> timelines;
    RunClocks clocks;
    std::size_t records = 0; ///< ops and transfers
};

/// Neighbouring steps.
struct RunPart {
    std::vector<StepTimeline> steps;
    RunClocks clocks;                 ///< of the last one
    std::vector<Diagnostic> problems; ///< of reading up to there, and maybe a little further
};

/// Reads the steps of a recording one after another. The time is made up: it passes as fast as files are read.
class StepReader {
public:
    StepReader(const std::filesystem::path& where, SegmentFollower follower, JobControl& control)
        : where_(where.string()), follower_(std::move(follower)), control_(control), analyzer_(liveOptions()) {}
    StepReader(const StepReader&) = delete;
    StepReader& operator=(const StepReader&) = delete;

    /// The steps that follow, as many as a part has. At the end what is left joins the last part, unless it is at least
    /// half of one; then there are none.
    [[nodiscard]] Result<RunPart> next(const PartLimits& limits) {
        const auto isAPartAndAHalf = [&] { return limits.isPart(2 * steps_.size() / 3, 2 * records_ / 3); };
        while (!read_all_ && !isAPartAndAHalf()) {
            const bool more = follower_.read(analyzer_, now_, control_);
            if (control_.stopRequested()) return cancelledError();
            control_.done = static_cast<std::uint64_t>(analyzer_.counts().bytes);
            now_ += kTurn;
            advance();
            if (!more) conclude();
            if (!canBeJudged()) break;
        }
        const bool takes_all = !isAPartAndAHalf();
        RunPart part;
        std::size_t numbers = 0;
        std::size_t records = 0;
        while (!steps_.empty() && (takes_all || !limits.isPart(numbers, records))) {
            ReadStep& step = steps_.front();
            std::ranges::move(step.timelines, std::back_inserter(part.steps));
            part.clocks = std::move(step.clocks);
            ++numbers;
            records += step.records;
            steps_.pop_front();
        }
        records_ -= records;
        part.problems = problems();
        return part;
    }

    /// Whether there are no more steps.
    [[nodiscard]] bool ended() const { return read_all_ && steps_.empty(); }
    /// Whether its steps are all that a diagnosis needs: checks are judged over a whole run, and other programs' ops
    /// are recognised in it. Nor may another run replace it meanwhile.
    [[nodiscard]] bool canBeJudged() const {
        return runs_ <= 1 && !analyzer_.captured() && analyzer_.checks().planned() == 0 &&
               analyzer_.checks().digests == 0;
    }
    [[nodiscard]] const std::optional<RunInfo>& info() const { return analyzer_.info(); }
    [[nodiscard]] std::int64_t slices() const { return analyzer_.counts().slices; }

private:
    /// Two turns are longer than transfers take to follow their ops.
    static constexpr TimeNs kTurn = StepAssembler::Limits{}.settle * 3 / 4;

    [[nodiscard]] LiveOptions liveOptions() {
        LiveOptions options;
        options.take_steps = [this](ClosedStep closed, const RunClocks& clocks) { take(std::move(closed), clocks); };
        return options;
    }

    void take(ClosedStep closed, const RunClocks& clocks) {
        if (!closed.fault.empty()) {
            const bool is_named = closed.fault.starts_with("step ");
            faults_.add("incomplete-step", is_named ? Sentence(closed.fault) : say("step {}", closed.index),
                        say("steps that miss ops, or hold one twice, are not analysed"));
        }
        if (closed.timelines.empty()) return;
        std::size_t records = 0;
        for (const StepTimeline& step : closed.timelines)
            records += recordsOf(step);
        records_ += records;
        steps_.push_back({std::move(closed.timelines), clocks, records});
    }

    void advance() {
        for (const LiveEvent& event : analyzer_.advance(now_))
            runs_ += event.kind == LiveEvent::Kind::RunBegan ? 1 : 0;
    }

    /// Nothing more comes: what is open is closed as it is.
    void conclude() {
        read_all_ = true;
        constexpr int kPatience = 3; // ranks are given up, then the steps that wait for them
        for (int i = 0; i < kPatience; ++i) {
            now_ += 2 * LiveOptions{}.assembly.patience + std::chrono::hours(1);
            advance();
        }
    }

    /// What is wrong with the files, as a load of them would call it.
    [[nodiscard]] std::vector<Diagnostic> problems() const {
        const LiveCounts counts = analyzer_.counts();
        DiagnosticLog log;
        const auto add = [&](const char* kind, std::int64_t count, Sentence message) {
            if (count > 0) log.add(kind, where_, std::move(message), count);
        };
        add("truncated", analyzer_.cutStreams(),
            say("the file ends inside a packet, as after a crash; everything before it is read"));
        add("corrupt", counts.torn, say("the file does not go on with a packet; the next one is looked for"));
        add("bad-packet", counts.damaged, say("packets that cannot be decoded are left out"));
        add("dropped", counts.dropped, say("records were dropped by the ranks themselves"));
        add("bad-event", counts.bad, say("records with impossible numbers, or of another run, are left out"));
        add("late-records", counts.late, say("records that came after their step was complete are left out"));
        for (const Diagnostic& fault : faults_.entries())
            log.add(fault.kind, fault.where, fault.message, fault.count);
        for (const std::string& problem : follower_.problems())
            log.add("unusable-file", problem, say("the file cannot be read"));
        return log.take();
    }

    std::string where_; ///< for people
    SegmentFollower follower_;
    JobControl& control_;
    std::deque<ReadStep> steps_; ///< that were read and are in no part yet
    std::size_t records_ = 0;    ///< of these
    DiagnosticLog faults_;       ///< of steps
    LiveAnalyzer analyzer_;
    int runs_ = 0; ///< that have begun
    TimeNs now_{1};
    bool read_all_ = false;
};

/// Of the files that a run may have written there. They are not opened.
std::uint64_t recordedBytes(const std::vector<std::filesystem::path>& folders) {
    std::uint64_t bytes = 0;
    for (const std::filesystem::path& folder : folders) {
        std::error_code failed;
        std::filesystem::recursive_directory_iterator at(folder, failed);
        for (const std::filesystem::recursive_directory_iterator end; !failed && at != end; at.increment(failed)) {
            std::error_code ignored;
            if (at->path().extension() != SegmentFollower::kExtension) continue;
            const std::uintmax_t size = at->file_size(ignored);
            if (!ignored) bytes += size;
        }
    }
    return bytes;
}

/// Times count from the first step's begin.
void moveBack(RunPart& part, TimeNs origin) {
    for (StepTimeline& step : part.steps)
        moveTo(step, step.begin - origin);
}

} // namespace

Result<std::optional<DiagnosedRun>> diagnoseLongRun(const std::vector<std::filesystem::path>& paths,
                                                    const DiagnosisOptions& options, const PartLimits& limits,
                                                    JobControl& control) {
    const std::optional<DiagnosedRun> better_whole;
    std::error_code failed;
    const auto isFolder = [&](const std::filesystem::path& path) {
        return std::filesystem::is_directory(path, failed);
    };
    if (paths.empty() || !std::ranges::all_of(paths, isFolder)) return better_whole;
    const std::uint64_t bytes = recordedBytes(paths);
    if (bytes < limits.least_bytes) return better_whole;
    BUBBLESCOPE_ASSIGN(const std::vector<InputFile> files, findTraceFiles(paths));
    Run about;
    for (const InputFile& file : files) {
        if (file.path.extension() != SegmentFollower::kExtension) return better_whole;
        about.files.push_back(file.path);
    }
    control.total = bytes;

    allowManyFiles();
    BUBBLESCOPE_ASSIGN(SegmentFollower follower, SegmentFollower::open(paths));
    StepReader reader(paths.front(), std::move(follower), control);
    BUBBLESCOPE_ASSIGN(RunPart part, reader.next(limits));
    if (reader.ended() || !reader.canBeJudged() || !reader.info()) return better_whole;
    about.info = reader.info();
    about.format = "perfetto";
    about.annotation = "Bubblescope";
    PartwiseDiagnosis diagnosis(std::move(about), options);
    const TimeNs origin = part.steps.front().begin;
    TimeNs last{0};
    while (!part.steps.empty()) {
        moveBack(part, origin);
        last = std::max(last, part.steps.back().end);
        Status judged;
        Result<RunPart> following = RunPart();
        parallelCalls(
            [&] { judged = diagnosis.add(std::move(part.steps), part.clocks, std::move(part.problems), control); },
            [&] { following = reader.next(limits); });
        BUBBLESCOPE_TRY(judged);
        BUBBLESCOPE_ASSIGN(part, std::move(following));
        if (!reader.canBeJudged()) return better_whole;
    }
    BUBBLESCOPE_ASSIGN(DiagnosedRun diagnosed, diagnosis.finish());
    diagnosed.run.slices = reader.slices();
    diagnosed.run.span = last;
    return std::optional(std::move(diagnosed));
}

} // namespace bubblescope::live
