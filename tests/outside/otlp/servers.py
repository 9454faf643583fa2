"""Sends the analysis of a run to a real receiver of OTLP, and checks through the receiver's own API what it stored.

    python3 servers.py PROGRAM SERVER EXECUTABLE

SERVER is mlflow or phoenix (EXECUTABLE is a Python that has it) or victoria-metrics (EXECUTABLE is the server, 1.92 or
later). Exits with 0 if everything was found, and prints what was compared.
"""

import base64
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request

RUN = "--schedule 1f1b --pp 4 --microbatches 8 --forward 4ms --backward 8ms --inject slow:rank=2,factor=2".split()
PATIENCE = 120  # seconds until a server is ready, and until it shows what it has received


def get(url, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=30) as reply:
        return reply.read().decode()


def get_json(url, body=None):
    return json.loads(get(url, body))


def scalar(value):
    """Attributes have one of several kinds of values; 64-bit integers are strings in JSON."""
    if not isinstance(value, dict):
        return value
    for kind, content in value.items():
        name = kind.lower().replace("_", "")
        if content is None:
            continue
        if name == "intvalue":
            return int(content)
        if name in ("stringvalue", "boolvalue", "doublevalue"):
            return content
    return None


def attributes(pairs):
    return {pair["key"]: scalar(pair["value"]) for pair in pairs or []}


class Mlflow:
    ready = "/health"
    address = "/v1/traces"  # it receives no metrics
    headers = "x-mlflow-experiment-id=0"

    def command(self, executable, folder, port):
        store = f"sqlite:///{folder}/mlflow.db"
        return [executable, "-m", "mlflow", "server", "--backend-store-uri", store, "--host", "127.0.0.1", "--port",
                str(port), "--workers", "1"]

    def spans(self, base):
        search = {"locations": [{"type": "MLFLOW_EXPERIMENT", "mlflow_experiment": {"experiment_id": "0"}}]}
        found = get_json(base + "/api/3.0/mlflow/traces/search", search)
        for trace in found.get("traces", []):
            name = urllib.parse.quote(trace["trace_id"])
            stored = get_json(f"{base}/api/3.0/mlflow/traces/get?trace_id={name}")
            for span in stored["trace"]["spans"]:
                yield {
                    "trace": base64.b64decode(span["trace_id"]).hex(),
                    "id": base64.b64decode(span["span_id"]).hex(),
                    "parent": base64.b64decode(span.get("parent_span_id", "")).hex(),
                    "name": span["name"],
                    "begin": int(span["start_time_unix_nano"]),
                    "end": int(span["end_time_unix_nano"]),
                    "attributes": attributes(span["attributes"]),
                    "error": span["status"].get("message", "") if "ERROR" in span["status"].get("code", "") else "",
                }


class Phoenix:
    ready = "/healthz"
    address = "/v1/traces"  # it receives no metrics
    headers = "x-project-name=pipeline%20runs"

    def command(self, executable, folder, port):
        os.environ.update(PHOENIX_WORKING_DIR=folder, PHOENIX_HOST="127.0.0.1", PHOENIX_PORT=str(port),
                          PHOENIX_GRPC_PORT=str(free_port()), PHOENIX_TELEMETRY_ENABLED="false")
        return [executable, "-m", "phoenix.server.main", "serve"]

    def spans(self, base):
        for span in get_json(base + "/v1/projects/pipeline%20runs/spans/otlpv1?limit=1000")["data"]:
            failed = span["status"]["code"] == 2
            yield {
                "trace": span["trace_id"],
                "id": span["span_id"],
                "parent": span["parent_span_id"] or "",
                "name": span["name"],
                "begin": int(span["start_time_unix_nano"]),
                "end": int(span["end_time_unix_nano"]),
                "attributes": attributes(span["attributes"]),
                "error": span["status"]["message"] if failed else "",
            }


class VictoriaMetrics:
    ready = "/health"
    address = "/opentelemetry/v1/metrics"
    headers = ""

    def command(self, executable, folder, port):
        return [executable, f"-storageDataPath={folder}/data", f"-httpListenAddr=127.0.0.1:{port}",
                "-opentelemetry.usePrometheusNaming", "-search.latencyOffset=0s"]

    def metrics(self, base):
        """Prometheus' naming has underscores for dots, and appends units and _total."""
        query = urllib.parse.quote('{__name__=~"pp.*"}')
        for series in get_json(f"{base}/api/v1/query?query={query}")["data"]["result"]:
            yield series["metric"], float(series["value"][1])


SERVERS = {"mlflow": Mlflow, "phoenix": Phoenix, "victoria-metrics": VictoriaMetrics}


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(what, attempt):
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            found = attempt()
            if found:
                return found
            reason = "nothing there"
        except OSError as error:
            reason = str(error)
        if time.monotonic() > deadline:
            sys.exit(f"{what}: {reason} after {PATIENCE} s")
        time.sleep(0.5)


def near(found, expected, tolerance=1e-9):
    return abs(found - expected) <= tolerance * max(1, abs(expected))


