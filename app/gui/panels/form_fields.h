#pragma once

#include <QString>

#include <functional>

class QDoubleSpinBox;
class QFormLayout;
class QSpinBox;

namespace bubblescope::gui {

/// Adds rows with boxes for numbers to a form, all of which tell of a change in the same way.
struct FormFields {
    QFormLayout& form;
    std::function<void()> changed;

    /// `name` is the box's object name; the label is also what screen readers say.
    [[nodiscard]] QSpinBox* count(const char* name, const QString& label, int low, int high, int value) const;
    /// Milliseconds, to the microsecond.
    [[nodiscard]] QDoubleSpinBox* time(const char* name, const QString& label, double ms) const;
};

} // namespace bubblescope::gui
