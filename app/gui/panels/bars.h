#pragma once

#include "app/gui/jobs/background_job.h"
#include "app/gui/models/view_state.h"
#include "app/gui/theme/theme.h"
#include "core/base/progress_estimate.h"
#include "core/base/result.h"

#include <QElapsedTimer>
#include <QFrame>
#include <QWidget>

#include <functional>

class QLabel;
class QProgressBar;
class QSlider;

namespace bubblescope::gui {

/// An error shown in the window: what happened, where, and what to do. Stays until closed or replaced; never modal.
class MessageBar : public QFrame {
    Q_OBJECT

public:
    explicit MessageBar(QWidget* parent = nullptr);

    void showError(const Error& error);
    /// Shows the error in English whatever the language is, for a machine without fonts for it.
    void showInEnglish(const Error& error);
    [[nodiscard]] QString text() const;
    void setTheme(const Theme& theme);

private:
    void put(const QString& what, const QStringList& details);

    QLabel* what_;
    QLabel* details_;
};

/// A question shown in the window, with buttons for the answers. Hidden until the question is asked.
class QuestionBar : public QFrame {
    Q_OBJECT

public:
    QuestionBar(const QString& text, QWidget* parent = nullptr);

    /// `name` is the button's object name.
    void addAnswer(const char* name, const QString& title, const std::function<void()>& then);
};

/// The progress of loading: name, amount, estimated time, and a cancel button. Hidden while nothing is being loaded.
class LoadIndicator : public QWidget {
    Q_OBJECT

public:
    explicit LoadIndicator(BackgroundJob& job, QWidget* parent = nullptr);

    void setName(const QString& name);

signals:
    void cancelRequested();

private:
    void showCount(quint64 done, quint64 total);

    QString loading_;
    ProgressEstimate estimate_;
    QElapsedTimer since_; ///< start of the load
    QLabel* name_;
    QProgressBar* bar_;
};

/// A slider between the observed step and the reference drawn below it, with the time gained at that point. Hidden
/// without a reference.
class ReferenceBar : public QWidget {
    Q_OBJECT

public:
    /// `state` must outlive the bar.
    explicit ReferenceBar(ViewState& state, QWidget* parent = nullptr);

private:
    void showReference();
    void showBlend();

    ViewState& state_;
    QSlider* slider_;
    QLabel* name_;
    QLabel* result_;
};

} // namespace bubblescope::gui
