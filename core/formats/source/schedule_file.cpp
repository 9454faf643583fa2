#include "core/formats/source/schedule_file.h"

#include "core/base/field.h"

#include <algorithm>
#include <array>

namespace bubblescope {
namespace {

constexpr std::array<std::string_view, 11> kActions{"F",      "B",      "I",      "W",      "UNSHARD",    "RESHARD",
                                                    "SEND_F", "RECV_F", "SEND_B", "RECV_B", "REDUCE_GRAD"};

/// `<stage><action><micro-batch>`; for a pair, `(<cell>;<cell>)OVERLAP_F_B`, checks the first half.
bool isAction(std::string_view cell) {
    constexpr std::string_view kDigits = "0123456789";
    if (cell.starts_with('(')) cell = cell.substr(1, cell.find(';') - 1);
    const std::size_t letters = cell.find_first_not_of(kDigits);
    if (letters == 0 || letters == std::string_view::npos) return false;
    const std::size_t last = cell.find_last_not_of(kDigits);
    return std::ranges::find(kActions, cell.substr(letters, last + 1 - letters)) != kActions.end();
}

} // namespace

bool looksLikeScheduleCsv(std::string_view text) {
    constexpr std::string_view kSpace = " \t\r";
    text = text.substr(0, text.find('\n'));
    bool any = false;
    for (std::size_t at = 0; at <= text.size();) {
        const std::size_t comma = std::min(text.find(',', at), text.size());
        std::string_view cell = text.substr(at, comma - at);
        cell.remove_prefix(std::min(cell.find_first_not_of(kSpace), cell.size()));
        cell = cell.substr(0, cell.find_last_not_of(kSpace) + 1);
        at = comma + 1;
        if (cell.empty()) continue;
        // The beginning of a file may end inside a cell.
        if (!isAction(cell)) return any && comma == text.size();
        any = true;
    }
    return any;
}

Error scheduleError(const std::string& where) {
    return inputError(
        where, "is a schedule, not a trace: it has the order of ops, but no times",
        fmt::format("check it with 'validate FILE', draw it with 'schedule {}', or run it with 'simulate {}'",
                    optionOf(Field("schedule_file"), "FILE"), optionOf(Field("schedule_file"), "FILE")));
}

} // namespace bubblescope
