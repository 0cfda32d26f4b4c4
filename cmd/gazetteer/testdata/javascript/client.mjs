// A client of A2A draft-1 that shares no code with Gazetteer: it registers an agent over the API of
// the AIR reference, signs envelopes, and pushes, pulls and acknowledges in the dialect of the deployed
// relay. Usage: node client.mjs BASE STATE COMMAND, with the agent's key kept in the file STATE.
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { ed25519 } from "@noble/curves/ed25519";
import bs58 from "bs58";
import canonicalize from "canonicalize";

const [base, statePath, command, ...args] = process.argv.slice(2);
const signReads = process.env.UNSIGNED_READS !== "1";

function readState() {
  const state = JSON.parse(readFileSync(statePath, "utf8"));
  return { ...state, key: Buffer.from(state.key, "hex") };
}

async function request(method, path, { body, headers = {} } = {}) {
  const response = await fetch(base + path, {
    method, body, headers: { ...(body ? { "content-type": "application/json" } : {}), ...headers },
  });
  const text = await response.text();
  let json;
  try { json = JSON.parse(text); } catch { throw new Error(`${method} ${path}: ${response.status} ${text}`); }
  return { status: response.status, headers: response.headers, json };
}

function expect(answer, status) {
  if (answer.status !== status) throw new Error(`want ${status}, got ${answer.status} ${JSON.stringify(answer.json)}`);
  return answer.json;
}

// Registers an agent with a new key and gives it an inbox at the relay.
async function register(name) {
  const key = ed25519.utils.randomPrivateKey();
  const made = expect(await request("POST", "/api/v1/agents/register", {
    body: JSON.stringify({ name, description: "Speaks A2A in JavaScript", public_key: Buffer.from(ed25519.getPublicKey(key)).toString("base64url") }),
  }), 201);
  const id = made.air_id;
  const did = expect(await request("GET", `/api/v1/agents/${id}/did-document`), 200).id;
  expect(await request("PUT", `/api/v1/agents/${id}`, {
    headers: { "x-agent-secret": made.agent_secret },
    body: JSON.stringify({ service_endpoints: [{ type: "A2AInbox", serviceEndpoint: `${base}/inbox/${did}` }] }),
  }), 200);
  writeFileSync(statePath, JSON.stringify({ did, key: Buffer.from(key).toString("hex"), cursor: 0, received: [] }), { mode: 0o600 });
  console.log(did);
}

// Signs an envelope over its canonical JSON without the member "signature" (§5.3).
function sign(envelope, key) {
  const bytes = Buffer.from(canonicalize(envelope), "utf8");
  return { ...envelope, signature: "z" + bs58.encode(ed25519.sign(bytes, key)) };
}

// Verifies an envelope under the key of its sender's DID document (§6.2).
async function verify({ signature, ...unsigned }) {
  const airId = unsigned.from.split(":").at(-1);
  const document = expect(await request("GET", `/api/v1/agents/${airId}/did-document`), 200);
  const method = document.verificationMethod.find((m) => m.id === `${unsigned.from}#key-1`);
  const multikey = bs58.decode(method.publicKeyMultibase.slice(1)); // two bytes say that it is Ed25519
  if (document.id !== unsigned.from || multikey[0] !== 0xed || multikey[1] !== 0x01) throw new Error("another key");
  const bytes = Buffer.from(canonicalize(unsigned), "utf8");
  return ed25519.verify(bs58.decode(signature.slice(1)), bytes, multikey.slice(2));
}

function newEnvelope(state, to, body, answered) {
  return {
    id: crypto.randomUUID(), from: state.did, to, timestamp: new Date().toISOString(),
    thread_id: answered?.thread_id ?? crypto.randomUUID(), in_reply_to: answered?.id ?? null,
    nonce: Buffer.from(crypto.getRandomValues(new Uint8Array(16))).toString("base64url"), body,
  };
}

async function push(envelope) {
  return request("POST", `/inbox/${envelope.to}`, { body: JSON.stringify(envelope) });
}

