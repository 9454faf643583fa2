#include "core/live/long_run.h"

#include "core/formats/read_trace.h"
#include "core/live/run_streams.h"
#include "core/live/segment_follower.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <system_error>
#include <utility>

namespace bubblescope::live {
namespace {

/// Reads the steps of a recording one after another. The clock is simulated and advances as fast as files are read.
class RecordedSteps final : public StepSource {
public:
    /// `about` has the run's files and format.
    RecordedSteps(Run about, const std::filesystem::path& where, SegmentFollower follower, JobControl& control)
        : about_(std::move(about)), where_(where.string()), follower_(std::move(follower)), control_(control) {}
    RecordedSteps(const RecordedSteps&) = delete;
    RecordedSteps& operator=(const RecordedSteps&) = delete;

    /// True if there are more steps than fit into one window. Reads as far as necessary; must be called first.
    [[nodiscard]] Result<bool> haveSeveralWindows(const WindowLimits& limits) {
        while (!read_all_ && canBeJudged() && !limits.isFullAndAHalf(steps_.size(), records_))
            BUBBLESCOPE_TRY(readOn());
        return limits.isFullAndAHalf(steps_.size(), records_);
    }
    [[nodiscard]] Result<std::optional<SourceStep>> next() override {
        while (!read_all_ && canBeJudged() && steps_.empty())
            BUBBLESCOPE_TRY(readOn());
        if (steps_.empty() || !canBeJudged()) return std::optional<SourceStep>();
        SourceStep step = std::move(steps_.front());
        steps_.pop_front();
        return std::optional(std::move(step));
    }
    [[nodiscard]] Run takeRun() override {
        about_.info = streams_.info();
        return std::move(about_);
    }
    /// Problems that would also be reported when loading the files.
    [[nodiscard]] std::vector<Diagnostic> problems() const override {
        const LiveCounts counts = streams_.counts();
        DiagnosticLog log;
        const auto add = [&](const char* kind, std::int64_t count, Sentence message) {
            if (count > 0) log.add(kind, where_, std::move(message), count);
        };
        add("truncated", streams_.cutStreams(),
            say("the file ends inside a packet, as after a crash; everything before that packet was read"));
        add("corrupt", counts.torn, say("expected a packet but found other data; skipped to the next packet"));
        add("bad-packet", counts.damaged, say("skipped packets that cannot be decoded"));
        add("dropped", counts.dropped, say("ranks dropped records"));
        add("bad-event", counts.bad, say("skipped records with invalid numbers or from another run"));
        add("late-records", counts.late, say("skipped records that arrived after their step was complete"));
        for (const Diagnostic& fault : faults_.entries())
            log.add(fault.kind, fault.where, fault.message, fault.count);
        for (const std::string& problem : follower_.problems())
            log.add("unusable-file", problem, say("the file cannot be read"));
        return log.take();
    }

    /// True if a diagnosis requires only the run's steps, and no other run replaces it meanwhile: checks are evaluated
    /// over the entire run, and ops of other programs are recognised over the entire run.
    [[nodiscard]] bool canBeJudged() const {
        return runs_ <= 1 && !streams_.captured() && streams_.checks().planned() == 0 && streams_.checks().digests == 0;
    }
    [[nodiscard]] std::int64_t slices() const { return streams_.counts().slices; }
    [[nodiscard]] TimeNs span() const { return span_; } ///< from the first step's start to the last one's end

private:
    /// Two turns are longer than the delay between an op's record and those of its transfers.
    static constexpr TimeNs kTurn = StepAssembler::Limits{}.settle * 3 / 4;

    /// Passes steps to the diagnosis.
    class Streams final : public RunStreams {
    public:
        explicit Streams(RecordedSteps& to) : RunStreams({}), to_(to) {}

    private:
        void onBegin(const RunInfo&) override { ++to_.runs_; }
        void onDevice(const CheckPlace&, CheckedDevice) override {}
        void onStep(ClosedStep closed, FollowingSteps) override { to_.take(std::move(closed)); }
        void onNoMoreSteps(std::size_t) override {}
        void onLateChecks(std::vector<CheckRecord>) override {}

