#pragma once

#include "app/gui/jobs/background_job.h"
#include "app/gui/models/session.h"
#include "app/gui/models/view_state.h"
#include "app/gui/theme/theme.h"
#include "core/analysis/whatif/scenario.h"
#include "core/optimize/advice/advise.h"

#include <QWidget>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

class QCheckBox;
class QComboBox;
class QLabel;
class QLineEdit;
class QListWidget;
class QPushButton;
class QSlider;
class QSpinBox;
class QVBoxLayout;

namespace bubblescope::gui {

class BarChart;
class FillWhenVisible;

/// The model of a session's run, and the session that it refers to. Made and used on worker threads.
struct WhatIfModel {
    SessionPtr session;
    RunModel model;
};
using WhatIfModelPtr = std::shared_ptr<const WhatIfModel>;

/// How long a step would take under chosen changes. The result appears as soon as changes are chosen, and on the
/// timeline as a reference.
class WhatIfPanel : public QWidget {
    Q_OBJECT

public:
    WhatIfPanel(ViewState& state, ThemeManager& themes, QWidget* parent = nullptr);

    /// All current changes, in the syntax of `whatif --if`.
    [[nodiscard]] std::vector<std::string> changes() const;
    /// Evaluates this change alone, in that syntax.
    void askFor(const QString& change);

signals:
    /// A question has been answered, or has failed.
    void answered();
    /// Suggestions were computed; there may be none.
    void advised();

private:
    /// An answer and its model, which the next question reuses.
    struct Answer {
        WhatIfModelPtr model;
        ScenarioAnswer answer;
    };

    void buildChanges(QVBoxLayout& column);
    void buildPipeline(QVBoxLayout& column);
    QWidget* buildResult();
    void showSession();
    void fillTargets();
    void showSlider();
    [[nodiscard]] QString currentChange() const;
    void addChange(const QString& change);
    void ask();
    void finish(Result<Answer> result);
    void showNumbers(const Prediction& prediction);
    [[nodiscard]] QString stepText() const;
    void showReference();
    void suggest();
    void showAdvice(Result<Advice> advice);
    void forgetAdvice();
    [[nodiscard]] std::vector<int> layers() const;

    ViewState& state_;
    ThemeManager& themes_;
    FillWhenVisible* fill_;
    BackgroundJob job_;
    BackgroundJob advice_job_;
    /// The run for which suggestions were made unasked.
    struct Advised {
        std::vector<std::filesystem::path> files;
        int steps = 0; ///< 0 for a watched run

        friend bool operator==(const Advised&, const Advised&) = default;
    };
    std::optional<Advised> advised_for_;
    WhatIfModelPtr model_;
    std::optional<ScenarioAnswer> answer_;

    QComboBox* target_ = nullptr;
    QComboBox* value_ = nullptr;
    QSlider* slider_ = nullptr;
    QLabel* slider_text_ = nullptr;
    QPushButton* add_ = nullptr;
    QListWidget* list_ = nullptr;
    QComboBox* schedule_ = nullptr;
    QSpinBox* vpp_ = nullptr;
    QLineEdit* layers_ = nullptr;
    QPushButton* advise_ = nullptr;
    QLabel* headline_ = nullptr;
    QLabel* note_ = nullptr;
    QCheckBox* reference_ = nullptr;
    BarChart* chart_ = nullptr;
};

} // namespace bubblescope::gui
