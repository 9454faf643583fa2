#pragma once

#include "core/families/registry.h"

class QComboBox;
class QFormLayout;

namespace bubblescope::gui {

/// Boxes for choosing a schedule: its family and a flavour of it. The form's widget owns them.
struct ScheduleFields {
    QComboBox* family = nullptr;
    QComboBox* flavor = nullptr;

    /// Adds both boxes to a form; `prefix` begins their object names: "run" makes "runFamily". The box for flavours is
    /// empty at first.
    [[nodiscard]] static ScheduleFields addTo(QFormLayout& form, const char* prefix);
    /// Null if there is no family with this name.
    [[nodiscard]] const ScheduleFamily* chosen() const;
    /// Offers the flavours of the chosen family, without emitting a signal.
    void offerFlavors() const;
};

} // namespace bubblescope::gui
