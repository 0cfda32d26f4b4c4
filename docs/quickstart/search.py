"""From words to how an operation is called and to the inbox of an agent, with Python's standard library."""
import json
import os
import urllib.parse
import urllib.request

BASE = os.environ.get("BASE", "http://127.0.0.1:8080")


def get(path, **parameters):
    with urllib.request.urlopen(BASE + path + "?" + urllib.parse.urlencode(parameters)) as answer:
        return json.load(answer)


# 1. Operations for what somebody said.
found = get("/api/v1/search", q="book a table", limit=3)
for hit in found["hits"]:
    print(hit["operation"]["verb"], hit["host"], hit["operation"].get("intent", ""))

# 2. The same as tools for a model. Each one says under _meta how it is called: over HTTP at url. An
# operation of AGTP can also have http_binding: a POST there, with the verb in a header, calls it.
tools = get("/api/v1/search", q="book a table", limit=3, **{"as": "mcp"})["tools"]
for tool in tools:
    call = tool["_meta"]["gazetteer/call"]
    if "http_binding" in call:
        print(tool["name"], "POST", call["http_binding"], "X-AGIS-Method:", call["method"])
    else:
        print(tool["name"], call["method"], call.get("url", ""))

# 3. The agents that serve the operations, and the inboxes to write to.
for operation in get("/api/v1/orchestrate", q="book a table", limit=3)["operations"]:
    for agent in operation["agents"]:
        print("write to", agent["inbox"], agent["did"], agent["strength"])
