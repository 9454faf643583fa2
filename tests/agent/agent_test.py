"""An agent that knows only the text of the tools of `bubblescope mcp` finds the planted fault of each run.

usage: agent_test.py PROGRAM
"""

import json
import re
import shlex
import subprocess
import sys
import tempfile

from planted_runs import Fault, Maker, plans


class Server:
    def __init__(self, program):
        self.process = subprocess.Popen([program, "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.last = 0

    def send(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def line(self):
        return json.loads(self.process.stdout.readline())

    def raw(self, line):
        self.send(line)
        return self.line()

    def ask(self, method, **params):
        self.last += 1
        response = self.raw(json.dumps({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params}))
        assert response["id"] == self.last, response
        return response

    def tool(self, tool, **arguments):
        """The text alone."""
        result = self.ask("tools/call", name=tool, arguments=arguments)["result"]
        return result["content"][0]["text"]

    def end(self):
        self.process.stdin.close()
        return self.process.wait(timeout=20)


FINDING = re.compile(r"^(?:serious|warning|notice) ([a-z-]+)(?: \((.*?)\))?: (.*)$", re.M)
# The first of these that a run shows explains what else it shows.
KINDS = {
    "aadiff-mismatch": "bit flip",
    "missing-op": "missing op",
    "duplicate-op": "duplicate op",
    "degrading-link": "slow link",
    "slow-link": "slow link",
    "straggler": "slow rank",
    "slow-stage": "slow stage",
    "last-stage-imbalance": "slow stage",
    "slow-op": "hiccup",
    "data-imbalance": "long micro-batch",
    "order-departure": "wrong order",
    "time-between-steps": "idle between steps",
    "exposed-communication": "exposed communication",
    "step-time-change": "step time change",
}


def number(pattern, text):
    found = re.search(pattern, text)
    return int(found.group(1)) if found else None


def solve(server, path):
    opened = server.tool("open", path=path)
    missing = number(r"rank (\d+) is missing(?! [FBIWO]\d)", opened)
    if missing is not None:
        return Fault("missing rank", missing)
    findings = {kind: (where or "", text) for kind, where, text in reversed(FINDING.findall(server.tool("findings", path=path)))}
    for kind, means in KINDS.items():
        if kind not in findings:
            continue
        where, text = findings[kind]
        # With one chunk per rank a slow stage is a slow rank.
        if means == "slow stage" and "v = 1" in opened:
            means = "slow rank"
        return Fault(means, number(r"(?:^|, )rank (\d+)", where), number(r"to rank (\d+)", where), number(r"step (\d+)", where))
    return Fault("none")


def agrees(found, planted):
    return found.kind == planted.kind and all(
        getattr(planted, part) is None or getattr(found, part) == getattr(planted, part)
        for part in ("rank", "peer", "step"))


def check_planted(server, maker):
    wrong = []
    all_plans = plans()
    for index, plan in enumerate(all_plans):
        fault = plan.fault
        plan.name = f"run-{index}"  # the name must not tell
        path = maker.make(plan)
        found = solve(server, path)
        if not agrees(found, fault):
            wrong.append(f"{plan.name}: planted {fault}, found {found}")
    print(f"{len(all_plans) - len(wrong)} of {len(all_plans)} planted faults found")
    assert not wrong, "\n".join(wrong)
    assert len(all_plans) >= 40


def code(response):
    assert "result" not in response, response
    return response["error"]["code"]


def check_protocol(server):
    assert code(server.raw("{")) == -32700
    assert code(server.raw("[1")) == -32700
    assert code(server.raw("[]")) == -32600
    assert code(server.raw("3")) == -32600
    assert code(server.raw('{"jsonrpc": "1.0", "id": 1, "method": "ping"}')) == -32600
    assert code(server.raw('{"jsonrpc": "2.0", "id": null, "method": "ping"}')) == -32600
    assert code(server.raw('{"jsonrpc": "2.0", "id": 1}')) == -32600
    assert code(server.ask("tools/list")) == -32600  # not initialized yet
    assert code(server.ask("initialize")) == -32602
    begun = server.ask("initialize", protocolVersion="2025-03-26", capabilities={}, clientInfo={"name": "t", "version": "1"})
    assert begun["result"]["protocolVersion"] == "2025-03-26"
    assert begun["result"]["serverInfo"]["name"] == "bubblescope"
    assert server.ask("initialize", protocolVersion="1999-01-01")["result"]["protocolVersion"] == "2025-06-18"
    server.send('{"jsonrpc": "2.0", "method": "notifications/initialized"}')  # no response
    assert server.ask("ping")["result"] == {}
    assert code(server.ask("tools/lst")) == -32601
    assert code(server.ask("tools/call", name="nothing")) == -32602
    assert code(server.ask("tools/call", name="open")) == -32602
    assert code(server.ask("tools/call", name="open", arguments={"path": 3})) == -32602
    assert code(server.ask("tools/call", name="open", arguments={"path": "x", "pth": "y"})) == -32602
    failed = server.ask("tools/call", name="open", arguments={"path": "/no/such/trace"})["result"]
    assert failed["isError"] and "/no/such/trace" in failed["content"][0]["text"]
    batch = server.raw('[{"jsonrpc": "2.0", "id": "a", "method": "ping"}, {"jsonrpc": "2.0", "method": "x"}, 7]')
    assert [one.get("id") for one in batch] == ["a", None]
    tools = {tool["name"]: tool for tool in server.ask("tools/list")["result"]["tools"]}
    assert {"open", "answer", "findings", "whatif", "diff", "query", "plan"} == set(tools)
    for tool in tools.values():
        assert tool["inputSchema"]["type"] == "object" and tool["description"]


def check_answers(server, maker):
    """Each answer has its evidence, and the command that it names repeats it."""
    by_name = {plan.name: plan for plan in plans()}
    slow, fine = maker.make(by_name["i2"]), maker.make(by_name["fine2"])
    calls = {
        "open": {"path": slow},
        "answer": {"path": slow},
        "findings": {"path": slow, "kind": "straggler"},
        "whatif": {"path": slow, "changes": ["rank:2=usual"]},
        "diff": {"before": fine, "after": slow},
        "query": {"path": slow, "sql": "SELECT count(*) AS n FROM finding"},
        "plan": {"model": "llama3-8b", "gpu": "h100", "gpus": 8, "global_batch": 64},
    }
    for tool, arguments in calls.items():
        result = server.ask("tools/call", name=tool, arguments=arguments)["result"]
        text, data = result["content"][0]["text"], result["structuredContent"]
        assert len(text) < 6000, (tool, len(text))
        command = text.rstrip("\n").split("\n")[-1].removeprefix("Repeat: ")
        assert command == data["command"] and command.startswith("bubblescope "), text
        done = subprocess.run([maker.program, *shlex.split(command)[1:]], capture_output=True, text=True)
        assert done.returncode == 0, (command, done.stderr)
        if tool == "answer":
            assert done.stdout.split("\n")[0] in text
        if tool == "findings":
            assert data["findings"][0]["rank"] == 2 and data["findings"][0]["evidence"]
        if tool == "query":
            assert done.stdout in text, (done.stdout, text)
        if tool == "whatif":
            assert data["predicted_step_time_ns"] < data["step_time_ns"]
    wrong = server.ask("tools/call", name="whatif", arguments={"path": slow, "changes": ["rank:9=usual"]})["result"]
    assert wrong["isError"]


def main():
    program = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        server, maker = Server(program), Maker(program, folder)
        check_protocol(server)
        check_answers(server, maker)
        check_planted(server, maker)
        assert server.end() == 0


main()
