#pragma once

#include "core/base/result.h"
#include "core/schedule/action.h"
#include "core/schedule/schedule.h"

#include <filesystem>
#include <string>
#include <string_view>

namespace bubblescope {

/// The command line's schedule document: {"schedule","flavor","pp","microbatches","vpp","placement",
/// "ranks":[[["F",microbatch,chunk],…],…]}, one list per rank in execution order, one rank per line. If the sequence is
/// split, an entry ends with the slice's number; half of an overlapped pair ends with "o".
[[nodiscard]] std::string scheduleToJson(const Schedule& schedule);

/// Reads such a document. Errors (Input) name `where` and the JSON path of the offending entry. Sizes may be omitted if
/// the lists imply them. Does not check whether the order can run: see validate().
[[nodiscard]] Result<Schedule> scheduleFromJson(std::string_view text, const std::string& where);

/// PyTorch's schedule files: one line per rank, cells "<stage><F|B|I|W><micro-batch>" in execution order,
/// "(<cell>;<cell>)OVERLAP_F_B" for an overlapped pair. Optimizer ops have no cell and are omitted; a split sequence
/// cannot be written. Lines end with CR LF, as PyTorch's do.
[[nodiscard]] Result<std::string> scheduleToCsv(const Schedule& schedule);

/// Reads the ops of such a file. Empty cells (bubble slots) are skipped; all other actions must agree with the order,
/// as checkActions() requires. Stages are mapped to chunks by whichever placement, loop or V, fits the lines. Stricter
/// than PyTorch, which ignores the rest of a cell ("0F0x"), accepts ops without a micro-batch, and does not detect lost
/// transfers. Errors (Input) name `where`, line and column of the cell. Does not check whether the order can run: see
/// validate().
[[nodiscard]] Result<Schedule> scheduleFromCsv(std::string_view text, const std::string& where);

/// As above, for both formats, with all actions. The JSON document stores them under "lowered": a list of names per
/// rank, as in the CSV's cells.
[[nodiscard]] std::string scheduleToJson(const LoweredSchedule& lowered);
/// Errors: Usage for groups, which PyTorch's CSV does not have.
[[nodiscard]] Result<std::string> scheduleToCsv(const LoweredSchedule& lowered);

/// Read such files without checks, even if they contain only part of a step; checkActions() finds problems with the
/// actions. Errors: as for the ops alone.
[[nodiscard]] Result<LoweredSchedule> loweredFromJson(std::string_view text, const std::string& where);
[[nodiscard]] Result<LoweredSchedule> loweredFromCsv(std::string_view text, const std::string& where);
[[nodiscard]] Result<LoweredSchedule> readLoweredFile(const std::filesystem::path& file);

/// Reads a schedule document or PyTorch's CSV, detected by content. Errors: Input.
[[nodiscard]] Result<Schedule> readScheduleFile(const std::filesystem::path& file);

// Shared by the readers.

/// Rejects sizes that imply far more ops than a file's lists have, because validate() lists each missing op and a
/// mistyped number in a small file must not produce thousands. `slices` is the number of slices per sequence. Errors:
/// Input.
[[nodiscard]] Status checkSizes(const Schedule& schedule, int slices, const std::string& where);

} // namespace bubblescope
