#include "tests/cli/test_terminal.h"

#include <array>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

namespace bubblescope::test {

bool terminalsAreThere() {
    int master = -1;
    int slave = -1;
    if (openpty(&master, &slave, nullptr, nullptr, nullptr) != 0) return false;
    close(master);
    close(slave);
    return true;
}

ProgramResult runInTerminal(const TestTerminal& terminal, const std::vector<std::string>& arguments) {
    winsize size{};
    size.ws_col = static_cast<unsigned short>(terminal.columns);
    size.ws_row = static_cast<unsigned short>(terminal.lines);
    std::vector<std::string> words{BUBBLESCOPE_PROGRAM};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<std::string> variables = terminal.variables;
    variables.insert(variables.end(), {// the first of a name holds
                                       "PATH=/usr/bin:/bin", "HOME=/nonexistent", "TERM=xterm"});
    const auto pointers = [](std::vector<std::string>& texts) {
        std::vector<char*> list;
        for (std::string& text : texts)
            list.push_back(text.data());
        list.push_back(nullptr);
        return list;
    };
    const std::vector<char*> argv = pointers(words);
    const std::vector<char*> environment = pointers(variables);
    int master = -1;
    const pid_t child = forkpty(&master, nullptr, nullptr, &size);
    if (child == 0) {
        execve(argv.front(), argv.data(), environment.data());
        _exit(127);
    }
    ProgramResult result;
    std::array<char, 4096> buffer{};
    for (ssize_t read_bytes = 0; (read_bytes = read(master, buffer.data(), buffer.size())) > 0;)
        result.out.append(buffer.data(), static_cast<std::size_t>(read_bytes));
    int status = 0;
    waitpid(child, &status, 0);
    close(master);
    result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    for (auto at = result.out.find("\r\n"); at != std::string::npos; at = result.out.find("\r\n", at))
        result.out.erase(at, 1);
    return result;
}

} // namespace bubblescope::test
