#pragma once

#include "app/gui/models/session.h"
#include "app/gui/timeline/geometry.h"
#include "core/families/registry.h"

#include <QWidget>

namespace bubblescope::gui {

/// A run of consecutive simulated steps with gaps between them, as a loader returns it.
struct SampleSpec {
    ScheduleSpec schedule{"1f1b", "", 4, 8, 1};
    int steps = 3;
    TimeNs forward{std::chrono::milliseconds(5)};
    TimeNs backward{std::chrono::milliseconds(10)};
    TimeNs comm{0};
    bool trace = false;                        ///< adds raw slices: a host thread and a stream per rank
    bool nested = false;                       ///< adds nested slices to the thread, three levels deep
    TimeNs gap{std::chrono::milliseconds(20)}; ///< between steps; followed by an optimizer op of half that length
};

[[nodiscard]] Run sampleRun(const SampleSpec& spec = {});
/// Writes the run as a trace; aborts the test on failure.
void writeSampleRun(const QString& path);
[[nodiscard]] SessionPtr sampleSession(const SampleSpec& spec = {});
/// A loader that returns sampleRun() for all files.
[[nodiscard]] Result<Run> loadSample(const std::vector<std::filesystem::path>& paths, JobControl& control);

/// The first `count` lanes of a line, or those starting at `first`, with one row each.
[[nodiscard]] inline std::vector<RowExtras::RawShown> someLanes(int count, int first = 0) {
    std::vector<RowExtras::RawShown> lanes;
    for (int lane = 0; lane < count; ++lane)
        lanes.push_back({first + lane, 1});
    return lanes;
}

/// Finds the child widget with that object name; aborts the test if there is none.
template <class T>
T& child(const QWidget& widget, const char* name) {
    T* found = widget.findChild<T*>(QString::fromLatin1(name));
    if (found == nullptr) qFatal("no child %s", name);
    return *found;
}

} // namespace bubblescope::gui
