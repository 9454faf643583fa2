#pragma once

#include "core/recognise/compute_blocks.h"
#include "core/recognise/found_ops.h"
#include "core/recognise/infer_ops.h"
#include "core/recognise/profiler_marks.h"
#include "core/recognise/rule_matches.h"
#include "core/recognise/share_wire.h"
#include "core/recognise/trace_share.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// What recognition asks of the shares of a trace (see trace_share.h).
namespace bubblescope {

/// Ops and transfers as our own files tell them.
struct NativeMarksOf {
    static constexpr std::string_view kName = "own marks";
    using Answer = NativeMarks;
    [[nodiscard]] Result<Answer> answer(TraceShare& share) const { return nativeMarks(share); }
};

/// What a rule's names match.
struct RuleFindsOf {
    static constexpr std::string_view kName = "rule";
    using Answer = RuleFinds;
    std::size_t rule = 0; ///< number of TraceShare::rule()
    [[nodiscard]] Result<Answer> answer(TraceShare& share) const { return findByRule(share.rule(rule), share); }
};

struct ProfilerMarksOf {
    static constexpr std::string_view kName = "profiler marks";
    using Answer = std::vector<ProfilerMarks>; ///< by file
    [[nodiscard]] Result<Answer> answer(TraceShare& share) const { return profilerMarks(share.trace()); }
};

/// Blocks of the files that transferred something.
struct BlocksOf {
    static constexpr std::string_view kName = "blocks";
    using Answer = std::vector<RankBlocks>;
    [[nodiscard]] Result<Answer> answer(TraceShare& share) const { return blocksOfFiles(share); }
};

/// How many slices of each category there are.
struct CategoriesOf {
    static constexpr std::string_view kName = "categories";
    using Answer = std::vector<std::pair<std::string, std::size_t>>;
    [[nodiscard]] Result<Answer> answer(TraceShare& share) const;
};

template <class Wire>
void fields(Wire& wire, RuleFindsOf& value) {
    wire(value.rule);
}
template <class Wire, class Question>
requires std::is_empty_v<Question> && requires {
    Question::kName;
}
void fields(Wire&, Question&) {}

} // namespace bubblescope
