#include "core/recognise/rule_matches.h"

#include "core/base/job.h"
#include "core/base/time_intervals.h"
#include "core/recognise/communicator_names.h"
#include "core/recognise/join_parts.h"
#include "core/recognise/profiler_marks.h"
#include "core/recognise/raw_trace.h"
#include "core/trace/processes.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <type_traits>
#include <unordered_map>
#include <utility>

namespace bubblescope {
namespace {

constexpr std::int64_t kNoRank = -2; ///< the owner of a process whose name does not contain its rank

/// The name in a rule that a text matches.
struct Spelled {
    const RecognitionRule::OpSpelling* op = nullptr;
    std::optional<std::uint32_t> transfer; ///< index in RecognitionRule::transfers
    NameParts parts;
};

/// The properties that the names of thread and process contain.
struct RulePlace {
    bool used = false;
    bool named = false; ///< the rank is given by a name
    std::int64_t owner = 0;
    std::int64_t replica = 0;
};

class Matcher {
public:
    Matcher(const RecognitionRule& rule, RawTrace& raw)
        : rule_(rule), raw_(raw), trace_(raw.trace()), number_(trace_.strings().size(), kUnknown), stop_(raw.control()),
          kernels_(raw.sampledKernels()), files_(raw.fileCount()) {}

    std::vector<RuleFinds> match() {
        chooseCategories();
        if (!rule_.categories.empty() && wanted_.empty()) return std::move(files_);
        for (const TrackId track : raw_.tracksByFile()) {
            if (raw_.control().stopRequested()) break;
            readTrack(track);
        }
        findThreads();
        for (RuleFinds& file : files_) {
            for (RuleMatch& match : file.matches) {
                const bool op = match.kind && !match.on_device;
                if (op) match.device = launchedBy(match);
            }
            findTransfers(file);
        }
        return std::move(files_);
    }

private:
    static constexpr std::int32_t kUnknown = -1;
    static constexpr std::int32_t kNone = -2;

    void chooseCategories() {
        for (const std::string& category : rule_.categories) {
            if (category.empty()) wanted_.insert(0); // slices without a category
            if (const StringId id = trace_.strings().find(category); id != 0) wanted_.insert(id);
            if (category == "user_annotation") mirrored_ = trace_.strings().find("gpu_user_annotation");
        }
        if (mirrored_ != 0) wanted_.insert(mirrored_);
    }

    [[nodiscard]] std::uint64_t processOf(const RuleMatch& match) const {
        const Track& track = trace_.tracks()[match.track];
        return GpuWork::key(track.file, GpuWork::processOf(trace_, track));
    }

    /// Finds the threads that have ops, by process.
    void findThreads() {
        for (const RuleFinds& file : files_) {
            TrackId last = kNoId;
            for (const RuleMatch& match : file.matches) {
                if (!match.kind || match.on_device || match.track == last) continue;
                last = match.track;
                threads_[processOf(match)].with_ops.insert(GpuWork::threadOf(trace_, match.track));
            }
        }
        for (auto& [process, threads] : threads_) {
            if (threads.with_ops.size() < 2) continue;
            const auto file = static_cast<std::uint32_t>(process >> 32U);
            const auto number = static_cast<std::int64_t>(process & 0xffffffffU);
            threads.works_for = raw_.gpu().helpersOf(file, number, threads.with_ops);
        }
    }

    [[nodiscard]] std::optional<GpuWork::Work> launchedBy(const RuleMatch& match) {
        const Track& track = trace_.tracks()[match.track];
        GpuWork::Threads& threads = threads_[processOf(match)];
        threads.own = GpuWork::threadOf(trace_, match.track);
        return raw_.gpu().launchedIn(track.file, GpuWork::processOf(trace_, track), match.start, match.end, threads);
    }

