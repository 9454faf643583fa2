#pragma once

#include "app/gui/theme/theme.h"
#include "core/base/result.h"
#include "core/base/time.h"

#include <QString>
#include <QWidget>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

class QFormLayout;
class QLabel;
class QLineEdit;

namespace bubblescope::gui {

/// Input field for one value, or for a list with one value per stage or rank. Values are separated by commas,
/// semicolons or whitespace, so that spreadsheet columns can be pasted. An error is shown directly below the field.
class ListField : public QWidget {
    Q_OBJECT

public:
    enum class Each { Stage, Rank };
    using Parse = std::function<Result<std::int64_t>(const std::string&)>;

    /// Adds a row to a form. `name` is the object name of the input field; `label` is also its accessible name.
    ListField(QFormLayout& form, const char* name, const QString& label, Parse parse, ThemeManager& themes);

    void setText(const QString& text);
    void setPlaceholder(const QString& text);
    [[nodiscard]] QString text() const;
    /// Returns one value, `count` values, or an empty list if the field is empty. Returns nothing if the text is
    /// invalid; the field then shows an error.
    [[nodiscard]] std::optional<std::vector<std::int64_t>> values(std::size_t count, Each each);

signals:
    /// Emitted shortly after the last key press, or immediately by setText().
    void changed();

private:
    void state(const QString& text, bool wrong);

    QLineEdit* line_;
    QLabel* note_;
    Parse parse_;
    ThemeManager& themes_;
};

/// Parses a time, in milliseconds if it has no unit. Errors: Usage.
[[nodiscard]] Result<std::int64_t> parseMilliseconds(const std::string& text);
/// Parses an integer of at least 1. Errors: Usage.
[[nodiscard]] Result<std::int64_t> parseCount(const std::string& text);
/// Formats times for a ListField, such as "5, 5, 5.25", or as a single value if all are equal.
[[nodiscard]] QString listOfMilliseconds(const std::vector<TimeNs>& times);

} // namespace bubblescope::gui