def expect(holds, what, *details):
    if not holds:
        sys.exit(f"{what}: {details}")


def check_spans(spans, report, sent):
    """One span for the step, with children for its ranks and findings. Some servers keep times as microseconds."""
    step = report["steps"][0]
    roots = [span for span in spans if not span["parent"]]
    expect([span["name"] for span in roots] == ["step 0"], "root spans", roots)
    root = roots[0]
    expect(abs(root["end"] - root["begin"] - step["wall_ns"]) <= 2000, "duration", root, step["wall_ns"])
    expect(sent[0] - 2000 <= root["end"] <= sent[1] + 2000, "end", root["end"], sent)
    expect(near(root["attributes"]["pp.bubble.ratio"], step["bubble_rate"]), "bubble ratio", root, step["bubble_rate"])
    expect(root["attributes"]["pp.typical"] is True, "a boolean", root)
    children = [span for span in spans if span["parent"]]
    expect(all((span["parent"], span["trace"]) == (root["id"], root["trace"]) for span in children), "parents", spans)
    ranks = {span["attributes"]["pp.rank"]: span for span in children if span["name"].startswith("rank ")}
    expect(sorted(ranks) == [rank["rank"] for rank in step["ranks"]], "ranks", sorted(ranks))
    for rank in step["ranks"]:
        found = ranks[rank["rank"]]["attributes"]
        for key, name in (("pp.busy", "busy_ns"), ("pp.bubble.time", "bubble_ns"),
                          ("pp.bubble.expected", "expected_bubble_ns")):
            if rank[name] is not None:
                expect(near(found[key], rank[name] * 1e-9), "rank", key, found, rank)
    findings = sorted(
        (span["name"], span["attributes"]["pp.finding.message"], span["error"])
        for span in children
        if not span["name"].startswith("rank ")
    )
    expected = sorted(
        (finding["kind"], finding["message"], finding["message"] if finding["severity"] == "serious" else "")
        for finding in report["anomalies"]
    )
    expect(findings == expected, "findings", findings, expected)
    expect(any(error for _, _, error in findings), "no span has the status of an error", findings)
    print(f"{len(spans)} spans: 1 step, {len(ranks)} ranks, {len(findings)} findings, times, attributes and errors")


def check_metrics(series, report):
    step = report["steps"][0]

    def value(name, **labels):
        found = [
            number
            for metric, number in series
            if metric["__name__"].startswith(name) and all(metric.get(key) == text for key, text in labels.items())
        ]
        expect(len(found) == 1, "series", name, labels, series)
        return found[0]

    expect(value("pp_steps_total") == 1, "steps")
    expect(near(value("pp_step_duration_seconds"), step["wall_ns"] * 1e-9), "duration")
    expect(near(value("pp_bubble_ratio"), step["bubble_rate"]), "bubble ratio")
    for rank in step["ranks"]:
        expect(near(value("pp_rank_busy_seconds", rank=str(rank["rank"])), rank["busy_ns"] * 1e-9), "busy", rank)
    kinds = {finding["kind"] for finding in report["anomalies"]}
    for kind in kinds:
        count = sum(finding["kind"] == kind for finding in report["anomalies"])
        expect(value("pp_findings", kind=kind) == count, "findings", kind)
    print(f"{len(series)} series: steps, duration, bubble ratio, {len(step['ranks'])} ranks, {len(kinds)} findings")


def main():
    program, name, executable = sys.argv[1:]
    server = SERVERS[name]()
    os.environ["DO_NOT_TRACK"] = "1"
    with tempfile.TemporaryDirectory() as folder:
        port = free_port()
        base = f"http://127.0.0.1:{port}"
        with open(os.path.join(folder, "log"), "w") as log:
            command = server.command(executable, folder, port)
            process = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log, start_new_session=True)
        try:
            wait_for(f"{name} is not ready", lambda: get(base + server.ready) or True)
            trace = os.path.join(folder, "run.pftrace")
            subprocess.run([program, "simulate", *RUN, "--out", trace], check=True, stdout=subprocess.DEVNULL)
            sent = [time.time_ns()]
            result = subprocess.run(
                [program, "analyze", trace, "--json", "--otlp", base + server.address],
                env={**os.environ, "OTEL_EXPORTER_OTLP_HEADERS": server.headers},
                capture_output=True,
                text=True,
            )
            sent.append(time.time_ns())
            expect(result.returncode == 0, f"exit code {result.returncode}", result.stderr)
            report = json.loads(result.stdout)
            if hasattr(server, "spans"):
                total = 1 + len(report["steps"][0]["ranks"]) + len(report["anomalies"])

                def all_spans():
                    found = list(server.spans(base))
                    return found if len(found) >= total else None

                check_spans(wait_for("spans", all_spans), report, sent)
            else:
                check_metrics(wait_for("metrics", lambda: list(server.metrics(base))), report)
        finally:
            os.killpg(process.pid, signal.SIGKILL)  # with its workers; nobody needs the data
            process.wait()


main()
