#include "app/gui/models/session.h"

#include "core/analysis/rank_tracks.h"
#include "core/analysis/steps/run_analyzer.h"
#include "core/trace/files_apart.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace bubblescope::gui {

namespace {

std::size_t at(std::int32_t index) {
    return static_cast<std::size_t>(index);
}

} // namespace

const StepDiagnosis& StepDiagnosisCache::of(const Run& run, const RunReport& report, std::size_t step) {
    if (const StepDiagnosis* made = known(report, step)) return *made;
    const std::scoped_lock work(work_mutex_);
    if (const StepDiagnosis* made = known(report, step)) return *made; // another thread has computed the diagnosis
    try {
        if (!diagnoses_) diagnoses_.emplace(report.diagnosesOf(run));
        StepDiagnosis made = diagnoses_->of(step);
        const std::scoped_lock cache(cache_mutex_);
        return cache_[step].emplace(std::move(made));
    } catch (...) {
        const std::scoped_lock cache(cache_mutex_);
        cache_.try_emplace(step, std::nullopt);
        throw;
    }
}

const StepDiagnosis* StepDiagnosisCache::known(const RunReport& report, std::size_t step) const {
    if (report.typical.units != nullptr && step == report.typicalStep()) return &report.typical;
    const std::scoped_lock cache(cache_mutex_);
    const auto found = cache_.find(step);
    return found == cache_.end() || !found->second ? nullptr : &*found->second;
}

bool StepDiagnosisCache::failed(std::size_t step) const {
    const std::scoped_lock cache(cache_mutex_);
    const auto found = cache_.find(step);
    return found != cache_.end() && !found->second;
}

int Session::indexOf(const StepTimeline& step) const {
    const auto same = std::ranges::find_if(run.steps, [&step](const StepTimeline& other) {
        return other.index == step.index && other.replica == step.replica;
    });
    return same == run.steps.end() ? -1 : static_cast<int>(same - run.steps.begin());
}

const TimelineOp& Session::op(const ItemRef& item) const {
    return step(item.step).ranks[at(item.rank)][at(item.index)];
}

const Bubble& Session::bubble(const ItemRef& item) const {
    return analysis(item.step).bubbles[at(item.rank)][at(item.index)];
}

const CommSpan& Session::comm(const ItemRef& item) const {
    return step(item.step).comm[at(item.rank)][at(item.index)];
}

const CheckRecord& Session::check(const ItemRef& item) const {
    return run.checks.checks[at(item.index)];
}

TimeRange Session::range(const ItemRef& item) const {
    switch (item.kind) {
    case ItemKind::Op: return {op(item).start, op(item).end};
    case ItemKind::Bubble: return {bubble(item).start, bubble(item).end};
    case ItemKind::Comm: return {comm(item).start, comm(item).end};
    case ItemKind::Slice: {
        const TimeRange own{run.trace->start(slice(item)), run.trace->end(slice(item))};
        const RawLane* lane = raw.laneOf(lanes.lineOf(item), run.trace->sliceTracks()[slice(item)]);
        return lane != nullptr ? lane->toViewTime(own) : own;
    }
    case ItemKind::Check: return {check(item).start, std::max(check(item).start, check(item).end)};
    case ItemKind::ReplicaWait: {
        const Lane& waits = lanes.lane(at(lanes.lineOf(item)), LaneKind::ReplicaWait);
        const TimeNs from = step(item.step).end;
        const std::size_t found = waits.firstStartingFrom(from);
        if (found < waits.spans().size() && waits.spans()[found].step == item.step)
            return {waits.spans()[found].start, waits.spans()[found].end};
        break;
    }
    case ItemKind::None: break;
    }
    return {};
}

ItemRef Session::sliceItem(int line, SliceId slice) const {
    ItemRef item{ItemKind::Slice, 0, lanes.rankOf(line), static_cast<std::int32_t>(slice)};
    while (item.step + 1 < stepCount() && lanes.lineOf(item) != line)
        ++item.step;
    const TimeNs start = range(item).begin;
    for (int place = item.step + 1; place < stepCount(); ++place) {
        if (step(place).begin <= start && lanes.lineOf(place, item.rank) == line) item.step = place;
    }
    return item;
}

