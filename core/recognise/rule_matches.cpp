#include "core/recognise/rule_matches.h"

#include "core/recognise/profiler_marks.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace bubblescope {
namespace {

/// Which of a rule's names a text is spelled as.
struct Spelled {
    const RecognitionRule::OpSpelling* op = nullptr;
    const RecognitionRule::TransferSpelling* transfer = nullptr;
    NameParts parts;
};

/// What thread and process tell.
struct Place {
    bool used = false;
    bool told = false; ///< the rank, by a name
    std::int64_t home = 0;
    std::int64_t replica = 0;
};

class Matcher {
public:
    Matcher(const RecognitionRule& rule, const Trace& trace)
        : rule_(rule), trace_(trace), number_(trace.strings().size(), kUnknown) {}

    std::vector<RuleMatch> match(DiagnosticLog& log) {
        chooseCategories();
        if (!rule_.categories.empty() && wanted_.empty()) return {};
        rank_of_file_ = ranksOfFiles(trace_, log_);
        std::vector<RuleMatch> matches;
        for (TrackId track = 0; track < trace_.tracks().size(); ++track)
            readTrack(track, matches);
        if (std::none_of(matches.begin(), matches.end(),
                         [](const RuleMatch& match) { return match.kind && *match.kind != OpKind::Optimizer; }))
            return {};
        if (rule_.rank == RankSource::Processes) numberProcesses(matches);
        std::stable_sort(matches.begin(), matches.end(), [this](const RuleMatch& a, const RuleMatch& b) {
            return trace_.start(a.slice) < trace_.start(b.slice);
        });
        report(log);
        return matches;
    }

private:
    static constexpr std::int32_t kUnknown = -1;
    static constexpr std::int32_t kNone = -2;

    void chooseCategories() {
        for (const std::string& category : rule_.categories) {
            if (const StringId id = trace_.strings().find(category); id != 0) wanted_.insert(id);
            if (category == "user_annotation") mirrored_ = trace_.strings().find("gpu_user_annotation");
        }
        if (mirrored_ != 0) wanted_.insert(mirrored_);
    }

    void readTrack(TrackId id, std::vector<RuleMatch>& matches) {
        const Track& track = trace_.tracks()[id];
        std::optional<Place> place;
        for (SliceId slice = track.first_slice; slice < track.end_slice; ++slice) {
            const StringId category = trace_.sliceCategories()[slice];
            if (!rule_.categories.empty() && !wanted_.contains(category)) continue;
            const Spelled* const spelled = spelling(trace_.sliceNames()[slice]);
            if (spelled == nullptr) continue;
            if (!place) place = placeOf(track);
            if (!place->used) return;
            RuleMatch match;
            match.slice = slice;
            match.track = id;
            match.on_device = category == mirrored_ && mirrored_ != 0;
            match.home = place->home;
            match.replica = place->replica;
            addMatch(*spelled, match, matches);
        }
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
            if (auto parts = op.name.match(name)) return Spelled{&op, nullptr, *parts};
        }
        for (const auto& transfer : rule_.transfers) {
            if (auto parts = transfer.name.match(name)) return Spelled{nullptr, &transfer, *parts};
        }
        return std::nullopt;
    }

    Place placeOf(const Track& track) {
        Place place;
        const auto told = [&](RuleField field) {
            for (const auto& [pattern, name] :
                 {std::pair(&rule_.thread, track.thread_name), std::pair(&rule_.process, track.process_name)}) {
                const auto parts = *pattern ? (*pattern)->match(trace_.text(name)) : std::nullopt;
                if (parts && parts->get(field)) return parts->get(field);
            }
            return std::optional<std::int64_t>{};
        };
        if (told(RuleField::TensorRank).value_or(0) != 0) {
            ++other_tensor_ranks_; // they compute the same ops at the same time
            return place;
        }
        const auto rank = told(RuleField::RankId);
        place.used = rank || rule_.rank != RankSource::Names;
        place.home = rank ? *rank : sourceRank(track);
        const bool names_replicas = rule_.process && rule_.process->count(RuleField::ReplicaId) > 0;
        place.replica = told(RuleField::ReplicaId).value_or(names_replicas ? track.pid : 0);
        return place;
    }

    [[nodiscard]] std::int64_t sourceRank(const Track& track) const {
        switch (rule_.rank) {
        case RankSource::File: return rank_of_file_[track.file];
        case RankSource::Process: return track.pid;
        case RankSource::Thread: return track.tid - 1;
        case RankSource::Processes: // numbered when all are known
        case RankSource::Names: break;
        }
        return 0;
    }

