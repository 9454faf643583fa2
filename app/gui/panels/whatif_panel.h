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
class QStackedWidget;
class QVBoxLayout;

namespace bubblescope::gui {

class AdviceTable;
class BarChart;
class FillWhenVisible;

/// Model of a run, together with the session that it refers to. Created and used on worker threads.
struct WhatIfModel {
    SessionPtr session;
    RunModel model;
};
using WhatIfModelPtr = std::shared_ptr<const WhatIfModel>;

/// Predicts the step time with the selected changes. If no changes are selected, the panel lists the changes with the
/// largest gain. With changes, the panel shows the result, and draws the predicted step as a reference on the timeline.
class WhatIfPanel : public QWidget {
    Q_OBJECT

public:
    WhatIfPanel(ViewState& state, ThemeManager& themes, QWidget* parent = nullptr);

    /// All current changes, in the syntax of `whatif --if`.
    [[nodiscard]] std::vector<std::string> changes() const;
    /// Predicts the effect of only this change, in the same syntax.
    void askFor(const QString& change);

signals:
    /// Emitted when a prediction is available or has failed.
    void answered();
    /// Emitted when suggestions have been computed; there may be none.
    void advised();

private:
    /// A prediction and its model, which the next prediction reuses.
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
    void removeChanges();
    void ask();
    void showQuestion();
    void finish(Result<Answer> result);
    void showNumbers(const Prediction& prediction);
    [[nodiscard]] QString stepText() const;
    void showReference();
    void showKey();
    void suggest();
    void showAdvice(Result<Advice> advice);
    void forgetAdvice();
    [[nodiscard]] std::vector<int> layers() const;

    ViewState& state_;
    ThemeManager& themes_;
    FillWhenVisible* fill_;
    BackgroundJob job_;
    BackgroundJob advice_job_;
    /// Run for which suggestions were computed automatically.
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
    QStackedWidget* shown_ = nullptr; ///< shows the suggestions, or the bubbles with the selected changes
    AdviceTable* advices_ = nullptr;
    BarChart* chart_ = nullptr;
    QLabel* key_ = nullptr; ///< legend of the chart
};

} // namespace bubblescope::gui