ItemRef Session::sliceItem(SliceId slice) const {
    const int line = raw.lineOf(run.trace->sliceTracks()[slice]);
    return line < 0 ? ItemRef{} : sliceItem(line, slice);
}

std::optional<int> Session::rankOf(int line) const {
    if (trace_lines.empty()) return lanes.rankOf(line);
    const auto& rank = trace_lines[static_cast<std::size_t>(line)].rank;
    return rank ? std::optional<int>(*rank) : std::nullopt;
}

int Session::stepOn(int line, int wanted) const {
    if (!hasSteps()) return wanted;
    const int rank = lanes.rankOf(line);
    if (lanes.lineOf(wanted, rank) == line) return wanted;
    // The replicas of a step are adjacent because steps are sorted by number.
    for (int distance = 1; distance < stepCount(); ++distance) {
        for (const int place : {wanted - distance, wanted + distance}) {
            if (place >= 0 && place < stepCount() && step(place).index == step(wanted).index &&
                lanes.lineOf(place, rank) == line)
                return place;
        }
    }
    return wanted;
}

StepValues Session::valuesOf(const SelectedStep& step) const {
    std::vector<StepValues> replicas;
    for (const std::size_t timeline : step.timelines)
        replicas.push_back(bubblescope::valuesOf(values, run.steps[timeline]));
    return together(replicas);
}

Result<LoadOptions> Taught::options() const {
    LoadOptions out;
    out.family = family;
    out.reading.ranks = ranks;
    if (rules.empty()) return out;
    BUBBLESCOPE_ASSIGN(RulesFile read, rulesFrom(rules, "rule"));
    out.rules = std::move(read.ops);
    out.reading.lanes = std::move(read.lanes);
    return out;
}

RecogniseRequest Taught::with(RecogniseRequest of_app) const {
    RecogniseRequest request = std::move(of_app);
    std::vector<std::string> stated;
    for (const RankRule& rule : ranks)
        stated.push_back(fmt::format("{}={}", rule.pattern, rule.rank));
    request.ranks.insert(request.ranks.begin(), stated.begin(), stated.end());
    if (!family) return request;
    request.schedule = {};
    request.schedule.spec = *family;
    request.schedule.vpp = family->vpp;
    return request;
}

TimeRange Session::window(int index) const {
    return {step(index).begin, step(index).end};
}

namespace {

struct ChosenThresholds {
    std::mutex mutex;
    Thresholds value;
};
ChosenThresholds chosen_thresholds;

std::vector<LineTracks> tracksOfRanks(const Session& session) {
    std::vector<LineTracks> lines(session.lanes.lineCount());
    for (RankTracks& rank : rankTracks(session.run, session.report.clocks)) {
        const int line = session.lanes.lineOfReplica(rank.replica, rank.rank.value);
        if (line >= 0) lines[static_cast<std::size_t>(line)] = {std::move(rank.tracks), rank.clock};
    }
    return lines;
}

} // namespace

void setFindingThresholds(const Thresholds& thresholds) {
    const std::scoped_lock lock(chosen_thresholds.mutex);
    chosen_thresholds.value = thresholds;
}

Thresholds findingThresholds() {
    const std::scoped_lock lock(chosen_thresholds.mutex);
    return chosen_thresholds.value;
}

Result<SessionPtr> makeSession(Run run, const JobControl& control, TraceSource source) {
    if (run.steps.empty()) return makeSession(DiagnosedRun{std::move(run), {}}, control, std::move(source));
    DiagnosisOptions options;
    options.steps_in_full = true;
    options.thresholds = findingThresholds();
    BUBBLESCOPE_ASSIGN(DiagnosedRun diagnosed, diagnoseRun(std::move(run), options, &control));
    return makeSession(std::move(diagnosed), control, std::move(source));
}

