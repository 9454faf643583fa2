#pragma once

#include "app/gui/models/session.h"
#include "core/analysis/anomalies/anomaly.h"
#include "core/request/model_use_request.h"

#include <QString>

namespace bubblescope::gui {

/// Text forms of an item for the clipboard. Text is in the app's language; JSON uses the units of the command line's
/// output, with times in nanoseconds.

/// Title, facts and note, one per line. If necessary, makes the diagnosis of a bubble's step first, see
/// Session::diagnosis().
[[nodiscard]] QString copyAsText(const Session& session, const ItemRef& item);
/// An object with kind, name, rank, replica, step, start_ns (from the step's start), duration_ns, and the fields that
/// apply to the kind: op, microbatch, chunk, stage, position, payload, peer.
[[nodiscard]] QString copyAsJson(const Session& session, const ItemRef& item);

// Commands are quoted for a POSIX shell, and include the user's statements about the trace. Rules that the user taught
// follow as a here-document. Empty for a session without files.

/// The command that opens the trace and selects the item.
[[nodiscard]] QString copyAsCommand(const Session& session, const ItemRef& item);
/// The command that reports on the whole trace, with the same thresholds and `model`.
[[nodiscard]] QString commandThatAnalyzes(const Session& session, const ModelUseRequest& model);

/// As above for a finding; the command is the one that shows more about it.
[[nodiscard]] QString copyAsText(const Anomaly& anomaly);
[[nodiscard]] QString copyAsJson(const Anomaly& anomaly);
[[nodiscard]] QString copyAsCommand(const Session& session, const Anomaly& anomaly);

} // namespace bubblescope::gui
