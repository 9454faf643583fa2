#include "app/gui/panels/list_field.h"

#include "app/gui/language/text.h"
#include "app/gui/panels/table_text.h"
#include "app/gui/panels/widgets.h"
#include "core/base/text.h"

#include <fmt/format.h>

#include <QFormLayout>
#include <QLabel>
#include <QLineEdit>
#include <QRegularExpression>
#include <QTimer>
#include <QVBoxLayout>

#include <algorithm>
#include <utility>

namespace bubblescope::gui {

namespace {

constexpr int kPauseMs = 250;
constexpr std::int64_t kLongestNs = 1'000'000'000'000;
constexpr std::int64_t kMostCount = 1'000'000;

/// Splits a list into parts. A blank between a number and its unit is not a separator.
QStringList partsOf(QString text) {
    static const QRegularExpression unit(QStringLiteral("(?<=\\d)\\s+(?=[^\\d\\s.,;+-])"));
    static const QRegularExpression between(QStringLiteral("[,;\\s]+"));
    return text.replace(unit, QString()).split(between, Qt::SkipEmptyParts);
}

} // namespace

ListField::ListField(QFormLayout& form, const char* name, const QString& label, Parse parse, ThemeManager& themes)
    : QWidget(form.parentWidget()), line_(new QLineEdit(this)), note_(new QLabel(this)), parse_(std::move(parse)),
      themes_(themes) {
    line_->setObjectName(QString::fromLatin1(name));
    line_->setAccessibleName(label);
    note_->setObjectName(QString::fromLatin1(name) + QStringLiteral("Note"));
    note_->setTextFormat(Qt::PlainText);
    note_->setWordWrap(true);
    note_->hide();
    QVBoxLayout* const column = tightColumn(*this);
    addAll(*column, {line_, note_});
    form.addRow(label, this);
    auto* const pause = new QTimer(this);
    pause->setSingleShot(true);
    pause->setInterval(kPauseMs);
    connect(line_, &QLineEdit::textEdited, pause, qOverload<>(&QTimer::start));
    connect(pause, &QTimer::timeout, this, &ListField::changed);
    connect(line_, &QLineEdit::editingFinished, this, [this, pause] {
        if (!pause->isActive()) return;
        pause->stop();
        emit changed();
    });
}

void ListField::setText(const QString& text) {
    if (line_->text() == text) return;
    line_->setText(text);
    line_->setCursorPosition(0); // shows the beginning of a long list
    emit changed();
}

void ListField::setPlaceholder(const QString& text) {
    line_->setPlaceholderText(text);
}

QString ListField::text() const {
    return line_->text();
}

std::optional<std::vector<std::int64_t>> ListField::values(std::size_t count, Each each) {
    std::vector<std::int64_t> values;
    for (const QString& part : partsOf(line_->text())) {
        const Result<std::int64_t> value = parse_(part.toStdString());
        if (!value.ok()) {
            state(sentence(errorText(value.error())), true);
            return std::nullopt;
        }
        values.push_back(value.value());
    }
    if (values.size() > 1 && values.size() != count) {
        state((each == Each::Stage ? tr("%1 values for %2 stages. Enter one value for all stages, or one per stage.")
                                   : tr("%1 values for %2 ranks. Enter one value for all ranks, or one per rank."))
                  .arg(values.size())
                  .arg(count),
              true);
        return std::nullopt;
    }
    const bool list = values.size() > 1;
    state(!list                 ? QString()
          : each == Each::Stage ? tr("One for each of %1 stages").arg(count)
                                : tr("One for each of %1 ranks").arg(count),
          false);
    return values;
}

void ListField::state(const QString& text, bool wrong) {
    note_->setPalette(themes_.theme().withText(wrong ? themes_.theme().bad : themes_.theme().text_dim));
    note_->setText(text);
    note_->setVisible(!text.isEmpty());
}

Result<std::int64_t> parseMilliseconds(const std::string& text) {
    const bool bare = !text.empty() && std::ranges::all_of(text, [](char c) { return isDigit(c) || c == '.'; });
    BUBBLESCOPE_ASSIGN(const TimeNs time, parseTime(bare ? text + "ms" : text));
    if (time.count() > kLongestNs) return usageError(fmt::format("'{}' is too long", text), "use at most 1000 s");
    return time.count();
}

Result<std::int64_t> parseCount(const std::string& text) {
    if (const auto count = parseNumber<std::int64_t>(text); count && *count >= 1 && *count <= kMostCount) return *count;
    return usageError(fmt::format("'{}' is not a count", text), "write a whole number ≥ 1");
}

QString listOfMilliseconds(const std::vector<TimeNs>& times) {
    QStringList parts;
    for (const TimeNs time : times)
        parts << plainNumber(static_cast<double>(time.count()) / 1e6);
    if (std::ranges::count(parts, parts.value(0)) == parts.size()) return parts.value(0);
    return parts.join(QStringLiteral(", "));
}

} // namespace bubblescope::gui
