#include "core/formats/source/standard_output.h"

#include <fcntl.h>
#include <unistd.h>

namespace bubblescope {
namespace {

int reserved = STDOUT_FILENO; // NOLINT: which descriptor that is concerns the whole process

} // namespace

int standardOutput() {
    return reserved;
}

void reserveStandardOutput() {
    const int kept = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (kept < 0) return; // it is closed, or there are no more descriptors: writing will report it
    reserved = kept;
    [[maybe_unused]] const int ignored = ::dup2(STDERR_FILENO, STDOUT_FILENO);
}

} // namespace bubblescope
