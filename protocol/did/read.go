package did

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"gazetteer/protocol"
)

// MaxDocument is the size in bytes up to which a DID document is read. The longest that the AIR
// registry makes has about 30 KB.
const MaxDocument = 64 << 10

// documentLimits are the limits for an untrusted document.
var documentLimits = protocol.Limits{Bytes: MaxDocument, Depth: 32, Members: 1000, Number: 64}

// maxEntries is the number of verification methods, and of services, that are read from one
// document.
const maxEntries = 100

// CodeDocument is the code of errors about a document as a whole.
const CodeDocument = "did-document"

// ParseDocument reads an untrusted DID document. It refuses a document whose id is not the DID that
// was resolved: otherwise a host could answer with the document of another (did:web §3.2, did:wba).
// It reads JSON strictly. It skips members that [Document] lacks, verification methods without an
// Ed25519 key, and services whose endpoint is not a text; it completes ids that begin with "#". The
// error is an [*Error].
func ParseDocument(text []byte, asked string) (Document, error) {
	refuse := func(message, help string) (Document, error) {
		return Document{}, &Error{CodeDocument, message, help}
	}
	root, err := protocol.ReadJSON(text, documentLimits)
	if syntax, ok := errors.AsType[*protocol.SyntaxError](err); ok {
		return refuse("the DID document cannot be read: "+syntax.Error(), "publish one JSON object of at most 64 KiB")
	}
	if err != nil {
		return Document{}, err
	}
	if root.Kind != protocol.Object {
		return refuse("the DID document is no JSON object", "")
	}
	id := root.Member("id").Str()
	if id != asked {
		return refuse(fmt.Sprintf("the DID document is that of %q", protocol.ClipBytes(id, maxQuoted)), fmt.Sprintf("its id must be the requested DID, %s", protocol.ClipBytes(asked, maxQuoted)))
	}
	d := Document{ID: id, Context: textsOf(root.Member("@context")), AlsoKnownAs: textsOf(root.Member("alsoKnownAs"))}
	for _, n := range itemsOf(root.Member("verificationMethod")) {
		d.addMethod(n)
	}
	d.Authentication = d.readRelation(root.Member("authentication"))
	d.AssertionMethod = d.readRelation(root.Member("assertionMethod"))
	for _, n := range itemsOf(root.Member("service")) {
		s := Service{ID: d.absoluteID(n.Member("id").Str()), Type: firstOf(n.Member("type")), ServiceEndpoint: firstOf(n.Member("serviceEndpoint"))}
		if s.Type != "" && s.ServiceEndpoint != "" {
			d.Service = append(d.Service, s)
		}
	}
	return d, nil
}

// addMethod adds a verification method with an Ed25519 key and returns its id, "" for any other
// key. A publicKeyJwk becomes a multikey.
func (d *Document) addMethod(n *protocol.Node) string {
	if n.Kind != protocol.Object || len(d.VerificationMethod) == maxEntries {
		return ""
	}
	m := VerificationMethod{
		ID: d.absoluteID(n.Member("id").Str()), Type: n.Member("type").Str(), Controller: n.Member("controller").Str(),
		PublicKeyMultibase: n.Member("publicKeyMultibase").Str(), Revoked: n.Member("revoked").Str(),
	}
	if jwk := n.Member("publicKeyJwk"); m.PublicKeyMultibase == "" && jwk.Member("kty").Str() == "OKP" && jwk.Member("crv").Str() == "Ed25519" {
		if key, err := base64.RawURLEncoding.Strict().DecodeString(jwk.Member("x").Str()); err == nil && CheckKey(key) == nil {
			m.PublicKeyMultibase = FormatMultikey(key)
		}
	}
	if m.ID == "" || m.PublicKeyMultibase == "" {
		return ""
	}
	d.VerificationMethod = append(d.VerificationMethod, m)
	return m.ID
}

// readRelation reads a list of verification methods: ids, or whole methods that hold
// for this relation alone.
func (d *Document) readRelation(n *protocol.Node) []string {
	var out []string
	for _, item := range itemsOf(n) {
		switch item.Kind {
		case protocol.String:
			out = append(out, d.absoluteID(item.Text))
		case protocol.Object:
			if id := d.addMethod(item); id != "" {
				out = append(out, id)
			}
		}
	}
	return out
}

// absoluteID completes an id that is relative to the document's (DID Core §3.2.2).
func (d *Document) absoluteID(id string) string {
	if strings.HasPrefix(id, "#") {
		return d.ID + id
	}
	return id
}

// firstOf returns a text, or the first of a list of texts.
func firstOf(n *protocol.Node) string {
	if texts := textsOf(n); len(texts) > 0 {
		return texts[0]
	}
	return ""
}

// textsOf returns a list of texts; a single text is a list of one.
func textsOf(n *protocol.Node) []string {
	if n != nil && n.Kind == protocol.String {
		return []string{n.Text}
	}
	var out []string
	for _, item := range itemsOf(n) {
		if item.Kind == protocol.String {
			out = append(out, item.Text)
		}
	}
	return out
}

// itemsOf returns the first items of a list, none of anything else.
func itemsOf(n *protocol.Node) []*protocol.Node {
	if n == nil || n.Kind != protocol.Array {
		return nil
	}
	return n.Items[:min(len(n.Items), maxEntries)]
}
