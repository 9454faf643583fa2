#pragma once

#include "app/gui/models/session.h"
#include "core/analysis/anomalies/anomaly.h"

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
/// The command that opens the trace and selects the item, quoted for a POSIX shell.
[[nodiscard]] QString copyAsCommand(const Session& session, const ItemRef& item);

/// The command that reports on the whole trace, including the user's statements about it.
[[nodiscard]] QString commandThatAnalyzes(const Session& session, const Taught& taught);

/// As above for a finding; the command is the one that shows more about it.
[[nodiscard]] QString copyAsText(const Anomaly& anomaly);
[[nodiscard]] QString copyAsJson(const Anomaly& anomaly);
[[nodiscard]] QString copyAsCommand(const Session& session, const Anomaly& anomaly);

} // namespace bubblescope::gui
