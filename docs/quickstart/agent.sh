#!/bin/sh
# An agent of its own, with curl and openssl 3: registers, gives itself an inbox, offers something to the agent
# that HANDLE names, and reads the answer. Usage: BASE=http://127.0.0.1:8080 sh agent.sh HANDLE
set -eu
BASE=${BASE:-http://127.0.0.1:8080}
handle=${1:-concierge}
dir=$(mktemp -d)
trap 'rm -r "$dir"' EXIT

# The key of the agent. A real agent keeps this file: anyone who has it is the agent.
openssl genpkey -algorithm ed25519 -out "$dir/key"
sign() { # signs the text of standard input
	cat >"$dir/text"
	openssl pkeyutl -sign -rawin -inkey "$dir/key" -in "$dir/text"
}
member() { sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p"; } # the text of a member of JSON
random() { openssl rand -hex 16 | sed 's/^\(........\)\(....\).\(...\).\(...\)/\1-\2-4\3-8\4-/'; } # a UUID
utc() { # the time in so many seconds, with milliseconds, with date of GNU or of BSD
	at=$(($(date +%s) + $1))
	date -u -d "@$at" +%Y-%m-%dT%H:%M:%S.000Z 2>"$dir/error" || date -u -r "$at" +%Y-%m-%dT%H:%M:%S.000Z
}

# 1. Look up the recipient first, so that a wrong handle registers nothing. Then register a name and a public key.
to=$(curl -sS --fail-with-body --get "$BASE/api/v1/resolve" --data-urlencode "name=$handle") || { echo "$to" >&2; exit 1; }
to_inbox=$(echo "$to" | member inbox) to_did=$(echo "$to" | member did)
[ -n "$to_inbox" ] || { echo "$handle has no inbox" >&2; exit 1; }
public=$(openssl pkey -in "$dir/key" -pubout -outform DER | tail -c 32 | openssl base64 -A | tr '+/' '-_' | tr -d =)
me=$(curl -sS --fail-with-body "$BASE/api/v1/agents/register" -H 'Content-Type: application/json' -d "{\"name\": \"Shell agent\", \"public_key\": \"$public\"}")
id=$(echo "$me" | member air_id) did=$(echo "$me" | member did)
echo "registered $id"

# A request of the owner has an HTTP Message Signature (RFC 9421): one line for each component that is
# signed, then the parameters. The answer to a wrong signature shows the text that was expected.
signed() { # METHOD URL [BODY]
	names='"@method" "@target-uri"' lines=$(printf '"@method": %s\n"@target-uri": %s' "$1" "$2") digest=
	if [ $# = 3 ]; then
		digest="sha-256=:$(printf %s "$3" | openssl dgst -sha256 -binary | openssl base64 -A):"
		names="$names \"content-digest\"" lines=$(printf '%s\n"content-digest": %s' "$lines" "$digest")
	fi
	parameters="($names);created=$(date +%s);nonce=\"$(random)\";keyid=\"$did\""
	signature=$(printf '%s\n"@signature-params": %s' "$lines" "$parameters" | sign | openssl base64 -A)
	curl -sS --fail-with-body -X "$1" "$2" -H "Signature-Input: sig1=$parameters" -H "Signature: sig1=:$signature:" \
		${3:+-H "Content-Digest: $digest" -H 'Content-Type: application/json' --data-raw "$3"}
}

# 2. Publish an inbox at the relay of the registry: others find it in the DID document of the agent.
inbox=$BASE/inbox/$id
signed PUT "$BASE/api/v1/agents/$id" "{\"service_endpoints\": [{\"type\": \"A2AInbox\", \"serviceEndpoint\": \"$inbox\"}]}" >"$dir/answer"

# 3. Write. The signature of an envelope covers its canonical JSON (RFC 8785) without the signature:
# for texts and whole numbers that is JSON without spaces and with sorted names.
base58() {
	od -An -v -tu1 | tr -s ' \n' '\n\n' | awk 'NF {
		carry = $1
		for (i = 0; i < n || carry; i++) { carry += 256 * digit[i]; digit[i] = carry % 58; carry = int(carry / 58) }
		n = i; some += $1; zeros += !some
	} END {
		while (n && !digit[n - 1]) n--
		while (zeros-- > 0) printf "1"
		while (n) printf "%s", substr("123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz", digit[--n] + 1, 1)
	}'
}
body="{\"description\":\"A table for two at eight\",\"expires_at\":\"$(utc 3600)\",\"price\":{\"amount_cents\":500,\"currency\":\"EUR\"},\"type\":\"Offer\"}"
members="\"body\":$body,\"from\":\"$did\",\"id\":\"$(random)\",\"nonce\":\"$(random)\",\"thread_id\":\"$(random)\",\"timestamp\":\"$(utc 0)\",\"to\":\"$to_did\""
signature=z$(printf '{%s}' "$members" | sign | base58)
sent=$(curl -sS --fail-with-body "$to_inbox" -H 'Content-Type: application/json' -H 'X-A2A-Version: draft-1' -d "{$members,\"signature\":\"$signature\"}")
echo "sent $(echo "$sent" | member envelope_id) $(echo "$sent" | member status)"

# 4. Read the answer, which arrives at once or within 25 seconds, and acknowledge it: the relay then
# deletes it. A real agent first verifies its signature under the key in the sender's DID document.
mail=$(signed GET "$inbox/pull?wait=25")
echo "received $mail"
ids=$(echo "$mail" | grep -o '"id":"[^"]*"' | sed 's/^"id"://' | paste -sd , -)
[ -z "$ids" ] || signed POST "$inbox/ack" "{\"envelope_ids\": [$ids]}" >"$dir/answer"
