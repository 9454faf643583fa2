#pragma once

#include "tests/support/scratch_folder.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

namespace bubblescope::test {

/// A program that runs concurrently with the test. The destructor kills the program if it is still running.
class Beside {
public:
    Beside(const std::vector<std::string>& words, const std::string& out) {
        std::array<int, 2> pipe{-1, -1};
        EXPECT_EQ(::pipe(pipe.data()), 0);
        child_ = ::fork();
        if (child_ != 0) {
            ::close(pipe[1]);
            err_ = pipe[0];
            return;
        }
        ::close(pipe[0]);
        if (std::freopen(out.c_str(), "w", stdout) == nullptr || ::dup2(pipe[1], STDERR_FILENO) < 0) ::_exit(1);
        std::vector<std::string> texts = words;
        texts.insert(texts.begin(), BUBBLESCOPE_PROGRAM);
        std::vector<char*> arguments;
        for (std::string& text : texts)
            arguments.push_back(text.data());
        arguments.push_back(nullptr);
        ::execv(arguments[0], arguments.data());
        ::_exit(1);
    }
    ~Beside() {
        ::close(err_);
        if (child_ <= 0) return;
        ::kill(child_, SIGKILL);
        ::waitpid(child_, nullptr, 0);
    }
    Beside(const Beside&) = delete;
    Beside& operator=(const Beside&) = delete;

    void signal(int number) const { ::kill(child_, number); }
    /// Waits for the next line on standard error that contains `begin`; returns the text after it.
    [[nodiscard]] std::string said(const std::string& begin) const {
        std::string line;
        for (char c = 0; ::read(err_, &c, 1) == 1;) {
            if (c != '\n') {
                line += c;
                continue;
            }
            if (line.starts_with(begin)) return line.substr(begin.size());
            line.clear();
        }
        ADD_FAILURE() << "it never said: " << begin;
        return {};
    }
    int wait() {
        int status = 0;
        ::waitpid(child_, &status, 0);
        child_ = 0;
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }

private:
    pid_t child_ = 0;
    int err_ = -1;
};

/// The JSON documents of a file with one document per line.
inline std::vector<nlohmann::json> documents(const std::string& file) {
    std::vector<nlohmann::json> all;
    std::istringstream lines(readAll(file));
    for (std::string line; std::getline(lines, line);) {
        all.push_back(nlohmann::json::parse(line, nullptr, false));
        EXPECT_FALSE(all.back().is_discarded()) << line;
    }
    return all;
}

inline std::vector<nlohmann::json> ofKind(const std::vector<nlohmann::json>& all, const std::string& kind) {
    std::vector<nlohmann::json> chosen;
    std::ranges::copy_if(all, std::back_inserter(chosen),
                         [&](const nlohmann::json& one) { return one["event"] == kind; });
    return chosen;
}

} // namespace bubblescope::test
