#include "core/report/results/digests.h"

#include "core/base/text.h"
#include "core/report/results/document_parts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace bubblescope::report {
namespace {

constexpr std::size_t kMaxDigestRows = 20; ///< in text

// ---- For people ----

void addDigestSide(Section& document, char name, const RecordedChecks& run) {
    document.line(fmt::format("{}: {}", name, filesText(run.files)));
    std::string text = "   ";
    if (run.info) {
        text += fmt::format("{}, {}", orderName(run.info->schedule, run.info->flavor),
                            sizesText(run.info->pp, run.info->microbatches, run.info->vpp));
        if (run.info->dp > 1) text += fmt::format(", {} replicas", run.info->dp);
        if (run.info->tp > 1) text += fmt::format(", {} tensor ranks", run.info->tp);
        text += ", ";
    }
    document.line(text + pluralize(run.log.digests.size(), "digest"));
}

/// "step 3, B2.1 of layer 5, input gradient", and which rank computed it in each run.
std::string digestPlace(const DigestDifference& difference) {
    const DigestRecord& a = difference.a;
    const DigestRecord& b = difference.b;
    const auto who = [](const DigestRecord& record) {
        std::string name = fmt::format("rank {}", record.rank.value);
        if (record.replica != 0) name += fmt::format(" of replica {}", record.replica);
        if (record.tensor_rank != 0) name += fmt::format(", tensor rank {}", record.tensor_rank);
        return name;
    };
    std::string out = fmt::format("step {}, {} of layer {}, {}: ", a.step, opName(a.op), a.layer, a.tensor);
    return out + fmt::format("{:016x} on {} in A, {:016x} on {} in B{}", a.digest, who(a), b.digest, who(b),
                             opName(a.op) == opName(b.op) ? "" : fmt::format(" (there {})", opName(b.op)));
}

std::string ranksText(const std::vector<Rank>& ranks) {
    std::vector<std::int32_t> numbers;
    for (const Rank rank : ranks)
        numbers.push_back(rank.value);
    return fmt::format("{}", fmt::join(numbers, ", "));
}

Section spreadSection(const DigestComparison& result) {
    Section section;
    section.heading = "Where the difference spread";
    Table table({}, {shown("step"), shown("part", Align::Left), shown("differ"), shown("of"), shown("layers"),
                     shown("micro-batches"), shown("ranks in A", Align::Left), shown("in B", Align::Left)});
    table.most_in_text = kMaxDigestRows;
    for (const DigestSpread& row : result.spread) {
        if (row.differing == 0) continue;
        table.row(row.step, digestPhaseName(row.phase), row.differing, row.compared,
                  row.first_layer == row.last_layer ? fmt::format("{}", row.first_layer)
                                                    : fmt::format("{}–{}", row.first_layer, row.last_layer),
                  row.microbatches, ranksText(row.ranks_a), ranksText(row.ranks_b));
    }
    section.add(std::move(table));
    return section;
}

void addDifferences(Section& document, const DigestComparison& result) {
    document.paragraph("First difference: ", digestPlace(result.roots.front()));
    const std::int64_t explained = result.differing - result.root_count;
    if (result.root_count == 1) {
        document.line(explained == 0 ? std::string("  This is the only difference.")
                                     : fmt::format("  The other {} all result from it.", explained));
    } else {
        document.line(
            fmt::format("  {} differences are independent; {} result from them.", result.root_count, explained));
    }
    for (std::size_t i = 1; i < std::min(kMaxDigestRows, result.roots.size()); ++i)
        document.paragraph("  also: ", digestPlace(result.roots[i]));
    document.add(spreadSection(result));
}

void addDigestsForPeople(Section& document, const RecordedChecks& a, const RecordedChecks& b,
                         const DigestComparison& result) {
    addDigestSide(document, 'A', a);
    addDigestSide(document, 'B', b);
    document.line(
        fmt::format("\n{} compared in {}: {}", pluralize(static_cast<std::size_t>(result.compared), "digest"),
                    pluralize(static_cast<std::size_t>(result.steps), "step"),
                    result.differing == 0 ? std::string("all are equal") : fmt::format("{} differ", result.differing)));
    if (result.differing > 0) addDifferences(document, result);
    if (!result.caveats.empty()) {
        document.line(result.equal_before_optimizer ? "\nEqual bits are expected only up to the first optimizer step"
                                                    : "\nEqual bits are not expected");
        for (const std::string& caveat : result.caveats)
            document.paragraph("  ", caveat + ".");
        if (result.unexpected()) document.line("  The first difference is earlier.");
    }
    if (result.only_a + result.only_b > 0) {
        document.line(fmt::format("\nNot compared: {} only in A, {} only in B.", result.only_a, result.only_b));
    }
    if (result.contradictory > 0) {
        document.line(fmt::format("\nNot compared: {} with different digests within one run.", result.contradictory));
    }
}

// ---- For programs ----

Value recordOf(const DigestRecord& record) {
    return Value::Object{{"rank", record.rank},
                         {"replica", record.replica},
                         {"tensor_rank", record.tensor_rank},
                         {"op", opName(record.op)},
                         {"digest", fmt::format("{:016x}", record.digest)},
                         {"time_ns", record.time}};
}

Section digestSide(std::string key, const RecordedChecks& run) {
    Section side;
    side.key = std::move(key);
    side.data("files", filesOf(run.files));
    side.data("digests", run.log.digests.size());
    side.add(problemsTable(run.problems, Reader::Programs));
    if (!run.info) return side;
    addOrder(side, *run.info);
    side.data("dp", run.info->dp);
    side.data("tp", run.info->tp);
    return side;
}

Value rootOf(const DigestDifference& root) {
    return Value::Object{{"step", root.a.step},
                         {"layer", root.a.layer},
                         {"tensor", root.a.tensor},
                         {"a", recordOf(root.a)},
                         {"b", recordOf(root.b)}};
}

Table spreadRows(const DigestComparison& result) {
    Table table("spread", {data("step"), data("part"), data("compared"), data("differing"), data("layers"),
                           data("microbatches"), data("ranks_a"), data("ranks_b")});
    for (const DigestSpread& row : result.spread) {
        table.row(row.step, digestPhaseName(row.phase), row.compared, row.differing);
        std::vector<Cell>& cells = table.rows.back();
        if (row.differing == 0) {
            cells.resize(table.columns.size(), absent());
            continue;
        }
        cells.emplace_back(Value::List{row.first_layer, row.last_layer});
        cells.emplace_back(row.microbatches);
        cells.emplace_back(row.ranks_a);
        cells.emplace_back(row.ranks_b);
    }
    return table;
}

void addDigestsForPrograms(Section& document, const RecordedChecks& a, const RecordedChecks& b,
                           const DigestComparison& result) {
    document.add(digestSide("a", a));
    document.add(digestSide("b", b));
    document.data("equal", result.differing == 0);
    document.data("compared", result.compared);
    document.data("steps", result.steps);
    document.data("differing", result.differing);
    document.data("only_a", result.only_a);
    document.data("only_b", result.only_b);
    document.data("contradictory", result.contradictory);
    document.data("first", result.roots.empty() ? Value() : rootOf(result.roots.front()));
    document.data("independent", result.root_count);
    Value::List roots;
    for (const DigestDifference& root : result.roots)
        roots.push_back(rootOf(root));
    document.data("roots", std::move(roots));
    document.data("explained", result.differing - result.root_count);
    document.add(spreadRows(result));
    document.data("expected_equal", result.caveats.empty()          ? "everywhere"
                                    : result.equal_before_optimizer ? "before the first optimizer step"
                                                                    : "nowhere");
    document.data("caveats", result.caveats);
    document.data("unexpected", result.unexpected());
}

} // namespace

Document digestsDocument(const RecordedChecks& a, const RecordedChecks& b, const DigestComparison& result,
                         Reader reader) {
    Document document;
    if (reader == Reader::Programs)
        addDigestsForPrograms(document, a, b, result);
    else
        addDigestsForPeople(document, a, b, result);
    return document;
}

} // namespace bubblescope::report