Result<SessionPtr> makeSession(DiagnosedRun diagnosed, const JobControl& control, TraceSource source) {
    auto session = std::make_shared<Session>();
    session->source = std::move(source);
    session->thresholds = findingThresholds();
    session->run = std::move(diagnosed.run);
    session->report = std::move(diagnosed.report);
    if (!session->report.accounts.empty()) session->answer = answerOf(session->run, session->report);
    session->lanes = Lanes(session->run.steps, session->report.steps, session->run.checks.checks);
    session->overview = Overview(session->lanes);
    session->values = statedValues(session->run);
    if (session->run.trace != nullptr) {
        BUBBLESCOPE_ASSIGN(session->raw, RawLanes::build(session->run.trace, tracksOfRanks(*session), control));
        session->flows = SliceFlows(session->run.trace);
    }
    return SessionPtr(std::move(session));
}

Result<SessionPtr> traceSession(LoadedTrace loaded, const JobControl& control, TraceSource source) {
    auto session = std::make_shared<Session>();
    session->source = std::move(source);
    if (loaded.no_pipeline) {
        BUBBLESCOPE_ASSIGN(session->activity, activityOf(loaded));
        session->answer = answerOf(loaded, session->activity);
    }
    session->run = std::move(loaded.run);
    session->run.steps.clear(); // because these steps contain only a part of the pipeline
    session->no_pipeline = std::move(loaded.no_pipeline);
    const std::shared_ptr<const Trace>& trace = session->run.trace;
    if (trace == nullptr || (trace->sliceCount() == 0 && trace->counters().empty()))
        return session->no_pipeline.value_or(Error{});
    session->files_apart = filesAreApart(*trace);
    session->trace_lines = traceLines(*trace);
    std::vector<LineTracks> tracks;
    for (const TraceLine& line : session->trace_lines)
        tracks.push_back({line.tracks, {}});
    const TimeRange extent{TimeNs{0}, std::max(trace->span(), TimeNs{1})};
    session->lanes = Lanes(session->trace_lines.size(), extent);
    BUBBLESCOPE_ASSIGN(session->raw, RawLanes::build(trace, tracks, control));
    session->overview = Overview(extent, session->raw.density(extent, Overview::kBins));
    session->flows = SliceFlows(trace);
    if (control.stopRequested()) return cancelledError();
    return SessionPtr(std::move(session));
}

Result<Run> RunLoader::run(const Paths& paths, JobControl& control) const {
    BUBBLESCOPE_ASSIGN(LoadedTrace loaded, trace(paths, control));
    if (loaded.no_pipeline) return *std::move(loaded.no_pipeline);
    return std::move(loaded.run);
}

Result<SessionPtr> sessionOf(Run run, TraceSource source, const JobControl& control) {
    if (run.steps.empty())
        return inputError(source.paths.empty() ? std::string() : source.paths.front().string(),
                          "contains no complete pipeline step", "record at least one complete training step");
    return makeSession(std::move(run), control, std::move(source));
}

namespace {

/// Ranks specified by the user take precedence over those in files and file names.
void dropAnswered(std::vector<Diagnostic>& problems, const std::vector<RankRule>& ranks) {
    std::erase_if(problems, [&](const Diagnostic& problem) {
        return problem.kind == "rank-contradiction" && std::ranges::any_of(ranks, [&](const RankRule& rule) {
                   return matchesName(rule.pattern, problem.where.text(), nullptr);
               });
    });
}

} // namespace

Result<SessionPtr> loadSession(const RunLoader& loader, const std::vector<std::filesystem::path>& paths,
                               JobControl& control, const Taught& taught) {
    BUBBLESCOPE_ASSIGN(const LoadOptions options, taught.options());
    BUBBLESCOPE_ASSIGN(LoadedTrace loaded, loader.trace(paths, control, options));
    dropAnswered(loaded.run.problems, taught.ranks);
    TraceSource source{paths, taught.with(loader.request()), taught.rules};
    if (loaded.no_pipeline) return traceSession(std::move(loaded), control, std::move(source));
    return sessionOf(std::move(loaded.run), std::move(source), control);
}

std::optional<TimeRange> rangeInWhole(const TimeRange& seen, const Trace& whole) {
    const TimeRange range{seen.begin - whole.originInFile(), seen.end - whole.originInFile()};
    if (range.end <= TimeNs{0} || range.begin >= whole.span()) return std::nullopt;
    return range;
}

} // namespace bubblescope::gui
