#pragma once

#include "app/gui/models/session.h"
#include "core/analysis/anomalies/anomaly.h"
#include "core/request/model_use_request.h"

#include <QString>

namespace bubblescope::gui {

/// Descriptions of an item for the clipboard. Text is in the app's language; JSON uses the units of the command-line
/// tool, with times in nanoseconds.

/// Title, facts and note, one per line. For a bubble, first computes the diagnosis of its step if necessary; see
/// Session::diagnosis().
[[nodiscard]] QString copyAsText(const Session& session, const ItemRef& item);
/// A JSON object with kind, name, rank, replica, step, start_ns (from the start of the step), duration_ns, and the
/// fields for this kind of item: op, microbatch, chunk, stage, position, payload, peer.
[[nodiscard]] QString copyAsJson(const Session& session, const ItemRef& item);

// Commands are quoted for a POSIX shell and include the user's hints about the trace. Rules specified by the user are
// appended as a here-document. Empty for a session without files.

/// Command that opens the trace and selects the item.
[[nodiscard]] QString copyAsCommand(const Session& session, const ItemRef& item);
/// Command that analyses the complete trace with the app's thresholds and `model`.
[[nodiscard]] QString commandThatAnalyzes(const Session& session, const ModelUseRequest& model);

/// Like the functions above, for a finding. The command shows details of the finding.
[[nodiscard]] QString copyAsText(const Anomaly& anomaly);
[[nodiscard]] QString copyAsJson(const Anomaly& anomaly);
[[nodiscard]] QString copyAsCommand(const Session& session, const Anomaly& anomaly);

} // namespace bubblescope::gui
