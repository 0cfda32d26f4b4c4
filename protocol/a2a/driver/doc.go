// Package driver tests the library against vectors: it reads cases, one JSON object
// a line, and answers each with two lines, one for each profile, so that any
// implementation can be compared with any set of vectors.
//
//	in:  {"id": …, "op": "verify", "input": {…}}
//	out: {"id": …, "profile": "strict", "verdict": "accept", "status": 200, "error": null, …}
//
// A verdict is accept, reject or already-processed. Status and error are those of
// A2A draft-1 §9; rule and detail say more about a rejection. Members that end in
// _b64 are bytes in standard base64. Begin with [Run], or [Answer] for one case.
//
//	canonicalize                    json_b64
//	                                → canonical_b64, canonical_sha256
//	verify                          envelope_b64, now, did_documents
//	                                → canonical_sha256, signature_form
//	decode_public_key               public_key_multibase → public_key_hex
//	register_public_key             public_key_base64url → public_key_hex
//	seal                            env {from, to, id, thread_id}, body_json,
//	                                recipient_public_multibase, eph_secret_hex,
//	                                nonce_hex → sealed_body_json
//	verify_then_open                envelope_b64, recipient_seed_hex, now,
//	                                did_documents → plaintext_b64
//	receive_all                     did_documents, steps of envelope_b64, now and
//	                                via, "pull" or "" → steps of verdict, status, error
//	air_id_from_identity_document   identity_document_json → air_id
//	parse_air_id                    air_id → air_id
//
// did_documents maps each DID to its document; no other DID resolves. now is a time
// in RFC 3339 or a number of seconds. The JSON of body_json and
// identity_document_json is text or the value itself; sealed_body_json has the same
// form. receive_all begins with a recipient that has received nothing and accepts
// envelopes to any DID; a case has at most 12,000 steps, in 16 MiB.
//
// A case that cannot be read is rejected with 400. No case ends the driver.
package driver