        RecordedSteps& to_;
    };

    [[nodiscard]] Status readOn() {
        const bool more = follower_.read(streams_, now_, control_);
        if (control_.stopRequested()) return cancelledError();
        control_.done = static_cast<std::uint64_t>(streams_.counts().bytes);
        now_ += kTurn;
        (void)streams_.advance(now_);
        if (!more) conclude();
        return {};
    }

    void take(ClosedStep closed) {
        if (closed.fault)
            faults_.add(closed.fault->kind, std::move(closed.fault->where), std::move(closed.fault->message));
        if (closed.timelines.empty()) return;
        if (!origin_) origin_ = closed.timelines.front().begin;
        for (StepTimeline& step : closed.timelines) { // times are relative to the start of the first step
            moveTo(step, step.begin - *origin_);
            records_ += recordsOf(step);
            span_ = std::max(span_, step.end);
        }
        steps_.push_back({std::move(closed.timelines), std::move(closed.clocks)});
    }

    /// Closes the open steps although they are incomplete, because no more data will arrive.
    void conclude() {
        read_all_ = true;
        constexpr int kPatience = 3; // turns until silent ranks, and then steps that wait for them, are dropped
        for (int i = 0; i < kPatience; ++i) {
            now_ += 2 * StepAssembler::Limits{}.patience + std::chrono::hours(1);
            (void)streams_.advance(now_);
        }
    }

    Run about_;
    std::string where_; ///< displayed
    SegmentFollower follower_;
    JobControl& control_;
    std::deque<SourceStep> steps_; ///< read but not yielded yet
    std::size_t records_ = 0;      ///< number of records read so far
    std::optional<TimeNs> origin_;
    TimeNs span_{0};
    DiagnosticLog faults_; ///< faults of steps
    int runs_ = 0;         ///< number of runs that have started
    Streams streams_{*this};
    TimeNs now_{1};
    bool read_all_ = false;
};

/// Total size of the files that a run may have written in these folders. The files are not opened.
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

} // namespace

Result<std::optional<DiagnosedRun>> diagnoseLongRun(const std::vector<std::filesystem::path>& paths,
                                                    const DiagnosisOptions& options, const WindowLimits& limits,
                                                    std::uint64_t least_bytes, JobControl& control) {
    const std::optional<DiagnosedRun> better_whole;
    std::error_code failed;
    const auto isFolder = [&](const std::filesystem::path& path) {
        return std::filesystem::is_directory(path, failed);
    };
    if (paths.empty() || !std::ranges::all_of(paths, isFolder)) return better_whole;
    const std::uint64_t bytes = recordedBytes(paths);
    if (bytes < least_bytes) return better_whole;
    BUBBLESCOPE_ASSIGN(const std::vector<InputFile> files, findTraceFiles(paths));
    Run about;
    about.format = "perfetto";
    about.annotation = "Bubblescope";
    for (const InputFile& file : files) {
        if (file.path.extension() != SegmentFollower::kExtension) return better_whole;
        about.files.push_back(file.path);
    }
    control.total = bytes;

    allowManyFiles();
    BUBBLESCOPE_ASSIGN(SegmentFollower follower, SegmentFollower::open(paths));
    RecordedSteps steps(std::move(about), paths.front(), std::move(follower), control);
    BUBBLESCOPE_ASSIGN(const bool has_several, steps.haveSeveralWindows(limits));
    if (!has_several || !steps.canBeJudged()) return better_whole;
    Result<DiagnosedRun> judged = diagnoseSteps(steps, options, limits, &control);
    if (!steps.canBeJudged()) return better_whole;
    BUBBLESCOPE_ASSIGN(DiagnosedRun diagnosed, std::move(judged));
    diagnosed.run.slices = steps.slices();
    diagnosed.run.span = steps.span();
    return std::optional(std::move(diagnosed));
}

} // namespace bubblescope::live
