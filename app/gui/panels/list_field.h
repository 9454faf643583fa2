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

/// A line that takes one value, or a list with one value for each stage or rank, separated by commas, semicolons or
/// white space, so that columns of spreadsheets can be pasted. Invalid text shows an error directly below the line.
class ListField : public QWidget {
    Q_OBJECT

public:
    enum class Each { Stage, Rank };
    using Parse = std::function<Result<std::int64_t>(const std::string&)>;

    /// Adds a row to a form. `name` is the line's object name, `label` also its accessible name.
    ListField(QFormLayout& form, const char* name, const QString& label, Parse parse, ThemeManager& themes);

    void setText(const QString& text);
    void setPlaceholder(const QString& text);
    [[nodiscard]] QString text() const;
    /// One value, or one for each of `count`; empty if the line is empty. Nothing if the line is invalid, in which case
    /// it shows an error.
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

/// A time, in milliseconds if it has no unit. Errors: Usage.
[[nodiscard]] Result<std::int64_t> parseMilliseconds(const std::string& text);
/// An integer of at least 1. Errors: Usage.
[[nodiscard]] Result<std::int64_t> parseCount(const std::string& text);
/// Times in the format of ListField: "5, 5, 5.25"; a single one if all are equal.
[[nodiscard]] QString listOfMilliseconds(const std::vector<TimeNs>& times);

} // namespace bubblescope::gui
