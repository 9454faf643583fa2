"""Receives OTLP over HTTP and checks it with OpenTelemetry's own protobuf classes (PyPI: opentelemetry-proto).

    python receiver.py FOLDER

Writes its port to FOLDER/port, and appends one line of JSON per request to FOLDER/requests: the signal, and the request as
the protobuf classes understand it. Answers 400 with the reason to what they reject.
"""

import base64
import json
import os
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from google.protobuf import json_format
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2 as metrics
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as traces

KINDS = {"/v1/traces": traces.ExportTraceServiceRequest, "/v1/metrics": metrics.ExportMetricsServiceRequest}
ID_BYTES = {"traceId": 16, "spanId": 8, "parentSpanId": 8}


def from_otlp(value):
    """OTLP writes identifiers as hexadecimal digits, protobuf's JSON as base64."""
    if isinstance(value, list):
        return [from_otlp(item) for item in value]
    if not isinstance(value, dict):
        return value
    made = {}
    for key, item in value.items():
        if key in ID_BYTES:
            digits = bytes.fromhex(item)
            if len(digits) != ID_BYTES[key]:
                raise ValueError(f"{key} has {len(digits)} bytes")
            item = base64.b64encode(digits).decode()
        made[key] = from_otlp(item)
    return made


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        try:
            if self.headers["Content-Type"] != "application/json":
                raise ValueError("not JSON")
            message = KINDS[self.path]()
            json_format.ParseDict(from_otlp(json.loads(body)), message)
        except Exception as reason:  # whatever is wrong with it, the sender gets to know
            self.answer(400, {"message": str(reason)})
            return
        with open(os.path.join(self.server.folder, "requests"), "a") as file:
            line = {"signal": self.path, "request": json_format.MessageToDict(message)}
            file.write(json.dumps(line) + "\n")
        self.answer(200, {"partialSuccess": {}})

    def answer(self, status, document):
        text = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
server.folder = sys.argv[1]
with open(os.path.join(server.folder, "port.new"), "w") as port:
    port.write(str(server.server_address[1]))
os.rename(os.path.join(server.folder, "port.new"), os.path.join(server.folder, "port"))
server.serve_forever()
