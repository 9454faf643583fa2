#include "app/gui/jobs/crash_report.h"

#include <QDateTime>
#include <QDir>
#include <QFile>
#include <QSysInfo>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <exception>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <memory>
#include <string_view>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace bubblescope::gui {

namespace {

constexpr int kMostReports = 10;
constexpr int kMostFrames = 64;
constexpr unsigned kPatienceS = 10; // limit for a report, which can be stuck on a lock of the loader

struct Fatal {
    int signal;
    std::string_view name;
};
constexpr std::array kFatal{Fatal{SIGSEGV, "SIGSEGV"}, Fatal{SIGABRT, "SIGABRT"}, Fatal{SIGBUS, "SIGBUS"},
                            Fatal{SIGILL, "SIGILL"}, Fatal{SIGFPE, "SIGFPE"}};

/// First part of a report, prepared because a signal handler must not allocate memory.
struct Prepared {
    std::array<char, 4096> path{};
    std::array<char, 2048> head{};
    std::array<char, 512> exception{};
    std::time_t started = 0;
    std::atomic<long> reporting_thread{0};
};
Prepared prepared;

template <std::size_t Size>
void copyTo(std::array<char, Size>& out, std::string_view text) {
    const std::size_t size = std::min(text.size(), Size - 1);
    std::memcpy(out.data(), text.data(), size);
    out[size] = '\0';
}

// ---- In the handler: only async-signal-safe functions ----

void put(int file, std::string_view text) {
    while (!text.empty()) {
        const ssize_t written = ::write(file, text.data(), text.size());
        if (written <= 0) return;
        text.remove_prefix(static_cast<std::size_t>(written));
    }
}

void putNumber(int file, std::uintptr_t number, unsigned base) {
    std::array<char, 20> digits{};
    std::size_t at = digits.size();
    do {
        digits[--at] = "0123456789abcdef"[number % base];
        number /= base;
    } while (number != 0);
    put(file, std::string_view(digits.data() + at, digits.size() - at));
}

void putSignal(int file, const siginfo_t& info) {
    const auto* const known = std::ranges::find(kFatal, info.si_signo, &Fatal::signal);
    put(file, "Signal: ");
    put(file, known != kFatal.end() ? known->name : "unknown");
    if (info.si_code > 0) { // from the processor instead of another process
        put(file, " at address 0x");
        putNumber(file, reinterpret_cast<std::uintptr_t>(info.si_addr), 16);
    }
}

void putReport(int file, const siginfo_t& info) {
    put(file, prepared.head.data());
    putSignal(file, info);
    if (prepared.exception[0] != '\0') {
        put(file, "\nException: ");
        put(file, prepared.exception.data());
    }
    std::array<char, 17> thread{};
    ::prctl(PR_GET_NAME, thread.data());
    put(file, "\nThread: ");
    put(file, thread.data());
    put(file, "\nAfter: ");
    putNumber(file, static_cast<std::uintptr_t>(std::time(nullptr) - prepared.started), 10);
    put(file, " s\n\nCall stack, innermost function first:\n");
    std::array<void*, kMostFrames> frames{};
    ::backtrace_symbols_fd(frames.data(), ::backtrace(frames.data(), kMostFrames), file);
}

void onCrash(int signal, siginfo_t* info, void*) {
    const long self = ::syscall(SYS_gettid);
    long nobody = 0;
    if (!prepared.reporting_thread.compare_exchange_strong(nobody, self) && nobody != self) {
        for (;;) // waits until the thread that writes its report ends the process
            ::pause();
    }
    if (nobody == 0) {
        ::alarm(kPatienceS);
        const int file = ::open(prepared.path.data(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (file >= 0) {
            putReport(file, *info);
            ::close(file);
            put(STDERR_FILENO, "bubblescope-gui: crashed; report: ");
            put(STDERR_FILENO, prepared.path.data());
            put(STDERR_FILENO, "\n");
        }
    }
    std::signal(signal, SIG_DFL);
    ::raise(signal); // takes effect when this handler returns
}

// ---- Before a crash ----

/// Called for uncaught exceptions, whose text is not in the call stack.
[[noreturn]] void onTerminate() noexcept {
    try {
        if (std::current_exception() != nullptr) throw;
    } catch (const std::exception& error) {
        copyTo(prepared.exception, error.what());
    } catch (...) {
        copyTo(prepared.exception, "of an unknown type");
    }
    std::abort();
}

/// ID that the linker derives from the program's contents. Files with debug symbols have the same ID.
QString buildId() {
    QByteArray id;
    ::dl_iterate_phdr(
        [](dl_phdr_info* program, std::size_t, void* out) {
            for (int i = 0; i < program->dlpi_phnum; ++i) {
                const auto& segment = program->dlpi_phdr[i];
                if (segment.p_type != PT_NOTE) continue;
                const auto* at = reinterpret_cast<const char*>(program->dlpi_addr + segment.p_vaddr);
                const auto* const end = at + segment.p_memsz;
                while (at + sizeof(ElfW(Nhdr)) < end) {
                    ElfW(Nhdr) note{};
                    std::memcpy(&note, at, sizeof note);
                    const char* const value = at + sizeof note + (note.n_namesz + 3) / 4 * 4;
                    if (note.n_type == NT_GNU_BUILD_ID)
                        *static_cast<QByteArray*>(out) = QByteArray(value, static_cast<qsizetype>(note.n_descsz));
                    at = value + (note.n_descsz + 3) / 4 * 4;
                }
            }
            return 1; // the program itself comes first
        },
        &id);
    return id.isEmpty() ? QStringLiteral("none") : QString::fromLatin1(id.toHex());
}

/// Required because a stack that has overflowed has no space for the handler.
void useSpareStack() {
    constexpr std::size_t kSize = 256 << 10;
    static const auto memory = std::make_unique<char[]>(kSize);
    stack_t stack{};
    stack.ss_sp = memory.get();
    stack.ss_size = kSize;
    ::sigaltstack(&stack, nullptr);
}

} // namespace

QString crashFolder() {
    QString state = qEnvironmentVariable("XDG_STATE_HOME");
    if (!state.startsWith(QLatin1Char('/'))) state = QDir::homePath() + QStringLiteral("/.local/state");
    return state + QStringLiteral("/bubblescope/crashes");
}

void reportCrashes(const QString& folder, const QString& program) {
    if (!QDir().mkpath(folder)) return;
    const QDateTime now = QDateTime::currentDateTimeUtc();
    prepared.started = std::time(nullptr);
    copyTo(prepared.path, QFile::encodeName(QStringLiteral("%1/crash-%2-%3.new.txt")
                                                .arg(folder, now.toString(QStringLiteral("yyyyMMdd-HHmmss")))
                                                .arg(::getpid()))
                              .toStdString());
    copyTo(prepared.head,
           QStringLiteral("Crash report of %1, Qt %2\nBuild ID: %3\nSystem: %4, Linux %5, %6\nStarted: %7\n")
               .arg(program, QString::fromLatin1(qVersion()), buildId(), QSysInfo::prettyProductName(),
                    QSysInfo::kernelVersion(), QSysInfo::currentCpuArchitecture(), now.toString(Qt::ISODate))
               .toStdString());
    std::array<void*, 1> frame{};
    ::backtrace(frame.data(), 1); // loads the unwinder, which allocates memory
    useSpareStack();
    std::set_terminate(onTerminate);
    for (const Fatal& fatal : kFatal) {
        struct sigaction action {};
        action.sa_sigaction = onCrash;
        action.sa_flags = SA_SIGINFO | SA_ONSTACK;
        ::sigaction(fatal.signal, &action, nullptr);
    }
}

QStringList takeNewCrashReports(const QString& folder) {
    constexpr QLatin1StringView kNew{".new.txt"};
    QDir reports(folder);
    QStringList out;
    int count = 0;
    for (const QString& name :
         reports.entryList({QStringLiteral("crash-*.txt")}, QDir::Files, QDir::Name | QDir::Reversed)) {
        if (++count > kMostReports) {
            reports.remove(name);
            continue;
        }
        if (!name.endsWith(kNew)) continue;
        const QString read = name.chopped(kNew.size()) + QStringLiteral(".txt");
        out << reports.filePath(reports.rename(name, read) ? read : name);
    }
    return out;
}

} // namespace bubblescope::gui