    /// Finds the kernels of transfers and their communicators.
    void findTransfers(RuleFinds& file) {
        StringPool communicators;
        for (RuleMatch& match : file.matches) {
            if (!match.transfer || match.on_device) continue;
            const Track& track = trace_.tracks()[match.track];
            const std::int64_t thread = GpuWork::threadOf(trace_, match.track);
            const GpuWork::Launch* const kernel =
                raw_.gpu().transferIn(track.file, GpuWork::processOf(trace_, track), match.start, match.end, thread);
            if (kernel == nullptr) continue;
            match.device = GpuWork::Work{kernel->work.start, kernel->work.end, TimeNs{0}, kernel->device};
            std::string group = processGroupOf(trace_, kernel->first);
            if (group.empty()) {
                if (!posted_) posted_.emplace(trace_);
                group = posted_->in(track.file, thread, match.start, match.end);
            }
            match.communicator = communicators.intern(communicatorName(trace_, group, kernel->first));
        }
        for (StringId id = 1; id < communicators.size(); ++id)
            file.communicators.emplace_back(communicators.text(id));
    }

    void readTrack(TrackId id) {
        const Track& track = trace_.tracks()[id];
        found_ = &files_[track.file];
        PartJoiner joiner(found_->matches);
        std::optional<RulePlace> place;
        for (SliceId slice = track.first_slice; slice < track.end_slice; ++slice) {
            if (stop_.requested()) return;
            const StringId category = trace_.sliceCategories()[slice];
            if (!rule_.categories.empty() && !wanted_.contains(category)) continue;
            const Spelled* const spelled = spelling(trace_.sliceNames()[slice]);
            if (spelled == nullptr || trace_.isOpen(slice)) continue; // its end is unknown
            if (!kernels_[track.file].contain(trace_.start(slice))) continue;
            if (!place) place = placeOf(track);
            if (!place->used) return;
            RuleMatch match;
            match.file = track.file;
            match.track = id;
            match.slice = slice;
            match.name = nameOf(track.file, trace_.sliceNames()[slice]);
            match.start = trace_.start(slice);
            match.end = trace_.end(slice);
            match.pid = track.pid;
            match.spilled = track.spilled_from != kNoId;
            match.on_device = category == mirrored_ && mirrored_ != 0;
            match.owner = place->owner;
            match.replica = place->replica;
            if (spelled->op != nullptr && spelled->op->part != RulePart::Whole) {
                addPart(*spelled, match, joiner);
                continue;
            }
            joiner.finish();
            addMatch(*spelled, match);
        }
        joiner.finish();
    }

    void addPart(const Spelled& spelled, RuleMatch match, PartJoiner& joiner) {
        if (match.on_device) return; // a mirrored part has only a part of the op's time
        match.kind = spelled.op->kinds.front();
        if (fill(match, spelled, 0)) joiner.add(match, spelled.op->part, spelled.op->kinds);
    }

    std::uint32_t nameOf(std::uint32_t file, StringId name) {
        if (names_of_ != file) name_.clear();
        names_of_ = file;
        const auto [known, is_new] = name_.try_emplace(name, static_cast<std::uint32_t>(found_->names.size()));
        if (is_new) found_->names.emplace_back(trace_.text(name));
        return known->second;
    }

    const Spelled* spelling(StringId name) {
        std::int32_t& number = number_[name];
        if (number == kUnknown) {
            auto spelled = spell(trace_.text(name));
            number = spelled ? static_cast<std::int32_t>(spellings_.size()) : kNone;
            if (spelled) spellings_.push_back(*spelled);
        }
        return number == kNone ? nullptr : &spellings_[static_cast<std::size_t>(number)];
    }

    [[nodiscard]] std::optional<Spelled> spell(std::string_view name) const {
        for (const auto& op : rule_.ops) {
            if (auto parts = op.name.match(name)) return Spelled{&op, std::nullopt, *parts};
        }
        for (std::uint32_t i = 0; i < rule_.transfers.size(); ++i) {
            if (auto parts = rule_.transfers[i].name.match(name)) return Spelled{nullptr, i, *parts};
        }
        return std::nullopt;
    }

