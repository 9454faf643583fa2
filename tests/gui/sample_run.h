#pragma once

#include "app/gui/models/session.h"
#include "app/gui/timeline/geometry.h"
#include "core/families/registry.h"

#include <QWidget>

namespace bubblescope::gui {

/// A run of consecutive simulated steps with a gap between them, as from a loader.
struct SampleSpec {
    ScheduleSpec schedule{"1f1b", "", 4, 8, 1};
    int steps = 3;
    TimeNs forward{std::chrono::milliseconds(5)};
    TimeNs backward{std::chrono::milliseconds(10)};
    TimeNs comm{0};
    bool trace = false;                        ///< with raw slices: a host thread and a stream for each rank
    bool nested = false;                       ///< the thread's slices hold others, three deep
    TimeNs gap{std::chrono::milliseconds(20)}; ///< between steps; an optimizer op of half that length follows each step
};

[[nodiscard]] Run sampleRun(const SampleSpec& spec = {});
/// Writes it as a trace; aborts the test if that fails.
void writeSampleRun(const QString& path);
[[nodiscard]] SessionPtr sampleSession(const SampleSpec& spec = {});
/// A loader for which all files are sampleRun().
[[nodiscard]] Result<Run> loadSample(const std::vector<std::filesystem::path>& paths, JobControl& control);

/// The first lanes of a line, or those from `first` on, with one row each.
[[nodiscard]] inline std::vector<RowExtras::RawShown> someLanes(int count, int first = 0) {
    std::vector<RowExtras::RawShown> lanes;
    for (int lane = 0; lane < count; ++lane)
        lanes.push_back({first + lane, 1});
    return lanes;
}

/// The widget of that object name inside another one; aborts the test if there is none.
template <class T>
T& child(const QWidget& widget, const char* name) {
    T* found = widget.findChild<T*>(QString::fromLatin1(name));
    if (found == nullptr) qFatal("no child %s", name);
    return *found;
}

} // namespace bubblescope::gui
