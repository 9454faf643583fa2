#include "app/gui/remote/remote_dialog.h"

#include "app/gui/language/text.h"

#include <QComboBox>
#include <QCryptographicHash>
#include <QDialogButtonBox>
#include <QLabel>
#include <QLineEdit>
#include <QProgressBar>
#include <QPushButton>
#include <QSettings>
#include <QStandardPaths>
#include <QVBoxLayout>

#include <algorithm>
#include <initializer_list>

namespace bubblescope::gui {

namespace {

const QString kAddressesKey = QStringLiteral("remote/addresses");
constexpr int kMostAddresses = 10;

/// Folder for the extracts of an address until the address is opened again. Its name is the title of the tab.
QString folderOf(const QString& address, const QString& path) {
    const QByteArray hash = QCryptographicHash::hash(address.toUtf8(), QCryptographicHash::Sha1).toHex().left(12);
    QString name = path;
    while (name.endsWith(QLatin1Char('/')))
        name.chop(1);
    return QStringLiteral("%1/remote/%2/%3")
        .arg(QStandardPaths::writableLocation(QStandardPaths::CacheLocation), QString::fromLatin1(hash),
             name.section(QLatin1Char('/'), -1));
}

} // namespace

RemoteDialog::RemoteDialog(bool remember, QWidget* parent)
    : QDialog(parent), remember_(remember), address_(new QComboBox(this)), status_(new QLabel(this)),
      progress_(new QProgressBar(this)) {
    setObjectName(QStringLiteral("remoteDialog"));
    setWindowTitle(tr("Open over SSH"));
    auto* intro = new QLabel(tr("Runs `bubblescope extract` next to the traces, and fetches only the result. Uses your "
                                "SSH configuration and keys."),
                             this);
    intro->setWordWrap(true);
    address_->setObjectName(QStringLiteral("remoteAddress"));
    address_->setAccessibleName(tr("Address"));
    address_->setEditable(true);
    address_->setMinimumContentsLength(46);
    address_->lineEdit()->setPlaceholderText(QStringLiteral("ssh://user@host/path"));
    if (remember_) address_->addItems(QSettings().value(kAddressesKey).toStringList());
    status_->setObjectName(QStringLiteral("remoteStatus"));
    status_->setWordWrap(true);
    status_->setTextFormat(Qt::PlainText);
    progress_->hide();
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Cancel, this);
    start_ = buttons->addButton(tr("Open"), QDialogButtonBox::ActionRole);
    start_->setObjectName(QStringLiteral("remoteOpen"));
    start_->setDefault(true);
    auto* column = new QVBoxLayout(this);
    for (QWidget* widget : std::initializer_list<QWidget*>{intro, address_, status_, progress_})
        column->addWidget(widget);
    column->addStretch(1);
    column->addWidget(buttons);
    connect(start_, &QPushButton::clicked, this, &RemoteDialog::start);
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    connect(this, &QDialog::rejected, &trace_, &RemoteTrace::cancel);
    connect(&trace_, &RemoteTrace::progressed, this, &RemoteDialog::showProgress);
    connect(&trace_, &RemoteTrace::failed, this, &RemoteDialog::showError);
    connect(&trace_, &RemoteTrace::ready, this, &RemoteDialog::finish);
}

void RemoteDialog::openAddress(const QString& address) {
    address_->setEditText(address);
    show();
    start();
}

QString RemoteDialog::status() const {
    return status_->text();
}

void RemoteDialog::start() {
    const QString text = address_->currentText().trimmed();
    const Result<RemoteAddress> address = RemoteAddress::parse(text);
    if (!address.ok()) return showError(address.error());
    showRunning(true);
    trace_.start(address.value(), folderOf(text, address.value().path));
}

void RemoteDialog::showRunning(bool running) {
    address_->setEnabled(!running);
    start_->setEnabled(!running);
    progress_->setVisible(running);
}

void RemoteDialog::showProgress(const QString& text, qint64 received, qint64 whole) {
    status_->setText(text);
    constexpr qint64 kKiB = 1024;                           // because bytes would overflow the bar's numbers
    progress_->setRange(0, static_cast<int>(whole / kKiB)); // without a maximum, the bar shows indefinite progress
    progress_->setValue(static_cast<int>(std::min(received, whole) / kKiB));
}

void RemoteDialog::showError(const Error& error) {
    showRunning(false);
    start_->setText(tr("Try again"));
    status_->setText(sentence(errorText(error)));
}

void RemoteDialog::finish(const QString& folder) {
    if (remember_) {
        QStringList addresses = QSettings().value(kAddressesKey).toStringList();
        addresses.removeAll(address_->currentText().trimmed());
        addresses.prepend(address_->currentText().trimmed());
        QSettings().setValue(kAddressesKey, addresses.mid(0, kMostAddresses));
    }
    emit fetched({folder});
    accept();
}

} // namespace bubblescope::gui
