#pragma once

#include "app/gui/theme/theme.h"
#include "core/answer/statement.h"

#include <QFrame>

#include <vector>

class QGridLayout;
class QLabel;

namespace bubblescope::gui {

/// Shows the answer for the open trace, with a line per statement of the headline and the gain from the suggested
/// action. If there is space, the action has its own line. A click on a line, or Enter, requests the evidence.
class AnswerBar : public QFrame {
    Q_OBJECT

public:
    explicit AnswerBar(ThemeManager& themes, QWidget* parent = nullptr);

    /// Copies the answer. Hides the bar if the answer is empty. `figures` are key figures to append to the verdict
    /// on a trace without a pipeline.
    void show(const Answer& answer, const QString& figures = {});
    void clear();
    /// The lines as plain text.
    [[nodiscard]] QStringList lines() const;

signals:
    void chosen(const bubblescope::Statement& statement);

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    struct Line {
        QLabel* label;
        QLabel* text;
        QLabel* gain;
    };
    struct Shown {
        Statement statement;
        QString label;
        QString text;
        QString gain;
        bool is_action = false;
    };
    /// True if the action of the last statement is on a separate line.
    [[nodiscard]] static bool hasOwnAction(const std::vector<Shown>& shown);
    void splitAction();
    void applyTheme();

    ThemeManager& themes_;
    QGridLayout* grid_;
    std::vector<Line> rows_;
    std::vector<Shown> shown_; ///< one per visible row
};

} // namespace bubblescope::gui
