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

/// Lets the user specify the pipeline of a trace, either with examples of op names or with the schedule. While the user
/// edits an example's description, the panel shows the matching slices. GUI thread only.
class TeachPanel : public QWidget {
    Q_OBJECT

public:
    explicit TeachPanel(QWidget* parent = nullptr);

    /// Keeps the existing rules if the same files are opened again. The panel is hidden for traces with steps, and for
    /// previews because rules require the complete trace.
    void setSession(SessionPtr session);
    /// Sets the slice that serves as the example.
    void setExample(SliceId slice);
    /// Adds the described op to the rule.
    void addOp();
    void removeOp();
    [[nodiscard]] const std::vector<TaughtOp>& ops() const { return ops_; }
    /// The rules as a document for `--rules`. Errors: Usage if there are no rules.
    [[nodiscard]] Result<std::string> document() const;
    [[nodiscard]] Status saveRule(const QString& file) const;
    void showNames();
    void showSchedule();
    /// Slices that match the current pattern or the ops of the rule, ascending.
    [[nodiscard]] std::vector<SliceId> allMatches() const;

signals:
    /// Emitted when allMatches() has changed.
    void matched();
    /// Emitted when the user has closed the panel.
    void closed();
    /// Requests that the trace be opened again with these rules.
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

    SessionPtr session_; ///< a session without steps that is not a preview; otherwise null
    SliceId example_ = kNoId;
    std::optional<TaughtOp> stated_;
    TaughtMatches stated_matches_;
    std::vector<TaughtOp> ops_;
    std::vector<TaughtMatches> matches_; ///< matching slices for each op in ops_
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
