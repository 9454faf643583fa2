#include "core/recognise/rule_by_example.h"

#include "core/base/text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace bubblescope {
namespace {

/// A field that an example gives, and whether a place for it has been found.
struct Wanted {
    RuleField field;
    std::int64_t value = 0;
    bool found = false;
};

bool isSpecial(char c) {
    return std::string_view("{}[]*\\").find(c) != std::string_view::npos;
}

/// The name as a pattern: matching numbers become fields, others any text.
std::string patternFrom(std::string_view name, std::vector<Wanted>& wanted) {
    std::string out;
    while (!name.empty()) {
        if (const auto number = takeNumber(name)) {
            const auto field = std::find_if(wanted.begin(), wanted.end(),
                                            [&](const Wanted& one) { return !one.found && one.value == *number; });
            if (field != wanted.end()) {
                field->found = true;
                out += fmt::format("{{{}}}", kRuleFieldNames[static_cast<std::size_t>(field->field)]);
            } else if (!out.ends_with('*')) {
                out += '*';
            }
            continue;
        }
        if (isDigit(name.front())) { // a number too large to be a field
            while (!name.empty() && isDigit(name.front()))
                name.remove_prefix(1);
            if (!out.ends_with('*')) out += '*';
            continue;
        }
        if (isSpecial(name.front())) out += '\\';
        out += name.front();
        name.remove_prefix(1);
    }
    return out;
}

std::string_view rankWord(RankSource source) {
    switch (source) {
    case RankSource::File: return "file";
    case RankSource::Process: return "process";
    case RankSource::Processes: return "processes";
    case RankSource::Thread: return "thread";
    case RankSource::Names: break;
    }
    return "names";
}

} // namespace

Result<TaughtOp> opByExample(const OpExample& example) {
    std::vector<Wanted> wanted;
    if (example.kind != OpKind::Optimizer) wanted.push_back({RuleField::MicrobatchId, example.microbatch});
    if (example.chunk) wanted.push_back({RuleField::ChunkId, *example.chunk});
    if (example.stage) wanted.push_back({RuleField::StageId, *example.stage});
    TaughtOp op;
    op.kind = example.kind;
    op.pattern = patternFrom(example.name, wanted);
    for (const Wanted& one : wanted) {
        if (one.found) continue;
        const auto arg = example.arg_with ? example.arg_with(one.value) : std::nullopt;
        const std::string_view field = kRuleFieldNames[static_cast<std::size_t>(one.field)];
        if (!arg) {
            return usageError(fmt::format("neither the name '{}' nor its arguments contain the {} {}", example.name,
                                          field, one.value),
                              "choose a slice whose name or arguments contain that number, or correct the number");
        }
        op.args[static_cast<std::size_t>(one.field)] = *arg;
    }
    return op;
}

std::string rulesDocument(const TaughtRule& rule) {
    using Json = nlohmann::ordered_json;
    Json entry{{"name", rule.name}};
    Json ops = Json::array();
    Json args = Json::object();
    for (const TaughtOp& op : rule.ops) {
        ops.push_back({{"name", op.pattern}, {"kind", std::string(1, opLetter(op.kind))}});
        for (std::size_t field = 0; field < op.args.size(); ++field) {
            if (!op.args[field].empty()) args[std::string(kRuleFieldNames[field])] = op.args[field];
        }
    }
    entry["ops"] = std::move(ops);
    if (!args.empty()) entry["args"] = std::move(args);
    entry["rank"] = rankWord(rule.rank);
    if (rule.one_stage_per_rank) entry["one_stage_a_rank"] = true;
    return Json{{"rules", Json::array({std::move(entry)})}}.dump(2) + "\n";
}

Result<TaughtMatches> matchesOf(const TaughtOp& op, const Trace& trace, const JobControl& control) {
    BUBBLESCOPE_ASSIGN(const NamePattern pattern, NamePattern::parse(op.pattern, "pattern"));
    const std::string& arg = op.args[static_cast<std::size_t>(RuleField::MicrobatchId)];
    std::map<StringId, std::optional<NameParts>> names;
    std::set<TrackId> tracks;
    TaughtMatches out;
    bool counted = false;
    StopCheck stop(control);
    for (SliceId slice = 0; slice < trace.sliceCount(); ++slice) {
        if (stop.requested()) return cancelledError();
        const StringId name = trace.sliceNames()[slice];
        auto known = names.find(name);
        if (known == names.end()) known = names.emplace(name, pattern.match(trace.text(name))).first;
        if (!known->second) continue;
        std::optional<std::int64_t> microbatch = known->second->get(RuleField::MicrobatchId);
        if (!arg.empty()) microbatch = trace.intArg(trace.sliceArgs()[slice], arg);
        if (!microbatch && op.kind != OpKind::Optimizer) continue;
        out.slices.push_back(slice);
        tracks.insert(trace.sliceTracks()[slice]);
        if (!microbatch) continue;
        out.first_microbatch = counted ? std::min(out.first_microbatch, *microbatch) : *microbatch;
        out.last_microbatch = counted ? std::max(out.last_microbatch, *microbatch) : *microbatch;
        counted = true;
    }
    out.tracks = tracks.size();
    return out;
}

RankSource likelyRankSource(const std::vector<TaughtMatches>& matches, const Trace& trace) {
    std::set<std::uint32_t> files;
    std::set<std::pair<std::int64_t, StringId>> processes;
    std::set<TrackId> tracks;
    for (const TaughtMatches& of_op : matches) {
        for (const SliceId slice : of_op.slices) {
            const TrackId id = trace.sliceTracks()[slice];
            if (!tracks.insert(id).second) continue;
            const Track& track = trace.tracks()[id];
            files.insert(track.file);
            processes.emplace(track.pid, track.pid == 0 ? track.process_name : 0);
        }
    }
    if (files.size() > 1) return RankSource::File;
    if (processes.size() > 1) return RankSource::Processes;
    return tracks.size() > 1 ? RankSource::Thread : RankSource::File;
}

} // namespace bubblescope