    RulePlace placeOf(const Track& track) {
        RulePlace place;
        const auto named = [&](RuleField field) {
            for (const auto& [pattern, name] :
                 {std::pair(&rule_.thread, track.thread_name), std::pair(&rule_.process, track.process_name)}) {
                const auto parts = *pattern ? (*pattern)->match(trace_.text(name)) : std::nullopt;
                if (parts && parts->get(field)) return parts->get(field);
            }
            return std::optional<std::int64_t>{};
        };
        if (named(RuleField::TensorRank).value_or(0) != 0) {
            ++found_->other_tensor_ranks; // they compute the same ops at the same time
            return place;
        }
        const auto rank = named(RuleField::RankId);
        place.used = rank || rule_.rank != RankSource::Names;
        place.owner = rank ? *rank : sourceRank(track);
        const bool names_replicas = rule_.process && rule_.process->count(RuleField::ReplicaId) > 0;
        place.replica = named(RuleField::ReplicaId).value_or(names_replicas ? track.pid : 0);
        return place;
    }

    [[nodiscard]] std::int64_t sourceRank(const Track& track) const {
        switch (rule_.rank) {
        case RankSource::File: return raw_.rankOf(track.file);
        case RankSource::Process: return track.pid;
        case RankSource::Thread: return std::max(track.tid, std::numeric_limits<std::int64_t>::min() + 1) - 1;
        case RankSource::Processes: { // numbered when all are known
            const auto label = labelOfProcess(trace_.text(track.process_name));
            return label ? label->rank.value_or(kNoRank) : kNoRank;
        }
        case RankSource::Names: break;
        }
        return 0;
    }

    [[nodiscard]] std::optional<std::int64_t> field(RuleField which, const Spelled& spelled, std::size_t of,
                                                    SliceId slice) const {
        if (const auto& named = spelled.parts.get(which, of)) return named;
        const auto& args = spelled.transfer ? rule_.transfer_args : rule_.args;
        const std::string& arg = args[static_cast<std::size_t>(which)];
        return arg.empty() ? std::nullopt : trace_.intArg(trace_.sliceArgs()[slice], arg);
    }

    [[nodiscard]] std::optional<OpKind> kindByWord(const Spelled& spelled, SliceId slice) const {
        std::string word(spelled.parts.kind);
        const std::string& arg = rule_.args[static_cast<std::size_t>(RuleField::Kind)];
        if (word.empty() && !arg.empty()) word = trace_.textArg(trace_.sliceArgs()[slice], arg).value_or("");
        const auto known = rule_.kinds.find(word);
        return known == rule_.kinds.end() ? std::nullopt : std::optional(known->second);
    }

    void addMatch(const Spelled& spelled, RuleMatch match) {
        match.transfer = spelled.transfer;
        const std::size_t ops = spelled.op != nullptr && spelled.op->kinds.size() == 2 ? 2 : 1;
        match.overlapped = ops == 2;
        for (std::size_t of = 0; of < ops; ++of) {
            if (spelled.op != nullptr) {
                match.kind = spelled.op->kinds.empty() ? kindByWord(spelled, match.slice) : spelled.op->kinds[of];
                if (!match.kind) continue; // a word that does not mean an op
            }
            if (fill(match, spelled, of)) found_->matches.push_back(match);
        }
    }

    bool fill(RuleMatch& match, const Spelled& spelled, std::size_t of) {
        const auto get = [&](RuleField which) { return field(which, spelled, of, match.slice); };
        const bool optimizer = match.kind == OpKind::Optimizer;
        match.step = get(RuleField::StepId);
        const auto& args = spelled.transfer ? rule_.transfer_args : rule_.args;
        const bool names_steps = !args[static_cast<std::size_t>(RuleField::StepId)].empty();
        const auto microbatch = get(RuleField::MicrobatchId);
        const bool by_order = optimizer || rule_.numbersMicrobatches();
        if ((!microbatch && !by_order) || (names_steps && !match.step)) {
            ++found_->unlabelled;
            return false;
        }
        if (get(RuleField::TensorRank).value_or(0) != 0) {
            ++found_->other_tensor_ranks;
            return false;
        }
        match.microbatch = optimizer ? 0 : microbatch.value_or(kUnknownMicrobatch);
        const auto part = rule_.namesStages() ? get(RuleField::StageId) : get(RuleField::ChunkId);
        match.chunk_or_stage = optimizer ? 0 : part.value_or(0);
        match.sequence = get(RuleField::SequenceId).value_or(0);
        if (const auto rank = get(RuleField::RankId)) match.owner = *rank;
        if (const auto replica = get(RuleField::ReplicaId)) match.replica = *replica;
        return true;
    }

