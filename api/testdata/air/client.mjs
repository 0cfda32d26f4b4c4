// Calls everything that the npm package agent-identity-registry 0.1.0 offers,
// against the registry at the first address; the second is the listener of its
// operator. Prints one line of JSON for each call: its name, and the answer or
// the error that the package made of it.
import { createHash, createPrivateKey, createPublicKey } from "node:crypto";
import { AIRClient, loadPrivateKeyFromSeed } from "agent-identity-registry";

const [base, operator] = process.argv.slice(2);
const client = new AIRClient({ baseUrl: base });
const admin = new AIRClient({ baseUrl: operator, adminKey: "any" });

const seed = (n) => createHash("sha256").update(`air-rec-${n}`).digest();
const publicKey = (key) => createPublicKey(key).export({ format: "jwk" }).x;

async function call(name, work) {
  const line = { name };
  try {
    line.answer = await work();
  } catch (e) {
    line.error = { class: e.constructor.name, status: e.statusCode, message: e.message, envelope: e.envelope, airId: e.airId, retryAfterSeconds: e.retryAfterSeconds };
  }
  console.log(JSON.stringify(line));
  return line.answer ?? {};
}

const aliceKey = loadPrivateKeyFromSeed(seed(0));
const bobKey = loadPrivateKeyFromSeed(seed(2));

await call("health", () => client.getHealth());
const alice = await call("register, DID minted", () => client.registerAgent({ name: "Alice", publicKey: publicKey(aliceKey), capabilities: ["translate"] }));
const bob = await call("register, external DID", () => client.registerAgent({ name: "Bob", creatorDid: "did:wba:one.example", publicKey: publicKey(bobKey), creatorType: "organization", creatorName: "Bob GmbH" }));
// Only who is older than a month may attest: the test makes Bob so, and says when.
await new Promise((resolve) => process.stdin.once("data", resolve));
process.stdin.unref();
await call("get", () => client.getAgent(alice.air_id));
await call("trust score", () => client.getTrustScore(alice.air_id));
await call("DID document", () => client.getDidDocument(alice.air_id));
await call("check name", () => client.checkName("alice"));
await call("list", () => client.listAgents({ limit: 5 }));
await call("update", () => client.updateAgent(alice.air_id, { agentSecret: alice.agent_secret, description: "translates", openSource: true }));
const attested = await call("attest", () => client.attest(alice.air_id, { attesterAirId: bob.air_id, attestationType: "safety_review", privateKey: bobKey, agentSecret: bob.agent_secret, statement: "grüß – <Gott>" }));
await call("list attestations", () => client.listAttestations(alice.air_id));
await call("recent attestations", () => client.recentAttestations({ limit: 3 }));
await call("revoke", () => client.revokeAttestation(alice.air_id, attested.attestation_id, { agentSecret: bob.agent_secret }));
await call("admin stats", () => admin.getAdminStats());
await call("admin recent", () => admin.getAdminRecent({ limit: 1 }));
await call("delete", () => admin.deleteAgent(alice.air_id));

// Each of its typed errors.
await call("400", () => client.registerAgent({ name: "" }));
await call("401", () => client.updateAgent(bob.air_id, { agentSecret: "0".repeat(32), description: "x" }));
await call("403", young);
await call("404", () => client.getAgent("AIR-0000-0000-0000"));
await call("409", () => client.revokeAttestation(alice.air_id, attested.attestation_id, { agentSecret: bob.agent_secret }));

// An agent of today may not attest yet.
async function young() {
  const key = loadPrivateKeyFromSeed(seed(3));
  const carol = await client.registerAgent({ name: "Carol", creatorDid: "did:wba:two.example.org", publicKey: publicKey(key) });
  return client.attest(bob.air_id, { attesterAirId: carol.air_id, attestationType: "dependency", privateKey: key, agentSecret: carol.agent_secret });
}
