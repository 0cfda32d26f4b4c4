package registry

import (
	"encoding/base64"
	"encoding/json"
	"strconv"
	"time"
)

// Every registration and change writes an agent twice, into its record and into
// the entry of its history, which is also the leaf of the transparency log. What
// these are made of is written here without reflection, byte for byte what
// [json.Marshal] writes: TestEncodeAsMarshal compares them for every member.

// EncodeAgent returns the JSON of an agent.
func EncodeAgent(a *Agent) ([]byte, error) {
	o := object{b: make([]byte, 0, 640)} // most are smaller
	o.agent(a)
	return o.b, o.err
}

// encodeEntry returns the JSON of an entry with an agent, nil for none; e.Agent is
// not looked at, so that the agent need not outlive the call.
func encodeEntry(e *Entry, agent *Agent) ([]byte, error) {
	o := object{b: make([]byte, 0, 768)}
	o.open()
	o.number("n", e.N)
	o.text("air_id", e.AirID)
	o.text("event", e.Event)
	o.text("actor", e.Actor)
	o.maybeTexts("changed_fields", e.Fields)
	o.time("at", e.At)
	if e.Authority != nil {
		o.value("authority", e.Authority)
	}
	if e.Attestation != nil {
		o.value("attestation", e.Attestation)
	}
	o.maybeText("origin", e.Origin)
	if agent != nil {
		o.name("agent")
		o.agent(agent)
	}
	o.text("prev_hash", e.PrevHash)
	o.text("entry_hash", e.Hash)
	o.close()
	return o.b, o.err
}

// An object appends JSON to b. After an error what b holds means nothing.
type object struct {
	b   []byte
	err error
}

func (o *object) agent(a *Agent) {
	o.open()
	o.text("air_id", a.AirID)
	o.text("name", a.Name)
	o.maybeText("handle", a.Handle)
	o.maybeText("description", a.Description)
	o.bytes("public_key", a.PublicKey)
	o.maybeTime("key_since", a.KeySince)
	o.maybeText("key_proof", a.KeyProof)
	if len(a.Retired) > 0 {
		o.value("retired", a.Retired)
	}
	o.maybeText("commitment", a.Commitment)
	if a.Recovery != nil {
		o.value("recovery", a.Recovery)
	}
	o.text("creator_did", a.CreatorDID)
	o.maybeText("creator_name", a.CreatorName)
	o.maybeText("creator_type", a.CreatorType)
	o.maybeTexts("capabilities", a.Capabilities)
	o.maybeTexts("security_certifications", a.SecurityCertifications)
	if a.OpenSource {
		o.raw("open_source", "true")
	}
	o.maybeText("code_repository", a.CodeRepository)
	o.maybeText("documentation_url", a.DocumentationURL)
	if len(a.ServiceEndpoints) > 0 {
		o.value("service_endpoints", a.ServiceEndpoints)
	}
	if len(a.Domains) > 0 {
		o.value("domains", a.Domains)
	}
	if len(a.Observed) > 0 {
		o.value("observed", a.Observed)
	}
	if len(a.Attested) > 0 {
		o.value("attested", a.Attested)
	}
	if len(a.Issued) > 0 {
		o.value("issued", a.Issued)
	}
	if a.Standing != (AttestationSummary{}) {
		o.value("standing", a.Standing)
	}
	if len(a.SecretHash) > 0 {
		o.bytes("secret_hash", a.SecretHash)
	}
	if len(a.Nonces) > 0 {
		o.value("nonces", a.Nonces)
	}
	if a.WriteBudgetUntil != 0 {
		o.number("busy", int(a.WriteBudgetUntil))
	}
	o.maybeText("merged_into", a.MergedInto)
	o.maybeTexts("absorbed", a.Absorbed)
	o.maybeText("origin", a.Origin)
	o.maybeTime("imported", a.Imported)
	o.text("status", a.Status)
	o.maybeText("reason", a.Reason)
	o.time("created", a.Created)
	o.time("updated", a.Updated)
	if a.Entries != 0 {
		o.number("entries", a.Entries)
	}
	o.maybeText("last_hash", a.LastHash)
	o.close()
}

func (o *object) open()  { o.b = append(o.b, '{') }
func (o *object) close() { o.b = append(o.b, '}') }

// name begins a member.
func (o *object) name(name string) {
	if o.b[len(o.b)-1] != '{' {
		o.b = append(o.b, ',')
	}
	o.b = append(o.b, '"')
	o.b = append(o.b, name...)
	o.b = append(o.b, '"', ':')
}

func (o *object) raw(name, json string) {
	o.name(name)
	o.b = append(o.b, json...)
}

func (o *object) number(name string, n int) {
	o.name(name)
	o.b = strconv.AppendInt(o.b, int64(n), 10)
}

func (o *object) text(name, text string) {
	o.name(name)
	o.string(text)
}

func (o *object) maybeText(name, text string) {
	if text != "" {
		o.text(name, text)
	}
}

func (o *object) maybeTexts(name string, texts []string) {
	if len(texts) == 0 {
		return
	}
	o.name(name)
	for i, text := range texts {
		o.b = append(o.b, "[,"[min(i, 1)])
		o.string(text)
	}
	o.b = append(o.b, ']')
}

// string appends a text; one with a character that must be escaped is left to
// [json.Marshal].
func (o *object) string(text string) {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			o.marshal(text)
			return
		}
	}
	o.b = append(o.b, '"')
	o.b = append(o.b, text...)
	o.b = append(o.b, '"')
}

func (o *object) bytes(name string, data []byte) {
	o.name(name)
	if data == nil {
		o.b = append(o.b, "null"...)
		return
	}
	o.b = append(o.b, '"')
	o.b = base64.StdEncoding.AppendEncode(o.b, data)
	o.b = append(o.b, '"')
}

func (o *object) time(name string, t time.Time) {
	o.name(name)
	o.b = append(o.b, '"')
	b, err := t.AppendText(o.b)
	if err != nil {
		o.err = err
		return
	}
	o.b = append(b, '"')
}

func (o *object) maybeTime(name string, t time.Time) {
	if !t.IsZero() {
		o.time(name, t)
	}
}

func (o *object) value(name string, v any) {
	o.name(name)
	o.marshal(v)
}

func (o *object) marshal(v any) {
	text, err := json.Marshal(v)
	if err != nil {
		o.err = err
	}
	o.b = append(o.b, text...)
}