    const RecognitionRule& rule_;
    RawTrace& raw_;
    const Trace& trace_;
    std::vector<std::int32_t> number_; ///< by name: index of its spelling
    std::vector<Spelled> spellings_;
    std::unordered_map<StringId, std::uint32_t> name_; ///< index in RuleFinds::names of the file
    std::uint32_t names_of_ = 0;                       ///< that file
    std::set<StringId> wanted_;
    StringId mirrored_ = 0;
    StopCheck stop_;
    const std::vector<SampledKernels>& kernels_; ///< by file
    std::vector<RuleFinds> files_;
    std::map<std::uint64_t, GpuWork::Threads> threads_; ///< by process
    std::optional<PostedGroups> posted_;                ///< if a kernel did not record its process group
    RuleFinds* found_ = nullptr;                        ///< of the current file
};

bool hasOps(const RuleFinds& found) {
    return std::ranges::any_of(found.matches,
                               [](const RuleMatch& match) { return match.kind && *match.kind != OpKind::Optimizer; });
}

enum class RanksOf : std::uint8_t { Files, Processes, Guessed };

/// Uses the ranks that files record, or else those in the names of all processes. Otherwise, processes in ascending
/// order are the pipeline's ranks.
RanksOf numberProcesses(std::vector<RuleMatch>& matches, std::span<const TraceFile> files) {
    using Process = std::pair<std::uint32_t, std::int64_t>;
    std::map<Process, std::int64_t> owners;
    bool files_state = true;
    for (const RuleMatch& match : matches) {
        owners.emplace(Process(match.file, match.pid), match.owner);
        files_state = files_state && files[match.file].rank;
    }
    std::set<std::int64_t> named;
    for (const auto& [process, owner] : owners) {
        if (owner != kNoRank) named.insert(owner);
    }
    const bool names_state = named.size() == owners.size() && owners.size() > 1;
    std::int64_t next = 0;
    for (auto& [process, owner] : owners) {
        const auto stated = files[process.first].rank;
        if (stated || !names_state) owner = stated ? *stated : next;
        ++next;
    }
    for (RuleMatch& match : matches)
        match.owner = owners.at(Process(match.file, match.pid));
    if (files_state) return RanksOf::Files;
    return names_state || owners.size() == 1 ? RanksOf::Processes : RanksOf::Guessed;
}

/// Makes a rank of each part of an owner, in order of owners and parts. Matches without a part keep their owner.
template <class PartOf>
void divideOwners(std::vector<RuleMatch>& matches, const PartOf& partOf) {
    using Part = typename std::invoke_result_t<PartOf, const RuleMatch&>::value_type;
    std::map<std::pair<std::int64_t, Part>, std::int64_t> ranks;
    for (const RuleMatch& match : matches) {
        if (const auto part = partOf(match)) ranks.try_emplace({match.owner, *part});
    }
    std::int64_t next = 0;
    for (auto& [part, rank] : ranks)
        rank = next++;
    for (RuleMatch& match : matches) {
        if (const auto part = partOf(match)) match.owner = ranks.at({match.owner, *part});
    }
}

/// If one process runs its ops on several devices, as with torchgpipe, each device is a rank, in the order of files,
/// processes and devices. Matches without a device get the rank of their thread.
bool divideByDevice(std::vector<RuleMatch>& matches) {
    using Process = std::pair<std::uint32_t, std::int64_t>;
    std::map<Process, std::set<std::int64_t>> devices;
    std::map<std::uint64_t, std::int64_t> of_row;
    for (const RuleMatch& match : matches) {
        if (!match.device || !match.kind) continue;
        devices[{match.file, match.pid}].insert(match.device->device);
        of_row.try_emplace(match.row(), match.device->device);
    }
    if (std::ranges::none_of(devices, [](const auto& each) { return each.second.size() > 1; })) return false;
    divideOwners(matches, [&](const RuleMatch& match) -> std::optional<std::int64_t> {
        if (match.device) return match.device->device;
        const auto known = of_row.find(match.row());
        if (known != of_row.end()) return known->second;
        const auto of_process = devices.find({match.file, match.pid});
        return of_process == devices.end() ? std::int64_t{0} : *of_process->second.begin();
    });
    return true;
}

/// A process whose threads run forwards at the same time contains a rank per thread, as in traces of programs that
/// simulate a pipeline. (Backwards may run in a separate thread, but the forwards of a rank's chunk run in one.)
bool divideByThread(std::vector<RuleMatch>& matches) {
    std::map<std::uint64_t, bool> threads;               // by row: true if it runs forwards
    using Chunk = std::pair<std::int64_t, std::int64_t>; // owner and chunk
    std::map<Chunk, TimeNs> busy_to;                     // the end of its forwards so far
    std::map<Chunk, std::uint64_t> latest;               // the row of the latest
    bool concurrent = false;
    for (const RuleMatch& match : matches) {
        if (!match.kind || match.on_device) continue;
        if (match.spilled) return false; // its row is not a thread
        threads[match.row()] |= match.kind == OpKind::Forward;
        if (match.kind != OpKind::Forward) continue;
        const Chunk chunk(match.owner, match.chunk_or_stage);
        const auto [end, is_new] = busy_to.try_emplace(chunk, match.end);
        concurrent = concurrent || (!is_new && match.start < end->second && latest[chunk] != match.row());
        end->second = std::max(end->second, match.end);
        latest[chunk] = match.row();
    }
    const auto runsForwards = [](const auto& thread) { return thread.second; };
    if (!concurrent || !std::ranges::all_of(threads, runsForwards)) return false;
    divideOwners(matches, [&](const RuleMatch& match) {
        return threads.contains(match.row()) ? std::optional(match.row()) : std::nullopt;
    });
    return true;
}

/// Files with the same recorded rank are parts of one recording, unless most ops occur in both. Then only the file with
/// the most ops is used. Returns the number of omitted files.
std::int64_t dropCopies(std::vector<RuleMatch>& matches) {
    using Times = std::vector<TimeInterval>;
    std::map<std::pair<std::int64_t, std::int64_t>, std::map<std::uint32_t, Times>> files; // by owner and replica
    for (const RuleMatch& match : matches) {
        if (match.kind && !match.on_device)
            files[{match.owner, match.replica}][match.file].push_back({match.start, match.end});
    }
    std::set<std::uint32_t> copies;
    for (const auto& [owner, times] : files) {
        const auto most = std::ranges::max_element(times, {}, [](const auto& file) { return file.second.size(); });
        const std::vector<TimeInterval> busy = unionOf(most->second);
        for (const auto& [file, own] : times) {
            if (file == most->first) continue;
            const auto overlaps = [&](const TimeInterval& time) {
                const auto at = std::ranges::upper_bound(busy, time.start, {}, &TimeInterval::end);
                return at != busy.end() && at->start < time.end;
            };
            if (2 * std::ranges::count_if(own, overlaps) > std::ssize(own)) copies.insert(file);
        }
    }
    std::erase_if(matches, [&](const RuleMatch& match) { return copies.contains(match.file); });
    return std::ssize(copies);
}

/// Replicas with large numbers, such as those of processes, or negative ones are renumbered from 0 in their order,
/// because memory grows with the largest number.
void numberReplicas(std::vector<RuleMatch>& matches) {
    constexpr std::int64_t kLargest = 1023;
    std::map<std::int64_t, std::int64_t> numbers;
    bool large = false;
    auto latest = numbers.end();
    for (const RuleMatch& match : matches) {
        large = large || match.replica < 0 || match.replica > kLargest;
        if (latest == numbers.end() || latest->first != match.replica)
            latest = numbers.try_emplace(match.replica).first;
    }
    if (!large) return;
    std::int64_t next = 0;
    for (auto& [replica, number] : numbers)
        number = next++;
    for (RuleMatch& match : matches)
        match.replica = numbers.at(match.replica);
}

/// Appends a file's matches to `all`, with names renumbered for all files.
void appendMatches(RuleFinds&& file, RuleMatches& all) {
    std::vector<StringId> names;
    for (const std::string& name : file.names)
        names.push_back(all.names.intern(name));
    std::vector<StringId> communicators{0};
    for (const std::string& communicator : file.communicators)
        communicators.push_back(all.names.intern(communicator));
    for (RuleMatch& match : file.matches) {
        match.name = names[match.name];
        match.communicator = communicators[match.communicator];
    }
    if (all.matches.capacity() == 0)
        all.matches = std::move(file.matches);
    else
        std::ranges::move(file.matches, std::back_inserter(all.matches));
    std::vector<RuleMatch>().swap(file.matches); // assigning {} would keep the memory
}

} // namespace

Result<std::vector<RuleFinds>> extractRuleFinds(RawTrace& raw, const RecognitionRule& rule) {
    return Matcher(rule, raw).match();
}

RuleMatches mergeRuleFinds(const RecognitionRule& rule, std::vector<RuleFinds> finds, std::span<const TraceFile> files,
                           DiagnosticLog& log) {
    RuleMatches all;
    if (std::ranges::none_of(finds, hasOps)) return all;
    std::int64_t unlabelled = 0;
    std::int64_t other_tensor_ranks = 0;
    std::size_t matches = 0;
    for (const RuleFinds& file : finds)
        matches += file.matches.size();
    for (RuleFinds& file : finds) {
        unlabelled += file.unlabelled;
        other_tensor_ranks += file.other_tensor_ranks;
        if (file.matches.size() < matches) all.matches.reserve(matches);
        appendMatches(std::move(file), all);
    }
    std::ranges::stable_sort(all.matches, {}, &RuleMatch::start);
    numberReplicas(all.matches);
    const bool by_process = rule.rank == RankSource::Processes;
    const RanksOf ranks = by_process ? numberProcesses(all.matches, files) : RanksOf::Files;
    const std::string where = files.front().path.string();
    const bool by_owner = by_process || rule.rank == RankSource::File;
    if (const std::int64_t copies = ranks == RanksOf::Files && by_owner ? dropCopies(all.matches) : 0; copies > 0)
        log.add("duplicate-rank", where, say("several files contain the ops of one rank; using the longest file"),
                copies);
    const bool by_device = by_owner && divideByDevice(all.matches);
    const bool by_thread = by_process && !by_device && divideByThread(all.matches);
    if (by_device) {
        log.add("devices-as-ranks", where,
                say("one process runs ops on several devices; each device counts as a rank"));
    }
    if (by_thread) {
        log.add("threads-as-ranks", where,
                say("threads of one process run ops at the same time; each thread counts as a rank"));
    }
    all.owners_are_files = by_owner && ranks == RanksOf::Files && !by_device && !by_thread;
    const bool told = tellUnknownRanks(files, log);
    if (unlabelled > 0) {
        log.add("unlabelled-op", where, say("skipped slices that are named like ops but have no micro-batch or step"),
                unlabelled);
    }
    if (ranks == RanksOf::Guessed && !told) {
        log.add("guessed-ranks", where,
                say("ranges do not specify their rank; ranks are assigned to processes in numerical order"));
    }
    if (other_tensor_ranks > 0) {
        log.add("tensor-parallel", where, say("only threads of the first rank of each tensor-parallel group are shown"),
                other_tensor_ranks);
    }
    return all;
}

} // namespace bubblescope
