#pragma once

#include "core/base/result.h"
#include "core/schedule/schedule.h"

#include <filesystem>
#include <string>
#include <string_view>

namespace bubblescope {

/// The command line's schedule document: {"schedule","flavor","pp","microbatches","vpp","placement",
/// "ranks":[[["F",microbatch,chunk],…],…]}, one list per rank in execution order, one rank a line. Where the
/// sequence is split an entry ends with the slice's number; half of an overlapped pair ends with "o".
[[nodiscard]] std::string scheduleToJson(const Schedule& schedule);

/// Reads such a document. Errors (Input) name `where` and the JSON path of the entry at fault. Sizes may
/// be left out where the lists give them; whether the order makes sense is for validate() to say.
[[nodiscard]] Result<Schedule> scheduleFromJson(std::string_view text, const std::string& where);

/// A schedule document or PyTorch's CSV, told apart by content.
[[nodiscard]] Result<Schedule> readScheduleFile(const std::filesystem::path& file);

} // namespace bubblescope
