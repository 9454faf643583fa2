#include "core/analysis/accounting/notes.h"

namespace bubblescope {

std::vector<Sentence> accountingNotes(const StepAccounting& account) {
    std::vector<Sentence> notes;
    if (account.estimated_transfers > 0) {
        notes.push_back(
            say("{} of {} transfers are not recorded: they count with the shortest lag on their way, the rest is late",
                account.estimated_transfers, account.estimated_transfers + account.recorded_transfers));
    }
    if (!account.planned_order)
        notes.push_back(say("the step's ops are not those of the schedule; its own order counts as planned"));
    if (account.early_starts > 0) {
        notes.push_back(say("{} ops began before their input was there, by the record: clocks or records err",
                            account.early_starts));
    }
    return notes;
}

} // namespace bubblescope
