#pragma once

#include "app/gui/models/session.h"
#include "core/analysis/anomalies/anomaly.h"

#include <QString>

namespace bubblescope::gui {

/// An item for the clipboard. Texts are in the app's language; JSON has the units of the command line's output, and
/// times count in nanoseconds.

/// Title, facts and note, one per line. Makes the diagnosis of a bubble's step first if need be, see
/// Session::diagnosis().
[[nodiscard]] QString copyAsText(const Session& session, const ItemRef& item);
/// An object with kind, name, rank, replica, step, start_ns (from the step's begin), duration_ns, and what the kind
/// has: op, microbatch, chunk, stage, position, payload, peer.
[[nodiscard]] QString copyAsJson(const Session& session, const ItemRef& item);
/// The command that opens the trace and selects the item, quoted for a POSIX shell.
[[nodiscard]] QString copyAsCommand(const Session& session, const ItemRef& item);

/// The command that reports on the whole trace, with what the user states about it.
[[nodiscard]] QString commandThatAnalyzes(const Session& session, const Taught& taught);

/// The same for a finding; the command is that of the command line which shows more about it.
[[nodiscard]] QString copyAsText(const Anomaly& anomaly);
[[nodiscard]] QString copyAsJson(const Anomaly& anomaly);
[[nodiscard]] QString copyAsCommand(const Session& session, const Anomaly& anomaly);

} // namespace bubblescope::gui
