#pragma once

#include <fmt/format.h>
#include <sqlite3.h>

#include <cstddef>
#include <filesystem>
#include <string>

namespace bubblescope::bench {

/// Writes an SQLite export like those of Nsight Systems, with `kernels` kernels on four streams of each of two devices.
inline void writeNsysLike(const std::filesystem::path& file, std::size_t kernels) {
    constexpr long long kProcess = 5LL << 24;
    std::filesystem::remove(file);
    sqlite3* connection = nullptr;
    sqlite3_open(file.string().c_str(), &connection);
    sqlite3_exec(connection, R"sql(
        PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN;
        CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL);
        CREATE TABLE PROCESSES (globalPid INTEGER, pid INTEGER, name TEXT);
        INSERT INTO PROCESSES VALUES (83886080, 5, 'python3');
        CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER, utcTime TEXT, localTime TEXT);
        INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1779630000000000000, '', '');
        CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
            contextId INTEGER NOT NULL, greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER,
            globalPid INTEGER, demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL, mangledName INTEGER,
            launchType INTEGER, cacheConfig INTEGER, registersPerThread INTEGER NOT NULL, gridX INTEGER NOT NULL,
            gridY INTEGER NOT NULL, gridZ INTEGER NOT NULL, blockX INTEGER NOT NULL, blockY INTEGER NOT NULL,
            blockZ INTEGER NOT NULL, staticSharedMemory INTEGER NOT NULL, dynamicSharedMemory INTEGER NOT NULL,
            localMemoryPerThread INTEGER NOT NULL, localMemoryTotal INTEGER NOT NULL, gridId INTEGER NOT NULL);
    )sql",
                 nullptr, nullptr, nullptr);
    for (int i = 1; i <= 300; ++i) {
        const std::string insert =
            fmt::format("INSERT INTO StringIds VALUES ({}, 'void cutlass::Kernel<gemm_{}x128_tn>(Params)')", i, i);
        sqlite3_exec(connection, insert.c_str(), nullptr, nullptr, nullptr);
    }
    sqlite3_stmt* row = nullptr;
    sqlite3_prepare_v2(connection,
                       "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?1, ?2, ?3, 1, NULL, ?4, ?5, ?6, ?7, ?7, ?7, 1, "
                       "0, 128, ?8, 64, 1, 256, 1, 1, 0, 49152, 0, 134217728, ?5)",
                       -1, &row, nullptr);
    for (std::size_t i = 0; i < kernels; ++i) {
        const auto number = static_cast<long long>(i);
        const long long start = 1'000'000'000 + number * 2000;
        sqlite3_bind_int64(row, 1, start);
        sqlite3_bind_int64(row, 2, start + 9000 + number % 997);
        sqlite3_bind_int64(row, 3, number % 2);
        sqlite3_bind_int64(row, 4, 7 + number / 2 % 4);
        sqlite3_bind_int64(row, 5, 1000 + number);
        sqlite3_bind_int64(row, 6, kProcess);
        sqlite3_bind_int64(row, 7, 1 + number % 300);
        sqlite3_bind_int64(row, 8, 8 + number % 40);
        sqlite3_step(row);
        sqlite3_reset(row);
    }
    sqlite3_finalize(row);
    sqlite3_exec(connection, "COMMIT", nullptr, nullptr, nullptr);
    sqlite3_close(connection);
}

} // namespace bubblescope::bench
