"""From words to a call, and to the inbox of an agent, with Python's standard library."""
import json
import os
import sys
import urllib.error
import urllib.parse
import urllib.request

BASE = os.environ.get("BASE", "http://127.0.0.1:8080")


def get(path, **parameters):
    try:
        with urllib.request.urlopen(BASE + path + "?" + urllib.parse.urlencode(parameters)) as answer:
            return json.load(answer)
    except (urllib.error.URLError, ValueError) as error:  # or BASE is not an address
        sys.exit(f"{BASE}{path}: {error}")


def call(how, values):
    """Call an operation as `call` of a hit describes it, with the values of its parameters by name."""
    url, method, headers = how["url"], how["method"], {}
    if "http_binding" in how:  # an operation of AGTP that can be called over HTTP: its verb is in a header
        url, method, headers = how["http_binding"], "POST", {"X-AGIS-Method": how["method"], "X-AGIS-Grammar": "AGIS/1.0"}
    query, body = {}, {}
    for parameter in how.get("parameters", []):
        name, place = parameter["name"], parameter["in"]
        if name not in values:
            continue
        if place == "path":
            url = url.replace("{" + name + "}", urllib.parse.quote(str(values[name]), safe=""))
        elif place == "header":
            headers[name] = str(values[name])
        else:
            (query if place == "query" else body)[name] = values[name]
    if query:
        url += "?" + urllib.parse.urlencode(query)
    if body:
        headers["Content-Type"] = "application/json"
    request = urllib.request.Request(url, json.dumps(body).encode() if body else None, headers, method=method)
    with urllib.request.urlopen(request, timeout=30) as answer:
        return answer.read().decode()


# 1. Operations for what somebody said.
for hit in get("/api/v1/search", q="book a table", limit=3)["hits"]:
    print(hit["operation"]["verb"], hit["host"], hit["operation"].get("intent", ""))

# 2. One that only reads, and its call. The services of the demo answer inside the demo alone.
for hit in get("/api/v1/search", q="find a free table in a restaurant", verb="FIND", safe="true", limit=1)["hits"]:
    print("call", hit["operation"]["id"], "at", hit["host"])
    try:
        print("answer", call(hit["call"], {"location": "Rome", "party_size": 2})[:1000])
    except urllib.error.URLError as error:
        print("no answer:", error.reason)

# 3. The same operations as tools for a model. Each one has its call under _meta.
for tool in get("/api/v1/search", q="book a table", limit=3, **{"as": "mcp"})["tools"]:
    print("tool", tool["name"], tool["_meta"]["gazetteer/call"]["method"])

# 4. The agents that serve the operations, and the inboxes to write to: agent.py writes to one.
for operation in get("/api/v1/orchestrate", q="book a table", limit=3)["operations"]:
    for agent in operation["agents"]:
        print("write to", agent["inbox"], agent["did"], agent["strength"])
