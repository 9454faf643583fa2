-- Registered strings: NVTX texts are numbers. Pushed ranges nest, started ones (type 60) need not; one is open, one is a
-- mark (34), one a domain's name (75). A wait for a whole device has no stream.
CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL);
INSERT INTO StringIds VALUES (1, 'outer'), (2, 'inner'), (3, 'started'), (4, 'python3'), (5, 'worker'), (6, 'gemm<float>'), (7, 'gemm');
CREATE TABLE PROCESSES (globalPid INTEGER, pid INTEGER, name TEXT);
INSERT INTO PROCESSES VALUES (83886080, 5, 'python3');
CREATE TABLE ThreadNames (nameId INTEGER, priority INTEGER, globalTid INTEGER);
INSERT INTO ThreadNames VALUES (5, 0, 83886089);
CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER, utcTime TEXT);
INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1779630000000000000, 'a Sunday');
CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, rangeId INTEGER, category INTEGER,
  color INTEGER, text TEXT, globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER, domainId INTEGER);
INSERT INTO NVTX_EVENTS VALUES
  (100, 900, 59, NULL, NULL, NULL, NULL, 83886089, NULL, 1, 0),
  (200, 300, 59, NULL, NULL, NULL, NULL, 83886089, NULL, 2, 0),
  (250, 950, 60, 1, NULL, NULL, NULL, 83886089, 83886089, 3, 0),
  (400, 990, 60, 2, NULL, NULL, NULL, 83886089, 83886089, 3, 0),
  (500, NULL, 59, NULL, NULL, NULL, 'open', 83886089, NULL, NULL, 0),
  (600, NULL, 34, NULL, NULL, NULL, 'mark', 83886089, NULL, NULL, 0),
  (0, NULL, 75, NULL, NULL, NULL, 'a domain', 83886089, NULL, NULL, 1);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, greenContextId INTEGER,
  streamId INTEGER, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER, shortName INTEGER, mangledName INTEGER,
  gridX INTEGER, gridY INTEGER, gridZ INTEGER, blockX INTEGER, blockY INTEGER, blockZ INTEGER, graphNodeId INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (300, 700, 1, 1, NULL, 7, 1, 83886080, 6, 7, 7, 8, 1, 1, 128, 1, 1, NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER,
  streamId INTEGER, correlationId INTEGER, globalPid INTEGER, syncType INTEGER, eventId INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (310, 720, 1, 1, 4294967295, 2, 83886080, 4, 0);
