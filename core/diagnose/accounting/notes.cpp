#include "core/diagnose/accounting/notes.h"

#include <fmt/format.h>

namespace bubblescope {

std::vector<std::string> accountingNotes(const StepAccounting& account) {
    std::vector<std::string> notes;
    if (account.estimated_transfers > 0) {
        notes.push_back(fmt::format(
            "{} of {} transfers are not recorded: they count with the shortest lag on their way, the rest is late",
            account.estimated_transfers, account.estimated_transfers + account.recorded_transfers));
    }
    if (!account.planned_order)
        notes.emplace_back("the step's ops are not those of the schedule; its own order counts as planned");
    if (account.early_starts > 0) {
        notes.push_back(fmt::format("{} ops began before their input was there, by the record: clocks or records err",
                                    account.early_starts));
    }
    return notes;
}

} // namespace bubblescope
