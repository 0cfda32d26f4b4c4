#!/bin/sh
# From words to how an operation is called and to the inbox of an agent, with curl. BASE is the address of a server.
set -eu
BASE=${BASE:-http://127.0.0.1:8080}

# 1. Operations for what somebody said, in a form for small contexts.
curl -sSf "$BASE/api/v1/search?q=book+a+table&within_tokens=600"
echo

# 2. Lines that call the operations. Replace each {name} by a value, and the sample values as you need.
curl -sSf "$BASE/api/v1/search?q=book+a+table&limit=3&as=curl"

# 3. The agents that serve the operations, and the inboxes to write to.
curl -sSf "$BASE/api/v1/orchestrate?q=book+a+table&limit=3"
echo