    [[nodiscard]] std::optional<std::int64_t> field(RuleField which, const Spelled& spelled, std::size_t of,
                                                    SliceId slice) const {
        if (const auto& named = spelled.parts.get(which, of)) return named;
        const auto& args = spelled.transfer != nullptr ? rule_.transfer_args : rule_.args;
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

    void addMatch(const Spelled& spelled, RuleMatch match, std::vector<RuleMatch>& matches) {
        match.transfer = spelled.transfer;
        const std::size_t ops = spelled.op != nullptr && spelled.op->kinds.size() == 2 ? 2 : 1;
        match.overlapped = ops == 2;
        for (std::size_t of = 0; of < ops; ++of) {
            if (spelled.op != nullptr) {
                match.kind = spelled.op->kinds.empty() ? kindByWord(spelled, match.slice) : spelled.op->kinds[of];
                if (!match.kind) continue; // a word that means no op
            }
            if (fill(match, spelled, of)) matches.push_back(match);
        }
    }

    bool fill(RuleMatch& match, const Spelled& spelled, std::size_t of) {
        const auto get = [&](RuleField which) { return field(which, spelled, of, match.slice); };
        const bool optimizer = match.kind == OpKind::Optimizer;
        match.step = get(RuleField::StepId);
        const auto& args = spelled.transfer != nullptr ? rule_.transfer_args : rule_.args;
        const bool steps_told = !args[static_cast<std::size_t>(RuleField::StepId)].empty();
        const auto microbatch = get(RuleField::MicrobatchId);
        if ((!microbatch && !optimizer) || (steps_told && !match.step)) {
            ++unlabelled_;
            return false;
        }
        match.microbatch = optimizer ? 0 : *microbatch;
        const auto part = rule_.tellsStages() ? get(RuleField::StageId) : get(RuleField::ChunkId);
        match.part = optimizer ? 0 : part.value_or(0);
        match.sequence = get(RuleField::SequenceId).value_or(0);
        if (const auto rank = get(RuleField::RankId)) match.home = *rank;
        if (const auto replica = get(RuleField::ReplicaId)) match.replica = *replica;
        return true;
    }

    /// Processes in ascending order are the pipeline's ranks, unless their files know better.
    void numberProcesses(std::vector<RuleMatch>& matches) {
        using Process = std::pair<std::uint32_t, std::int64_t>;
        const auto processOf = [this](const RuleMatch& match) {
            const Track& track = trace_.tracks()[match.track];
            return Process(track.file, track.pid);
        };
        std::map<Process, std::int64_t> homes;
        for (const RuleMatch& match : matches)
            homes.emplace(processOf(match), 0);
        std::int64_t next = 0;
        for (auto& [process, home] : homes) {
            const auto stated = trace_.files()[process.first].rank;
            guessed_ = guessed_ || (!stated && homes.size() > 1);
            home = stated ? *stated : next;
            ++next;
        }
        for (RuleMatch& match : matches)
            match.home = homes.at(processOf(match));
    }

    void report(DiagnosticLog& log) {
        const std::string where = trace_.files().front().path.string();
        for (Diagnostic& entry : log_.take())
            log.add(std::move(entry.kind), std::move(entry.where), std::move(entry.message), entry.count);
        if (unlabelled_ > 0) {
            log.add("unlabelled-op", where, "slices named like ops that lack their micro-batch or step are left out",
                    unlabelled_);
        }
        if (guessed_) {
            log.add("guessed-ranks", where,
                    "ranges do not say their rank; processes in the order of their numbers are taken for ranks");
        }
        if (other_tensor_ranks_ > 0) {
            log.add("tensor-parallel", where,
                    "threads of further tensor-parallel ranks are not shown: the first stands for its group",
                    other_tensor_ranks_);
        }
    }

    const RecognitionRule& rule_;
    const Trace& trace_;
    std::vector<std::int32_t> number_; ///< by name: its spelling
    std::vector<Spelled> spellings_;
    std::set<StringId> wanted_;
    StringId mirrored_ = 0;
    std::vector<std::int64_t> rank_of_file_;
    std::int64_t unlabelled_ = 0;
    std::int64_t other_tensor_ranks_ = 0;
    bool guessed_ = false;
    DiagnosticLog log_; ///< of no interest if the rule finds nothing
};

} // namespace

std::vector<RuleMatch> matchRule(const RecognitionRule& rule, const Trace& trace, DiagnosticLog& log) {
    return Matcher(rule, trace).match(log);
}

} // namespace bubblescope
