-- Recorded without CUDA: ranges are all there is.
CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, globalTid INTEGER, text TEXT);
INSERT INTO NVTX_EVENTS VALUES (10, 20, 59, 83886089, 'F0'), (20, 40, 59, 83886089, 'B0'), (40, 45, 59, 83886089, 'Optimizer');
