#include "app/gui/live/live_dialog.h"

#include "app/gui/panels/widgets.h"

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
      token_(new QLineEdit(this)), certificate_(new QLineEdit(this)), key_(new QLineEdit(this)),
      keep_(new QLineEdit(this)) {
    setObjectName(QStringLiteral("liveDialog"));
    setWindowTitle(tr("Watch a run"));
    auto* intro = new QLabel(tr("Shows a run during training, from the files that its ranks write. The ranks never "
                                "wait for the app, and the folder does not need to exist yet."),
                             this);
    intro->setWordWrap(true);

    auto* files = new QGroupBox(tr("Folders that the run records into"), this);
    named(folder_, "liveFolder", tr("Folder"));
    folder_->setPlaceholderText(tr("Type a folder, or choose one"));
    auto* choose = new QPushButton(tr("Choose…"), files);
    auto* add = named(new QPushButton(tr("Add another"), files), "liveAddFolder");
    named(folders_, "liveFolders", tr("Folders that the run records into"));
    folders_->setToolTip(tr("Press Delete to remove one"));
    folders_->setMaximumHeight(5 * fontMetrics().lineSpacing());
    folders_->installEventFilter(this);
    folders_->hide(); // most runs have only one folder
    auto* row = new QHBoxLayout;
    row->addWidget(folder_, 1);
    addAll(*row, {choose, add});
    auto* in_files = new QVBoxLayout(files);
    in_files->addLayout(row);
    in_files->addWidget(folders_);

    auto* network = new QGroupBox(tr("Or an address to which hosts send (monitor --forward)"), this);
    named(listen_, "liveListen", tr("Listen on"));
    listen_->setPlaceholderText(QStringLiteral("127.0.0.1:9200"));
    listen_->setToolTip(tr("If no host is given, only programs on this machine can connect"));
    named(token_, "liveToken", tr("Token"));
    token_->setEchoMode(QLineEdit::Password);
    token_->setToolTip(tr("Senders must use the same token"));
    auto* in_network = new QFormLayout(network);
    in_network->addRow(tr("Listen on"), listen_);
    in_network->addRow(tr("Token"), token_);
    named(certificate_, "liveCertificate", tr("Certificate"));
    certificate_->setPlaceholderText(tr("None: nothing is encrypted"));
    certificate_->setToolTip(tr("PEM file that senders trust; encrypts records with TLS"));
    named(key_, "liveKey", tr("Private key of the certificate"));
    key_->setToolTip(tr("PEM file that only you can read"));
    named(keep_, "liveKeep", tr("Keep recordings in"));
    keep_->setPlaceholderText(tr("Not kept: deleted when you stop watching"));
    keep_->setToolTip(tr("A folder for received traces of recorded jobs; other runs store their traces themselves"));
    in_network->addRow(tr("Certificate"), withChooser(*certificate_, false));
    in_network->addRow(tr("Private key of the certificate"), withChooser(*key_, false));
    in_network->addRow(tr("Keep recordings in"), withChooser(*keep_, true));

    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Cancel, this);
    watch_ = buttons->addButton(tr("Watch"), QDialogButtonBox::AcceptRole);
    watch_->setObjectName(QStringLiteral("liveWatch"));
    watch_->setDefault(true);
    auto* column = spaced(new QVBoxLayout(this), {16, 14, 16, 14}, 12);
    addAll(*column, {intro, files, network});
    column->addStretch(1);
    column->addWidget(buttons);
    resize(620, sizeHint().height());

    connect(choose, &QPushButton::clicked, this, &LiveDialog::chooseFolder);
    connect(add, &QPushButton::clicked, this, [this] {
        addFolder(folder_->text());
        folder_->clear();
        folder_->setFocus();
    });
    for (QLineEdit* line : {folder_, listen_, token_, certificate_, key_})
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
    if (target.listen.isEmpty()) return target;
    target.token = token_->text();
    target.certificate = certificate_->text().trimmed();
    target.key = key_->text().trimmed();
    target.keep = keep_->text().trimmed();
    return target;
}

/// An address needs the token that senders must know, and a certificate needs its key.
void LiveDialog::check() {
    const LiveTarget wanted = target();
    const bool listens = !wanted.listen.isEmpty();
    const bool whole = !wanted.token.isEmpty() && wanted.certificate.isEmpty() == wanted.key.isEmpty();
    watch_->setEnabled(listens ? whole : !wanted.folders.isEmpty());
    for (QWidget* widget :
         {static_cast<QWidget*>(token_), certificate_->parentWidget(), key_->parentWidget(), keep_->parentWidget()})
        widget->setEnabled(listens);
}

/// A line edit with a button that opens a dialog for existing files or folders.
QWidget* LiveDialog::withChooser(QLineEdit& line, bool folder) {
    auto* both = new QWidget(this);
    auto* row = spaced(new QHBoxLayout(both), {0, 0, 0, 0});
    auto* choose = new QPushButton(tr("Choose…"), both);
    choose->setAutoDefault(false);
    row->addWidget(&line, 1);
    row->addWidget(choose);
    connect(choose, &QPushButton::clicked, this, [this, &line, folder] {
        auto* dialog = new QFileDialog(this, line.accessibleName());
        dialog->setAttribute(Qt::WA_DeleteOnClose);
        dialog->setFileMode(folder ? QFileDialog::Directory : QFileDialog::ExistingFile);
        connect(dialog, &QFileDialog::fileSelected, &line, &QLineEdit::setText);
        dialog->open();
    });
    return both;
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
