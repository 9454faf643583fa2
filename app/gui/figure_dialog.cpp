#include "app/gui/figure_dialog.h"

#include <QCheckBox>
#include <QComboBox>
#include <QDialogButtonBox>
#include <QDoubleSpinBox>
#include <QFormLayout>
#include <QLineEdit>
#include <QPushButton>

namespace bubblescope::gui {

FigureDialog::FigureDialog(const QString& title, const QString& subtitle, QWidget* parent)
    : QDialog(parent), subtitle_(subtitle), width_(new QDoubleSpinBox(this)), format_(new QComboBox(this)),
      white_(new QCheckBox(tr("White background"), this)), legend_(new QCheckBox(tr("Legend"), this)),
      figures_(new QCheckBox(tr("Show the step's figures below the title"), this)), title_(new QLineEdit(title, this)) {
    setObjectName(QStringLiteral("figureDialog"));
    setWindowTitle(tr("Export the timeline"));
    format_->setObjectName(QStringLiteral("figureFormat"));
    for (const auto& [name, suffix] :
         {std::pair("PDF", "pdf"), {"SVG", "svg"}, {"PNG", "png"}, {"TikZ (LaTeX)", "tex"}})
        format_->addItem(QString::fromLatin1(name), QString::fromLatin1(suffix));
    width_->setObjectName(QStringLiteral("figureWidth"));
    width_->setRange(60, 600);
    width_->setDecimals(0);
    width_->setSuffix(tr(" mm"));
    width_->setValue(Figure().width_mm);
    title_->setObjectName(QStringLiteral("figureTitle"));
    title_->setPlaceholderText(tr("none"));
    white_->setChecked(true);
    legend_->setChecked(true);
    auto* const form = new QFormLayout(this);
    form->addRow(tr("Format"), format_);
    form->addRow(tr("Width"), width_);
    form->addRow(tr("Title"), title_);
    for (QCheckBox* const box : {white_, legend_, figures_})
        form->addRow(QString(), box);
    auto* const buttons = new QDialogButtonBox(QDialogButtonBox::Save | QDialogButtonBox::Cancel, this);
    buttons->button(QDialogButtonBox::Save)->setText(tr("&Save…"));
    buttons->button(QDialogButtonBox::Save)->setDefault(true);
    connect(buttons, &QDialogButtonBox::accepted, this, &QDialog::accept);
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    form->addRow(buttons);
}

Figure FigureDialog::figure() const {
    return {width_->value(), white_->isChecked(), legend_->isChecked(), title_->text(),
            figures_->isChecked() ? subtitle_ : QString()};
}

QString FigureDialog::suffix() const {
    return format_->currentData().toString();
}

} // namespace bubblescope::gui
