#include "app/cli/svg_options.h"

#include "core/base/text.h"
#include "core/formats/source/replacing_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace bubblescope::cli {
namespace {

Result<int> parseRank(std::string_view text, std::string_view list) {
    if (const auto rank = parseNumber<int>(text); rank && *rank >= 0) return *rank;
    return usageError(fmt::format("--svg-ranks: '{}' is not a list of ranks", list),
                      "write ranks and ranges, such as 0,2,4-7");
}

/// "3" or "4-7".
Status addRanks(std::string_view text, std::vector<Rank>& ranks) {
    constexpr int kMaxRanks = 1 << 20; // far more than in any drawing; prevents a typing error from exhausting memory
    const auto dash = text.find('-');
    BUBBLESCOPE_ASSIGN(const int first, parseRank(text.substr(0, dash), text));
    int last = first;
    if (dash != std::string_view::npos) {
        BUBBLESCOPE_ASSIGN(last, parseRank(text.substr(dash + 1), text));
    }
    if (last < first || last >= kMaxRanks)
        return usageError(fmt::format("--svg-ranks: '{}' is an empty range", text), "write the lower rank first");
    for (int rank = first; rank <= last; ++rank)
        ranks.push_back(Rank{rank});
    return {};
}

/// "0,2,4-7".
Result<std::vector<Rank>> parseRanks(std::string_view text) {
    std::vector<Rank> ranks;
    while (!text.empty()) {
        const std::string_view part = text.substr(0, text.find(','));
        text.remove_prefix(std::min(part.size() + 1, text.size()));
        BUBBLESCOPE_TRY(addRanks(part, ranks));
    }
    return ranks;
}

} // namespace

void SvgOptions::add(Command command) {
    const std::string group = "Drawing";
    const Option file =
        command.addOutput("--svg", file_, OutputKind::File, "Draw the timeline as an SVG file", {".svg"})
            .typeName("FILE")
            .group(group);
    command.addParsedList("--svg-ranks", drawing_.ranks, parseRanks, "Draw only these ranks, such as 0,2,4-7")
        .typeName("LIST")
        .delimiter(',')
        .needs(file)
        .group(group)
        .rare();
    command.addParsed("--svg-from", drawing_.from, parseTime, "Start the drawing this far into the step (0)")
        .typeName("TIME")
        .needs(file)
        .group(group)
        .rare();
    command
        .addParsed("--svg-to", drawing_.to, parseTime, "End the drawing this far into the step (default: at its end)")
        .typeName("TIME")
        .needs(file)
        .group(group)
        .rare();
    command.addOption("--svg-width", drawing_.width, "Width of the drawing in pixels (900)")
        .typeName("PIXELS")
        .range(200, 20000)
        .needs(file)
        .group(group)
        .rare();
    command.addFlag("--svg-consolidated", consolidated_, "Also draw the consolidated step")
        .needs(file)
        .group(group)
        .rare();
}

Status SvgOptions::write(std::span<const report::Drawn> drawn) const {
    if (!wanted()) return {};
    BUBBLESCOPE_ASSIGN(const std::string text, report::drawSteps(drawn, drawing_, consolidated_));
    ReplacingFile file(file_);
    file.write(text);
    BUBBLESCOPE_TRY(file.commit());
    fmt::print(stderr, "Drawing written to {}\n", file_);
    return {};
}

} // namespace bubblescope::cli
