#pragma once

#include "core/base/result.h"
#include "core/schedule/schedule.h"

#include <string>
#include <string_view>

namespace bubblescope {

/// PyTorch's schedule files: one line per rank, cells "<stage><F|B|I|W><micro-batch>" in execution order,
/// "(<cell>;<cell>)OVERLAP_F_B" for an overlapped pair. Optimizer ops have no cell and are left out, a
/// sequence split cannot be written. Lines end as PyTorch's do, with CR LF.
[[nodiscard]] Result<std::string> scheduleToCsv(const Schedule& schedule);

/// Reads such a file. Empty cells (bubble slots) and what concerns a rank's weights (UNSHARD, RESHARD, REDUCE_GRAD)
/// are passed over. What a rank sends and receives follows from the order; where the file has SEND and RECV cells
/// nevertheless, they must agree with it (csv_transfers.h). Stages become chunks by the
/// placement, loop or V, that the lines show. Stricter than PyTorch, which drops what follows a cell's
/// beginning ("0F0x"), takes ops without a micro-batch, and does not look for lost transfers. Errors (Input) name
/// `where`, line and column of the cell; whether the order makes sense is for validate() to say.
[[nodiscard]] Result<Schedule> scheduleFromCsv(std::string_view text, const std::string& where);

} // namespace bubblescope
