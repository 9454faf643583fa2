#include "core/report/results/memory_use.h"

#include "core/base/bytes.h"
#include "core/base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace bubblescope::report {
namespace {

std::int64_t bytesOf(double bytes) {
    return static_cast<std::int64_t>(std::llround(bytes));
}

std::string partsOf(const RankMemoryUse& rank, const MemoryLine& line) {
    const double rest = rank.peak - rank.held * line.per_forward;
    return fmt::format("{} × {} + {}", rank.held, formatBytes(bytesOf(line.per_forward)), formatBytes(bytesOf(rest)));
}

Section memoryData(const MemoryUse& use) {
    Section section;
    section.key = "memory";
    Value::List ranks;
    for (const RankMemoryUse& rank : use.ranks) {
        ranks.push_back(Value::Object{{"replica", rank.replica},
                                      {"rank", rank.rank.value},
                                      {"peak_bytes", bytesOf(rank.peak)},
                                      {"highest_bytes", bytesOf(rank.highest)},
                                      {"peak_op", rank.at ? Value(opName(*rank.at)) : Value()},
                                      {"held_forwards", rank.held},
                                      {"reserved", rank.reserved}});
    }
    section.data("ranks", std::move(ranks));
    section.data("per_forward_bytes", use.line ? Value(bytesOf(use.line->per_forward)) : Value());
    section.data("fixed_bytes", use.line ? Value(bytesOf(use.line->fixed)) : Value());
    section.data("worst_error", use.line ? Value(use.line->worst) : Value());
    return section;
}

} // namespace

Section memoryUseSection(const MemoryUse& use, Reader reader) {
    if (use.ranks.empty()) return {};
    if (reader == Reader::Programs) return memoryData(use);
    Section section;
    section.heading = "Memory";
    section.note = "Recorded peaks: the median over steps, and the maximum.";
    Table table({}, {shown("rank"), shown("peak"), shown("highest"), shown("at", Align::Left),
                     shown("forwards held at most"), shown("made up of", Align::Left)});
    table.columns[3].hidden =
        std::ranges::none_of(use.ranks, [](const RankMemoryUse& rank) { return rank.at.has_value(); });
    table.columns[5].hidden = !use.line;
    constexpr std::size_t kMostRows = 64;
    table.most_in_text = kMostRows;
    for (const RankMemoryUse& rank : use.ranks) {
        table.row(rank.replica == 0 ? Cell(rank.rank) : Cell(fmt::format("{}/{}", rank.replica, rank.rank.value)),
                  Cell(bytesOf(rank.peak), Look::Bytes), Cell(bytesOf(rank.highest), Look::Bytes),
                  rank.at ? fmt::format("{}{}", rank.before ? "before " : "", opName(*rank.at)) : "", rank.held,
                  use.line ? partsOf(rank, *use.line) : "");
    }
    section.add(std::move(table));
    if (std::ranges::any_of(use.ranks, &RankMemoryUse::reserved))
        section.line("Peaks are memory reserved from CUDA, including unused memory in the framework's cache.");
    if (use.line) {
        section.line(fmt::format("Each forward whose activations are held takes {}; everything else takes {}. Peaks "
                                 "deviate from this by at most {}.",
                                 formatBytes(bytesOf(use.line->per_forward)), formatBytes(bytesOf(use.line->fixed)),
                                 formatPercent(use.line->worst)));
    }
    return section;
}

} // namespace bubblescope::report
