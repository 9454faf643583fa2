#pragma once

#include "core/mcp/session.h"

#include <vector>

namespace bubblescope::cli {

/// The questions that `mcp` answers: open, answer, findings, whatif, diff, query, plan. Each answer is short, includes
/// its evidence, and ends with the command that reproduces it.
[[nodiscard]] std::vector<mcp::Tool> mcpTools();

} // namespace bubblescope::cli
