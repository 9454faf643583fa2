#pragma once

#include "app/gui/jobs/background_job.h"
#include "app/gui/models/session.h"
#include "core/recognise/rule_by_example.h"

#include <QWidget>

#include <vector>

class QComboBox;
class QLabel;
class QLineEdit;
class QPushButton;
class QSpinBox;
class QTableWidget;
class QTabWidget;

namespace bubblescope::gui {

/// Teaches the pipeline of a trace: by the names of its ops, from examples, or by the schedule that was run. While the
/// user describes an example, it shows what the description matches. Lives on the GUI thread.
class TeachPanel : public QWidget {
    Q_OBJECT

public:
    explicit TeachPanel(QWidget* parent = nullptr);

    /// The rules taught so far are kept if the same files are opened again. Hidden for traces with steps, and for the
    /// beginning of a trace, because rules can be taught only when the whole trace is known.
    void setSession(SessionPtr session);
    /// The slice to describe.
    void setExample(SliceId slice);
    /// Adds the described op to the rule.
    void addOp();
    void removeOp();
    [[nodiscard]] const std::vector<TaughtOp>& ops() const { return ops_; }
    /// The rule as a file for `--rules`. Errors: Usage if nothing was taught.
    [[nodiscard]] Result<std::string> document() const;
    [[nodiscard]] Status saveRule(const QString& file) const;
    void showNames();
    void showSchedule();
    /// The slices that match the current pattern or the ops of the rule, ascending.
    [[nodiscard]] std::vector<SliceId> allMatches() const;

signals:
    /// allMatches() has changed.
    void matched();
    /// The user has closed the panel.
    void closed();
    /// The trace should be opened again with the taught rules.
    void reopenRequested(const bubblescope::gui::Taught& taught);

private:
    QWidget* namesPage();
    QWidget* schedulePage();
    void propose();
    void statePattern();
    void match();
    void showMatches(const Result<TaughtMatches>& matches);
    void showOps();
    void reopenByNames();
    void reopenBySchedule();
    void chooseFile();
    void complain(const QString& text);
    [[nodiscard]] TaughtRule rule() const;

    SessionPtr session_; ///< a session without steps that is not the beginning of a trace; otherwise null
    SliceId example_ = kNoId;
    std::optional<TaughtOp> stated_;
    TaughtMatches stated_matches_;
    std::vector<TaughtOp> ops_;
    std::vector<TaughtMatches> matches_; ///< matches of ops_
    BackgroundJob job_;

    QTabWidget* tabs_;
    QLabel* example_name_ = nullptr;
    QComboBox* kind_ = nullptr;
    QSpinBox* microbatch_ = nullptr;
    QSpinBox* chunk_ = nullptr;
    QSpinBox* stage_ = nullptr;
    QLineEdit* pattern_ = nullptr;
    QLabel* count_ = nullptr;
    QPushButton* add_ = nullptr;
    QTableWidget* list_ = nullptr;
    QComboBox* ranks_ = nullptr;
    QPushButton* reopen_ = nullptr;
    QPushButton* save_ = nullptr;
    QComboBox* family_ = nullptr;
    QSpinBox* pp_ = nullptr;
    QSpinBox* microbatches_ = nullptr;
    QSpinBox* vpp_ = nullptr;
    QLabel* status_;
};

} // namespace bubblescope::gui
