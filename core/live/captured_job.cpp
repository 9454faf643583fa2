#include "core/live/captured_job.h"

#include "core/live/run_streams.h"
#include "core/recognise/run.h"
#include "core/recognise/stated_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <set>
#include <system_error>

namespace bubblescope::live {
namespace {

/// The first of the ranks that share a stage, or a part of a sequence, represents all of them, as in recognition.
std::optional<std::pair<int, int>> placeInPipeline(const RankPlaces& places, int rank) {
    const auto known = places.ranks.find(rank);
    if (known == places.ranks.end()) return std::nullopt;
    const MeshNumbers& at = known->second;
    if (at.at(MeshAxis::Tensor) != 0 || at.at(MeshAxis::Context) != 0) return std::nullopt;
    return std::pair(at.at(MeshAxis::Pipeline), at.at(MeshAxis::Data));
}

} // namespace

RecordedProcess* CapturedJob::processOf(const CaptureStatement& statement) {
    const Key key{statement.writer.host, statement.writer.pid};
    if (processes_.size() >= kMaxProcesses && !processes_.contains(key)) return nullptr;
    const auto [place, is_new] = processes_.try_emplace(key);
    if (is_new) {
        place->second.statement = statement;
        place->second.number = processes_.size();
    }
    return &place->second;
}

bool CapturedJob::allEnded() const {
    return !processes_.empty() &&
           std::ranges::all_of(processes_, [](const auto& one) { return one.second.hasEnded(); });
}

TimeNs CapturedJob::lastReceived() const {
    TimeNs last{0};
    for (const auto& [key, process] : processes_)
        last = std::max(last, process.last_received);
    return last;
}

RunInfo CapturedJob::infoOf(const Run& run) {
    RunInfo info;
    info.source = "capture";
    info.schedule = run.schedule.name;
    info.flavor = run.schedule.flavor;
    info.backend = run.explanation.framework;
    if (!run.explanation.called.empty()) info.backend += ": " + run.explanation.called;
    const StepTimeline& step = run.steps.front();
    info.pp = step.pp;
    info.microbatches = step.microbatches;
    info.vpp = step.vpp;
    info.placement = step.placement;
    for (const StepTimeline& other : run.steps)
        info.dp = std::max(info.dp, other.replica + 1);
    // The recordings of some replicas may be missing.
    if (run.places) info.dp = std::max(info.dp, run.places->sizes.at(MeshAxis::Data));
    return info;
}

void CapturedJob::restart() {
    until_.reset();
    steps_ = 0;
}

std::vector<ClosedStep> CapturedJob::newSteps(const Run& run, bool settled) {
    settled_ = settled;
    places_ = run.places;
    std::map<int, std::vector<StepTimeline>> steps; // all replicas of a step
    for (const StepTimeline& step : run.steps)
        steps[step.index].push_back(step);
    if (!settled) steps.erase(std::prev(steps.end()));
    std::map<int, std::vector<CheckRecord>> checks;
    for (const CheckRecord& check : run.checks.checks)
        checks[check.step].push_back(check);
    const StepValueMap values = statedValues(run);
    std::vector<ClosedStep> fresh;
    // The oldest files may have been removed, and steps are then counted from the first remaining one: only times
    // identify them.
    const TimeNs origin = run.trace ? run.trace->origin() : TimeNs{0};
    for (auto& [index, replicas] : steps) {
        const TimeNs begin = origin + std::ranges::min(replicas, {}, &StepTimeline::begin).begin;
        if (until_ && begin <= *until_) continue;
        until_ = begin;
        ClosedStep& closed = fresh.emplace_back();
        closed.index = steps_++;
        for (StepTimeline& step : replicas) {
            if (const StepValues known = valuesOf(values, step); !known.empty()) closed.values[step.replica] = known;
            step.index = closed.index;
        }
        closed.checks = std::move(checks[index]);
        for (CheckRecord& check : closed.checks)
            check.step = closed.index;
        closed.timelines = std::move(replicas);
    }
    return fresh;
}

RankState CapturedJob::stateOf(const RecordedProcess& process, TimeNs patience) const {
    if (process.ended) return RankState::Ended;
    if (process.gone) return RankState::Gone;
    return silence(process) >= patience || holdsUp(process, patience) ? RankState::Late : RankState::Running;
}

namespace {

bool isTransfer(std::string_view range) {
    return range.find("RECV_") != std::string_view::npos || range.find("SEND_") != std::string_view::npos;
}

} // namespace

bool CapturedJob::holdsUp(const RecordedProcess& process, TimeNs patience) const {
    const TimeNs now = lastReceived();
    const auto stands = [&](const RecordedProcess& one) {
        return !one.hasEnded() && one.stands_since && now - *one.stands_since >= patience;
    };
    return stands(process) && !isTransfer(process.stands_in) && std::ranges::any_of(processes_, [&](const auto& other) {
               return stands(other.second) && isTransfer(other.second.stands_in);
           });
}

std::string CapturedJob::whyLate(const RecordedProcess& process, TimeNs patience) const {
    if (silence(process) >= patience) {
        return fmt::format("no records for {}, while other ranks continued", formatTime(silence(process)));
    }
    const std::string place = process.stands_in.empty() ? "outside its ops" : "in " + process.stands_in;
    return fmt::format("the process has been {} for {}, while others wait for its data", place,
                       formatTime(lastReceived() - process.stands_since.value_or(lastReceived())));
}

/// Uses `places_` if the trace has them. Otherwise uses the launcher's ranks if there are as many as in the pipeline; a
/// single process counts as a pipeline of one.
std::map<std::pair<int, int>, const RecordedProcess*> CapturedJob::byRank(int pp) const {
    std::set<int> ranks;
    for (const auto& [key, process] : processes_) {
        if (process.statement.rank) ranks.insert(*process.statement.rank);
    }
    std::map<std::pair<int, int>, const RecordedProcess*> found;
    for (const auto& [key, process] : processes_) {
        std::optional<std::pair<int, int>> place;
        if (process.statement.rank && places_)
            place = placeInPipeline(*places_, *process.statement.rank);
        else if (process.statement.rank && ranks.size() == static_cast<std::size_t>(pp))
            place = std::pair(static_cast<int>(std::distance(ranks.begin(), ranks.find(*process.statement.rank))), 0);
        else if (!process.statement.rank && processes_.size() == 1 && pp == 1)
            place = std::pair(0, 0);
        if (!place) continue;
        const RecordedProcess*& known = found[*place];
        if (known == nullptr || process.number > known->number) known = &process;
    }
    return found;
}

namespace {

/// Some of the watched folders may not contain files yet; the others are still read.
std::vector<std::filesystem::path> withTraces(const std::vector<std::filesystem::path>& folders) {
    std::vector<std::filesystem::path> chosen;
    for (const std::filesystem::path& folder : folders) {
        std::error_code code;
        std::filesystem::recursive_directory_iterator at(folder, code);
        for (const std::filesystem::recursive_directory_iterator end; !code && at != end; at.increment(code)) {
            if (at->path().extension() != ".pftrace") continue;
            chosen.push_back(folder);
            break;
        }
    }
    return chosen;
}

} // namespace

void CapturedRun::look(RunStreams& streams, TimeNs now) {
    if (!streams.captured()) return;
    if (const std::int64_t received = streams.counts().bytes; received != received_) {
        received_ = received;
        grew_ = now;
        fresh_ = true;
        settled_ = false;
    }
    const bool quiet = now - grew_ >= patience_ || streams.capturedEnded();
    if (settled_ || (!quiet && (!fresh_ || now < next_))) return;
    const auto began = std::chrono::steady_clock::now();
    JobControl control;
    const Result<Run> run = loadRun(withTraces(folders_), control);
    const TimeNs took = std::chrono::steady_clock::now() - began;
    constexpr TimeNs kSeldom{std::chrono::seconds(1)};
    next_ = now + std::max(kSeldom, 5 * took);
    fresh_ = false;
    settled_ = quiet;
    problem_ = run.ok() ? std::string() : run.error().text();
    if (run.ok()) streams.takeRun(run.value(), quiet);
}

} // namespace bubblescope::live
