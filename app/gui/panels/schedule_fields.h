#pragma once

#include "core/families/registry.h"

class QComboBox;
class QFormLayout;

namespace bubblescope::gui {

/// Boxes in which a schedule is chosen: its family, and a flavour of it. They belong to the form's widget.
struct ScheduleFields {
    QComboBox* family = nullptr;
    QComboBox* flavor = nullptr;

    /// Adds both to a form; `prefix` begins their object names: "run" makes "runFamily". Without flavours as yet.
    [[nodiscard]] static ScheduleFields addTo(QFormLayout& form, const char* prefix);
    /// Null if no family has this name.
    [[nodiscard]] const ScheduleFamily* chosen() const;
    /// Offers the flavours of the chosen family, without a signal.
    void offerFlavors() const;
};

} // namespace bubblescope::gui
