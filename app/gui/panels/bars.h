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

/// Non-modal bar that shows an error with its location and remedy. Remains until it is closed or replaced.
class MessageBar : public QFrame {
    Q_OBJECT

public:
    explicit MessageBar(QWidget* parent = nullptr);

    void showError(const Error& error);
    /// Shows the error in English, for machines without fonts for the selected language.
    void showInEnglish(const Error& error);
    [[nodiscard]] QString text() const;
    void setTheme(const Theme& theme);

private:
    void put(const QString& what, const QStringList& details);

    QLabel* what_;
    QLabel* details_;
};

/// Bar with a question and a button per answer. Hidden until the question is asked.
class QuestionBar : public QFrame {
    Q_OBJECT

public:
    QuestionBar(const QString& text, QWidget* parent = nullptr);

    /// `name` is the object name of the button.
    void addAnswer(const char* name, const QString& title, const std::function<void()>& then);
};

/// Shows the progress of loading: name, amount, estimated time, and a cancel button. Hidden while nothing is loading.
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
    QElapsedTimer since_; ///< time since the start of the load
    QLabel* name_;
    QProgressBar* bar_;
};

/// Slider that interpolates between the observed step and the reference below it, and shows the time saved. Hidden if
/// there is no reference.
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
