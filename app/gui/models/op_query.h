#pragma once

#include "app/gui/models/rows.h"
#include "core/base/time.h"
#include "core/schedule/op.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bubblescope::gui {

/// Kinds of items that a query can search for.
enum class QueryKind : std::uint8_t {
    Forward,
    Backward, ///< complete backward, not split into I and W
    BackwardInput,
    BackwardWeight,
    Optimizer,
    Bubble,
    Send,
    Receive,
    Wait,
    Collective,
    Check,
    Slice, ///< an item of the raw trace, such as a kernel or a host function
};

/// A condition on the items of a trace. An empty list accepts all items.
struct OpQuery {
    std::uint32_t kinds = 0; ///< one bit per QueryKind; 0 = ops, or slices if there are `words`
    std::optional<Op> op;    ///< exactly this op, on any rank and in any step
    std::vector<RowFilter::Span> rank;
    std::vector<RowFilter::Span> step; ///< ranges of numbers; see RowFilter
    std::vector<RowFilter::Span> replica;
    std::vector<RowFilter::Span> stage;
    std::vector<RowFilter::Span> microbatch;
    std::vector<RowFilter::Span> chunk;
    /// Inclusive limits for the duration, and for the start relative to the start of the step.
    TimeNs shortest{0};
    TimeNs longest{TimeNs::max()};
    TimeNs earliest{TimeNs::min()};
    TimeNs latest{TimeNs::max()};
    std::vector<std::string> words; ///< parts of a slice's name in lower case, all of which must occur

    [[nodiscard]] bool wants(QueryKind kind) const { return (kinds >> static_cast<unsigned>(kind) & 1U) != 0; }
};

/// True if the text is a query, that is, contains a condition such as "rank=3" or starts with a kind such as "B" or
/// "bubble". Any other text is a name to search for.
[[nodiscard]] bool looksLikeQuery(std::string_view text);

/// Scope of a query. Slices is for traces without a pipeline; words such as "wait" are then parts of names.
enum class QueryScope : std::uint8_t { All, Slices };

/// Parses conditions separated by spaces; an item must meet all of them:
///   F, B (whole, or for the input), I, W, O, op, bubble, send, receive, wait, collective, check, kernel
///   F3.1                                         one op
///   rank=, step=, replica=, stage=, mb=, chunk=  numbers: "3", "0-3,7"
///   dur, start with <, <=, > or >=               a time: "20ms"; start is relative to the start of the step
///   name=TEXT, or a word on its own              a part of a slice's name
/// Several kinds are combined: "send receive". Case does not matter. Errors: Usage, naming the invalid word.
[[nodiscard]] Result<OpQuery> parseOpQuery(std::string_view text, QueryScope scope = QueryScope::All);

[[nodiscard]] bool accepts(const std::vector<RowFilter::Span>& spans, int number);

} // namespace bubblescope::gui
