#pragma once

#include "core/families/registry.h"

class QComboBox;
class QFormLayout;

namespace bubblescope::gui {

/// Combo boxes for the family and the flavour of a schedule, owned by the widget of the form.
struct ScheduleFields {
    QComboBox* family = nullptr;
    QComboBox* flavor = nullptr;

    /// Adds both boxes to a form. The boxes' object names start with `prefix`: "run" results in "runFamily". The box
    /// for flavours is initially empty.
    [[nodiscard]] static ScheduleFields addTo(QFormLayout& form, const char* prefix);
    /// Returns null if there is no family with this name.
    [[nodiscard]] const ScheduleFamily* chosen() const;
    /// Fills the box with the flavours of the chosen family, without emitting a signal.
    void offerFlavors() const;
};

} // namespace bubblescope::gui
