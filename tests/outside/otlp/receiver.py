"""Receives OTLP over HTTP and checks it with OpenTelemetry's own protobuf classes (PyPI: opentelemetry-proto).

    python receiver.py FOLDER

Writes its port to FOLDER/port, and appends one line of JSON per request to FOLDER/requests: the signal, the headers, and the
request as the protobuf classes understand it. Answers 400 with the reason to what they reject.
"""

import json
import os
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from google.protobuf import json_format
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2 as metrics
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as traces

SIGNALS = {
    "/v1/traces": (traces.ExportTraceServiceRequest, traces.ExportTraceServiceResponse),
    "/v1/metrics": (metrics.ExportMetricsServiceRequest, metrics.ExportMetricsServiceResponse),
}
PROTOBUF = "application/x-protobuf"


def check_identifiers(request):
    for of_resource in getattr(request, "resource_spans", []):
        for of_scope in of_resource.scope_spans:
            for span in of_scope.spans:
                if (len(span.trace_id), len(span.span_id)) != (16, 8) or len(span.parent_span_id) not in (0, 8):
                    raise ValueError(f"identifiers of span {span.name} have wrong sizes")


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        try:
            if self.headers["Content-Type"] != PROTOBUF:
                raise ValueError("not protobuf")
            kind, answer = SIGNALS[self.path]
            message = kind.FromString(body)
            check_identifiers(message)
        except Exception as reason:  # whatever is wrong with it, the sender gets to know
            self.answer(400, "text/plain", str(reason).encode())
            return
        with open(os.path.join(self.server.folder, "requests"), "a") as file:
            line = {"signal": self.path, "headers": dict(self.headers), "request": json_format.MessageToDict(message)}
            file.write(json.dumps(line) + "\n")
        self.answer(200, PROTOBUF, answer().SerializeToString())

    def answer(self, status, kind, body):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
server.folder = sys.argv[1]
with open(os.path.join(server.folder, "port.new"), "w") as port:
    port.write(str(server.server_address[1]))
os.rename(os.path.join(server.folder, "port.new"), os.path.join(server.folder, "port"))
server.serve_forever()
