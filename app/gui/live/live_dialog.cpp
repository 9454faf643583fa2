#include "app/gui/live/live_dialog.h"

#include <QDialogButtonBox>
#include <QFileDialog>
#include <QFormLayout>
#include <QGroupBox>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QPushButton>
#include <QVBoxLayout>

namespace bubblescope::gui {

LiveDialog::LiveDialog(QWidget* parent)
    : QDialog(parent), folders_(new QListWidget(this)), folder_(new QLineEdit(this)), listen_(new QLineEdit(this)),
      token_(new QLineEdit(this)) {
    setObjectName(QStringLiteral("liveDialog"));
    setWindowTitle(tr("Watch a run"));
    auto* intro =
        new QLabel(tr("Shows a run while it goes on, from the files that its ranks write. The ranks never wait "
                      "for it, and the folder may appear later."),
                   this);
    intro->setWordWrap(true);

    auto* files = new QGroupBox(tr("Folders that the run records into"), this);
    folder_->setObjectName(QStringLiteral("liveFolder"));
    folder_->setAccessibleName(tr("Folder"));
    folder_->setPlaceholderText(tr("Type a folder, or choose one"));
    auto* choose = new QPushButton(tr("Choose…"), files);
    auto* add = new QPushButton(tr("Add another"), files);
    add->setObjectName(QStringLiteral("liveAddFolder"));
    folders_->setObjectName(QStringLiteral("liveFolders"));
    folders_->setAccessibleName(tr("Folders that the run records into"));
    folders_->setToolTip(tr("Delete removes one"));
    folders_->setMaximumHeight(5 * fontMetrics().lineSpacing());
    folders_->installEventFilter(this);
    folders_->hide(); // most runs have one
    auto* row = new QHBoxLayout;
    row->addWidget(folder_, 1);
    row->addWidget(choose);
    row->addWidget(add);
    auto* in_files = new QVBoxLayout(files);
    in_files->addLayout(row);
    in_files->addWidget(folders_);

    auto* network = new QGroupBox(tr("Or an address that hosts send to (monitor --forward)"), this);
    listen_->setObjectName(QStringLiteral("liveListen"));
    listen_->setAccessibleName(tr("Listen at"));
    listen_->setPlaceholderText(QStringLiteral("127.0.0.1:9200"));
    listen_->setToolTip(tr("Without a host only programs of this machine can connect"));
    token_->setObjectName(QStringLiteral("liveToken"));
    token_->setAccessibleName(tr("Token"));
    token_->setEchoMode(QLineEdit::Password);
    token_->setToolTip(tr("Senders must give the same one"));
    auto* in_network = new QFormLayout(network);
    in_network->addRow(tr("Listen at"), listen_);
    in_network->addRow(tr("Token"), token_);

    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Cancel, this);
    watch_ = buttons->addButton(tr("Watch"), QDialogButtonBox::AcceptRole);
    watch_->setObjectName(QStringLiteral("liveWatch"));
    watch_->setDefault(true);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(16, 14, 16, 14);
    column->setSpacing(12);
    column->addWidget(intro);
    column->addWidget(files);
    column->addWidget(network);
    column->addStretch(1);
    column->addWidget(buttons);
    resize(620, sizeHint().height());

    connect(choose, &QPushButton::clicked, this, &LiveDialog::chooseFolder);
    connect(add, &QPushButton::clicked, this, [this] {
        addFolder(folder_->text());
        folder_->clear();
        folder_->setFocus();
    });
    for (QLineEdit* line : {folder_, listen_, token_})
        connect(line, &QLineEdit::textChanged, this, &LiveDialog::check);
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    connect(buttons, &QDialogButtonBox::accepted, this, [this] {
        emit watchRequested(target());
        accept();
    });
    check();
}

bool LiveDialog::eventFilter(QObject* watched, QEvent* event) {
    if (watched == folders_ && event->type() == QEvent::KeyPress &&
        static_cast<QKeyEvent*>(event)->key() == Qt::Key_Delete && folders_->currentItem() != nullptr) {
        delete folders_->takeItem(folders_->currentRow());
        check();
        return true;
    }
    return QDialog::eventFilter(watched, event);
}

void LiveDialog::addFolder(const QString& folder) {
    const QString name = folder.trimmed();
    if (name.isEmpty() || !folders_->findItems(name, Qt::MatchExactly).isEmpty()) return;
    folders_->addItem(name);
    folders_->show();
    check();
}

LiveTarget LiveDialog::target() const {
    LiveTarget target;
    for (int row = 0; row < folders_->count(); ++row)
        target.folders << folders_->item(row)->text();
    const QString typed = folder_->text().trimmed();
    if (!typed.isEmpty() && !target.folders.contains(typed)) target.folders << typed;
    target.listen = listen_->text().trimmed();
    target.token = token_->text();
    return target;
}

/// An address is of no use without the token that senders must know.
void LiveDialog::check() {
    const LiveTarget wanted = target();
    const bool listens = !wanted.listen.isEmpty();
    watch_->setEnabled(listens ? !wanted.token.isEmpty() : !wanted.folders.isEmpty());
    token_->setEnabled(listens);
}

void LiveDialog::chooseFolder() {
    auto* dialog = new QFileDialog(this, tr("Folders that the run records into"));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setFileMode(QFileDialog::Directory);
    dialog->setOption(QFileDialog::ShowDirsOnly);
    connect(dialog, &QFileDialog::fileSelected, folder_, &QLineEdit::setText);
    dialog->open();
}

} // namespace bubblescope::gui
