#include "core/recognise/trace_shares.h"

#include "core/formats/source/dangling_flows.h"
#include "core/recognise/native_checks.h"
#include "core/recognise/questions.h"
#include "core/recognise/share_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace bubblescope {
namespace {

struct ReadShare {
    static constexpr std::string_view kName = "read";
    using Answer = TraceShare::Outcome;
    std::vector<InputFile> files;
    std::vector<std::size_t> begins; ///< each share's first file

    [[nodiscard]] Result<Answer> answer(TraceShare& share) const {
        const std::size_t begin = begins[share.number()];
        const std::size_t count = begins[share.number() + 1] - begin;
        return share.read(std::span(files).subspan(begin, count), static_cast<std::uint32_t>(begin));
    }
};

struct FinishedShare {
    std::vector<Diagnostic> problems;
    FlowEnds flows;
    std::size_t slices = 0;
};

struct FinishShare {
    static constexpr std::string_view kName = "finish";
    using Answer = FinishedShare;
    TraceExtent extent;

    [[nodiscard]] Result<Answer> answer(TraceShare& share) const {
        FinishedShare finished;
        BUBBLESCOPE_ASSIGN(finished.problems, share.finish(extent));
        finished.flows = flowEnds(share.trace(), share.firstFile());
        finished.slices = share.trace().sliceCount();
        return finished;
    }
};

template <class Wire>
void fields(Wire& wire, ReadShare& value) {
    auto& [files, begins] = value;
    wire(files, begins);
}
template <class Wire>
void fields(Wire& wire, FinishShare& value) {
    auto& [extent] = value;
    wire(extent);
}
template <class Wire>
void fields(Wire& wire, FinishedShare& value) {
    auto& [problems, flows, slices] = value;
    wire(problems, flows, slices);
}

void logAll(std::vector<Diagnostic> problems, DiagnosticLog& log) {
    for (Diagnostic& entry : problems)
        log.add(std::move(entry.kind), std::move(entry.where), std::move(entry.message), entry.count);
}

} // namespace

Result<std::shared_ptr<TraceShares>> TraceShares::read(const std::vector<std::filesystem::path>& paths,
                                                       JobControl& control, std::span<const RecognitionRule> own_rules,
                                                       Coordinator* lead, DiagnosticLog& log) {
    std::shared_ptr<TraceShares> shares(new TraceShares(own_rules, control, lead));
    ReadShare read;
    BUBBLESCOPE_ASSIGN(read.files, findTraceFiles(paths));
    read.begins = shareFiles(read.files, lead == nullptr ? 1 : lead->size());
    BUBBLESCOPE_ASSIGN(std::vector<TraceShare::Outcome> outcomes, shares->ask(read));

    std::vector<FileOutcome> of_files;
    std::vector<Diagnostic> later;
    FinishShare finish;
    for (TraceShare::Outcome& outcome : outcomes) {
        std::ranges::move(outcome.files, std::back_inserter(of_files));
        std::ranges::move(outcome.read, std::back_inserter(shares->files_));
        std::ranges::move(outcome.problems, std::back_inserter(later));
        finish.extent.include(outcome.extent);
    }
    BUBBLESCOPE_TRY(judgeFiles(read.files, std::move(of_files), log));
    logAll(std::move(later), log);
    if (control.stopRequested()) return cancelledError();

    BUBBLESCOPE_ASSIGN(std::vector<FinishedShare> finished, shares->ask(finish));
    std::vector<FlowEnds> flows;
    for (FinishedShare& share : finished) {
        logAll(std::move(share.problems), log);
        flows.push_back(std::move(share.flows));
        shares->slices_ += share.slices;
    }
    noteDanglingFlows(std::move(flows), shares->files_, log);
    if (control.stopRequested()) return cancelledError();
    if (!finish.extent.empty()) shares->span_ = finish.extent.last - finish.extent.first;
    return shares;
}

void addLoadResponders(ShareResponders& table) {
    addResponders<ReadShare, FinishShare, NativeMarksOf, RuleFindsOf, ProfilerMarksOf, BlocksOf, CategoriesOf,
                  NativeChecksOf>(table);
}

Status serveShare(ProcessTeam& team, std::span<const RecognitionRule> own_rules, const ShareResponders& responders) {
    JobControl control;
    TraceShare share(static_cast<std::size_t>(team.rank()), own_rules, control);
    return Coordinator::serve(team, [&](std::string_view bytes) -> Result<std::string> {
        WireReader in(bytes);
        std::string name;
        in(name);
        const auto known = responders.find(name);
        if (known == responders.end())
            return runError(fmt::format("a process was asked what it does not know: {}", name));
        return known->second(share, in);
    });
}

} // namespace bubblescope
