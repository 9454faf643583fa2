#pragma once

#include "core/base/result.h"
#include "core/schedule/action.h"
#include "core/schedule/schedule.h"

#include <filesystem>
#include <string>
#include <string_view>

namespace bubblescope {

/// Schedule document of the command line: {"schedule","flavor","pp","microbatches","vpp","placement",
/// "ranks":[[["F",microbatch,chunk],…],…]}, with one list per rank in execution order and one rank per line. If
/// sequences are split, an entry ends with the slice number; the halves of overlapped pairs end with "o".
[[nodiscard]] std::string scheduleToJson(const Schedule& schedule);

/// Parses such a document. Errors: Input, with `where` and the JSON path of the invalid entry. Sizes may be omitted if
/// they follow from the lists. Does not check whether the order can run; see validate().
[[nodiscard]] Result<Schedule> scheduleFromJson(std::string_view text, const std::string& where);

/// Writes PyTorch's schedule files: one line per rank, with cells "<stage><F|B|I|W><micro-batch>" in execution order,
/// and "(<cell>;<cell>)OVERLAP_F_B" for an overlapped pair. Optimizer ops have no cell and are omitted; split sequences
/// cannot be represented. Lines end with CR LF, as in files written by PyTorch.
[[nodiscard]] Result<std::string> scheduleToCsv(const Schedule& schedule);

/// Parses the ops of such a file. Empty cells (bubble slots) are skipped; all other actions must be consistent with the
/// order, as required by checkActions(). Stages are mapped to chunks with the placement that fits the lines, either
/// loop or V. Stricter than PyTorch, which ignores the rest of a cell ("0F0x"), accepts ops without a micro-batch, and
/// does not detect missing transfers. Errors: Input, with `where`, line and column of the cell. Does not check whether
/// the order can run; see validate().
[[nodiscard]] Result<Schedule> scheduleFromCsv(std::string_view text, const std::string& where);

/// As above for both formats, but with all actions. The JSON document contains the actions under "lowered", as a list
/// of names per rank, as in the CSV's cells.
[[nodiscard]] std::string scheduleToJson(const LoweredSchedule& lowered);
/// Errors: Usage for groups, which PyTorch's CSV cannot represent.
[[nodiscard]] Result<std::string> scheduleToCsv(const LoweredSchedule& lowered);

/// Parses such files without checks, even if they contain only part of a step; checkActions() reports problems with the
/// actions. Errors: those for files with only ops.
[[nodiscard]] Result<LoweredSchedule> loweredFromJson(std::string_view text, const std::string& where);
[[nodiscard]] Result<LoweredSchedule> loweredFromCsv(std::string_view text, const std::string& where);
[[nodiscard]] Result<LoweredSchedule> readLoweredFile(const std::filesystem::path& file);

/// Reads a schedule document or PyTorch's CSV; the format is detected from the content. Errors: Input.
[[nodiscard]] Result<Schedule> readScheduleFile(const std::filesystem::path& file);

// Shared by the readers.

/// Rejects sizes that imply many more ops than a file contains. Otherwise, a mistyped number in a small file
/// would make validate() list thousands of missing ops. `slices` is the number of slices per sequence. Errors:
/// Input.
[[nodiscard]] Status checkSizes(const Schedule& schedule, int slices, const std::string& where);

} // namespace bubblescope
