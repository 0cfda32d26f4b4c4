#!/bin/sh
# From words to a call, and to the inbox of an agent, with curl. BASE is the address of a server.
set -eu
BASE=${BASE:-http://127.0.0.1:8080}

# 1. Operations for what somebody said, in a form for small contexts.
curl -sSf "$BASE/api/v1/search?q=book+a+table&within_tokens=600"
echo

# 2. A line that calls one that only reads. Replace each {name} by a value, and the sample values as you
# need, and paste it into a shell. The services of the demo answer inside the demo alone.
curl -sSf "$BASE/api/v1/search?q=find+a+free+table+in+a+restaurant&verb=FIND&safe=true&limit=1&as=curl"

# 3. The agents that serve the operations, and the inboxes to write to: agent.sh writes to one.
curl -sSf "$BASE/api/v1/orchestrate?q=book+a+table&limit=1"
echo
