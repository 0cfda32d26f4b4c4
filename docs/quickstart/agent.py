"""An agent of its own, with Python's standard library and openssl 3: registers, gives itself an inbox,
offers something to the agent that HANDLE names, and reads the answer.
Usage: BASE=http://127.0.0.1:8080 python3 agent.py HANDLE"""
import base64
import datetime
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid

BASE = os.environ.get("BASE", "http://127.0.0.1:8080")
HANDLE = sys.argv[1] if len(sys.argv) > 1 else "concierge"

# The key of the agent. A real agent keeps this file: anyone who has it is the agent.
directory = tempfile.TemporaryDirectory()
key = os.path.join(directory.name, "agent.pem")
subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", key], check=True)


def sign(text):
    with tempfile.NamedTemporaryFile(dir=directory.name) as message:
        message.write(text.encode())
        message.flush()
        command = ["openssl", "pkeyutl", "-sign", "-rawin", "-inkey", key, "-in", message.name]
        return subprocess.run(command, check=True, capture_output=True).stdout


def request(method, url, body=None, headers={}):
    if body is not None:
        headers = {"Content-Type": "application/json", **headers}
    message = urllib.request.Request(url, body.encode() if body is not None else None, headers, method=method)
    try:
        with urllib.request.urlopen(message) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        sys.exit(f"{method} {url}: {error.code} {error.read().decode()}")
    except urllib.error.URLError as error:
        sys.exit(f"{method} {url}: {error.reason}")


# 1. Look up the recipient first, so that a wrong handle registers nothing. Then register a name and a public key.
to = request("GET", f"{BASE}/api/v1/resolve?name={urllib.parse.quote(HANDLE)}")
if "inbox" not in to:
    sys.exit(f"{HANDLE} has no inbox")
public = subprocess.run(["openssl", "pkey", "-in", key, "-pubout", "-outform", "DER"], check=True, capture_output=True).stdout[-32:]
public_key = base64.urlsafe_b64encode(public).decode().rstrip("=")
me = request("POST", BASE + "/api/v1/agents/register", json.dumps({"name": "Python agent", "public_key": public_key}))
print("registered", me["air_id"])


def signed(method, url, value=None):
    """Send a request of the owner with an HTTP Message Signature (RFC 9421): one line for each component
    that is signed, then the parameters. The answer to a wrong signature shows the text that was expected."""
    body = None if value is None else json.dumps(value)
    parts = {"@method": method, "@target-uri": url}
    if body is not None:
        parts["content-digest"] = "sha-256=:" + base64.b64encode(hashlib.sha256(body.encode()).digest()).decode() + ":"
    names = " ".join(f'"{name}"' for name in parts)
    parameters = f'({names});created={int(time.time())};nonce="{uuid.uuid4()}";keyid="{me["did"]}"'
    lines = [f'"{name}": {part}' for name, part in {**parts, "@signature-params": parameters}.items()]
    signature = base64.b64encode(sign("\n".join(lines))).decode()
    headers = {"Signature-Input": "sig1=" + parameters, "Signature": f"sig1=:{signature}:"}
    if body is not None:
        headers["Content-Digest"] = parts["content-digest"]
    return request(method, url, body, headers)


# 2. Publish an inbox at the relay of the registry: others find it in the DID document of the agent.
inbox = f"{BASE}/inbox/{me['air_id']}"
signed("PUT", f"{BASE}/api/v1/agents/{me['air_id']}", {"service_endpoints": [{"type": "A2AInbox", "serviceEndpoint": inbox}]})


# 3. Write. The signature of an envelope covers its canonical JSON (RFC 8785) without the signature:
# for texts and whole numbers that is JSON without spaces and with sorted names.
def canonical(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def base58(data):
    digits, number, text = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz", int.from_bytes(data, "big"), ""
    while number:
        number, digit = divmod(number, 58)
        text = digits[digit] + text
    return "1" * (len(data) - len(data.lstrip(b"\0"))) + text


def utc(seconds):
    at = datetime.datetime.fromtimestamp(time.time() + seconds, datetime.timezone.utc)
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


envelope = {
    "id": str(uuid.uuid4()), "thread_id": str(uuid.uuid4()), "nonce": str(uuid.uuid4()), "timestamp": utc(0),
    "from": me["did"], "to": to["did"],
    "body": {
        "type": "Offer", "description": "A table for two at eight", "price": {"amount_cents": 500, "currency": "EUR"},
        "expires_at": utc(3600),
    },
}
envelope["signature"] = "z" + base58(sign(canonical(envelope)))
sent = request("POST", to["inbox"], json.dumps(envelope), {"X-A2A-Version": "draft-1"})
print("sent", sent["envelope_id"], sent["status"])

# 4. Read the answer, which arrives at once or within 25 seconds, and acknowledge it: the relay then
# deletes it. A real agent first verifies its signature under the key in the sender's DID document.
envelopes = signed("GET", f"{inbox}/pull?wait=25")["envelopes"]
for answer in envelopes:
    body = answer["body"]
    print("received", body["type"], canonical(body.get("price", "")), body.get("description") or body.get("reason", ""))
if envelopes:
    signed("POST", f"{inbox}/ack", {"envelope_ids": [answer["id"] for answer in envelopes]})