// Signs a request of the inbox's owner (RFC 9421), where the relay asks for that.
function signedHeaders(state, method, path, body) {
  if (!signReads) return {};
  const url = new URL(base + path);
  const digest = body ? `sha-256=:${createHash("sha256").update(body).digest("base64")}:` : undefined;
  const parts = [["@method", method], ["@authority", url.host], ["@path", url.pathname], ["@query", url.search || "?"]];
  if (digest) parts.push(["content-digest", digest]);
  const params = `(${parts.map(([name]) => `"${name}"`).join(" ")});created=${Math.floor(Date.now() / 1000)};keyid="${state.did}#key-1";alg="ed25519"`;
  const text = [...parts, ["@signature-params", params]].map(([name, value]) => `"${name}": ${value}`).join("\n");
  const signature = Buffer.from(ed25519.sign(Buffer.from(text), state.key)).toString("base64");
  return { "signature-input": `sig1=${params}`, signature: `sig1=:${signature}:`, ...(digest ? { "content-digest": digest } : {}) };
}

async function owned(state, method, path, body) {
  return request(method, path, { body, headers: signedHeaders(state, method, path, body) });
}

// Pulls what is behind the cursor, verifies it, and acknowledges it.
async function pull() {
  const state = readState();
  const page = expect(await owned(state, "GET", `/pull/${state.did}?since=${state.cursor}&wait=20`), 200);
  if (page.recipient_did !== state.did) throw new Error("mail of another");
  for (const message of page.messages) {
    const envelope = JSON.parse(Buffer.from(message.envelope_b64, "base64").toString("utf8"));
    if (!(await verify(envelope))) throw new Error(`the signature of ${message.envelope_id} does not verify`);
    if (envelope.id !== message.envelope_id || envelope.from !== message.sender_did || message.seq <= state.cursor) throw new Error("the page contradicts the envelope");
    state.cursor = message.seq;
    state.received.push(envelope);
    console.log(`${envelope.body.type} ${JSON.stringify(envelope.body)} verified`);
  }
  if (page.messages.length > 0) {
    const ids = JSON.stringify({ envelope_ids: page.messages.map((m) => m.envelope_id) });
    const done = expect(await owned(state, "POST", `/ack/${state.did}`, ids), 200);
    console.log(`${done.status} ${done.acked_count}`);
  }
  writeFileSync(statePath, JSON.stringify({ ...state, key: state.key.toString("hex") }));
}

async function send(to, description, cents) {
  const state = readState();
  const body = { type: "Offer", description, price: { amount_cents: Number(cents), currency: "EUR" }, expires_at: new Date(Date.now() + 3600e3).toISOString() };
  const queued = expect(await push(sign(newEnvelope(state, to, body), state.key)), 202);
  console.log(`${queued.status} ${queued.envelope_id} ${typeof queued.seq}`);
}

async function accept() {
  const state = readState();
  const counter = state.received.at(-1);
  const body = { type: "Accept", accepted_price: counter.body.price };
  console.log(expect(await push(sign(newEnvelope(state, counter.from, body, counter), state.key)), 202).status);
}

// Every refusal has the code of the deployed relay.
async function misbehave(to) {
  const state = readState();
  const good = sign(newEnvelope(state, to, { type: "text", text: "hello ✓ \u{1F600}" }), state.key);
  const attempts = { once: good, twice: good, forged: { ...good, id: crypto.randomUUID() }, unsigned: { ...good, id: crypto.randomUUID(), signature: undefined }, nameless: { ...good, id: undefined } };
  for (const [name, envelope] of Object.entries(attempts)) {
    const { status, json } = await push({ to, ...envelope });
    console.log(name, status, json.error ?? json.status);
  }
  const { status, json } = await request("GET", `/pull/${to}?since=0`);
  console.log("another's mail", status, json.error ?? json.messages.length);
}

await ({ register, send, pull, accept, misbehave })[command](...args);
