// An agent of its own, with JavaScript (Node 20 or later, without packages): registers, gives itself an
// inbox, offers something to the agent that HANDLE names, and reads the answer.
// Usage: BASE=http://127.0.0.1:8080 node agent.mjs HANDLE
const base = process.env.BASE ?? "http://127.0.0.1:8080";
const handle = process.argv[2] ?? "concierge";

// The key of the agent. A real agent stores it: anyone who has it is the agent.
const key = await crypto.subtle.generateKey("Ed25519", false, ["sign"]);
const sign = async (text) => Buffer.from(await crypto.subtle.sign("Ed25519", key.privateKey, Buffer.from(text)));
const sha256 = async (text) => Buffer.from(await crypto.subtle.digest("SHA-256", Buffer.from(text)));

// Ends the program with one line.
function fail(line) {
  console.error(line);
  process.exit(1);
}

async function request(method, url, body, headers = {}) {
  const options = { method, body, headers: { ...(body && { "Content-Type": "application/json" }), ...headers } };
  const answer = await fetch(url, options).catch((error) => fail(`${method} ${url}: ${error.cause?.message || error.cause?.code || error.message}`));
  const text = await answer.text();
  if (!answer.ok) fail(`${method} ${url}: ${answer.status} ${text}`);
  return JSON.parse(text);
}

// 1. Look up the recipient first, so that a wrong handle registers nothing. Then register a name and a public key.
const to = await request("GET", `${base}/api/v1/resolve?name=${encodeURIComponent(handle)}`);
if (!to.inbox) fail(`${handle} has no inbox`);
const publicKey = Buffer.from(await crypto.subtle.exportKey("raw", key.publicKey)).toString("base64url");
const me = await request("POST", `${base}/api/v1/agents/register`, JSON.stringify({ name: "Node agent", public_key: publicKey }));
console.log("registered", me.air_id);

// A write of the owner has an HTTP Message Signature (RFC 9421): one line for each component that is
// signed, then the parameters. The answer to a wrong signature shows the text that was expected.
async function signed(method, url, value) {
  const body = value && JSON.stringify(value);
  const parts = [["@method", method], ["@target-uri", url]];
  if (body) parts.push(["content-digest", `sha-256=:${(await sha256(body)).toString("base64")}:`]);
  const names = parts.map(([name]) => `"${name}"`).join(" ");
  const parameters = `(${names});created=${Math.floor(Date.now() / 1000)};nonce="${crypto.randomUUID()}";keyid="${me.did}"`;
  const text = [...parts, ["@signature-params", parameters]].map(([name, part]) => `"${name}": ${part}`).join("\n");
  return request(method, url, body, {
    "Signature-Input": `sig1=${parameters}`,
    Signature: `sig1=:${(await sign(text)).toString("base64")}:`,
    ...(body && { "Content-Digest": parts.at(-1)[1] }),
  });
}

// 2. Publish an inbox at the relay of the registry: others find it in the DID document of the agent.
const inbox = `${base}/inbox/${me.air_id}`;
await signed("PUT", `${base}/api/v1/agents/${me.air_id}`, { service_endpoints: [{ type: "A2AInbox", serviceEndpoint: inbox }] });

// 3. Write. The signature of an envelope covers its canonical JSON (RFC 8785) without the signature:
// for texts and whole numbers that is JSON without spaces and with sorted names.
const canonical = (v) =>
  Array.isArray(v) ? `[${v.map(canonical)}]`
  : v && typeof v === "object" ? `{${Object.keys(v).sort().map((name) => JSON.stringify(name) + ":" + canonical(v[name]))}}`
  : JSON.stringify(v);

function base58(bytes) {
  const digits = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
  let text = "";
  for (let n = BigInt("0x" + bytes.toString("hex")); n > 0n; n /= 58n) text = digits[Number(n % 58n)] + text;
  return "1".repeat(bytes.findIndex((byte) => byte)) + text;
}

const envelope = {
  id: crypto.randomUUID(), thread_id: crypto.randomUUID(), nonce: crypto.randomUUID(), timestamp: new Date().toISOString(),
  from: me.did, to: to.did,
  body: {
    type: "Offer", description: "A table for two at eight", price: { amount_cents: 500, currency: "EUR" },
    expires_at: new Date(Date.now() + 3600e3).toISOString(),
  },
};
envelope.signature = "z" + base58(await sign(canonical(envelope)));
const sent = await request("POST", to.inbox, JSON.stringify(envelope), { "X-A2A-Version": "draft-1" });
console.log("sent", sent.envelope_id, sent.status);

// 4. Read the answer, which arrives at once or within 25 seconds, and acknowledge it: the relay then
// deletes it. A real agent first verifies its signature under the key in the sender's DID document.
const { envelopes } = await signed("GET", `${inbox}/pull?wait=25`);
for (const { body } of envelopes) console.log("received", body.type, JSON.stringify(body.price ?? ""), body.description ?? body.reason ?? "");
if (envelopes.length > 0) await signed("POST", `${inbox}/ack`, { envelope_ids: envelopes.map(({ id }) => id) });
