package document

import (
	"strconv"
	"strings"

	"gazetteer/internal/psl"
	"gazetteer/protocol/aidiscovery"
	"gazetteer/protocol/wording"
)

// maxCapabilities is the number of capabilities of a document that become operations (AI Discovery
// §6.5).
const maxCapabilities = 100

func parseAI(text []byte, o ParseOptions) (Parsed, error) {
	ai, findings, err := aidiscovery.Parse(text, aidiscovery.Options{
		Limits: o.Limits, Host: o.Host, SameSite: psl.SameDomain, Now: o.Today,
	})
	if err != nil {
		return Parsed{Findings: findings}, err
	}
	return Parsed{Findings: findings, Document: ai, Root: ai.Root, Operations: len(ai.Capabilities)}, nil
}

func translateAI(d *Document, p Parsed) {
	ai := p.Document.(*aidiscovery.Document)
	if d.Kind == AIAlias {
		d.Findings = append(d.Findings, aidiscovery.AliasOnly())
	}
	d.Service = aiService(ai)
	seen := ids{}
	for i, c := range ai.Capabilities[:min(len(ai.Capabilities), maxCapabilities)] {
		op := aiOperation(d.Host, c)
		if op.ID == "" {
			op.ID = "capability-" + strconv.Itoa(i+1)
		}
		op.ID = seen.uniqueID(op.ID)
		d.Operations = append(d.Operations, op)
	}
}

func aiService(ai *aidiscovery.Document) Service {
	s := Service{
		Name: ai.Service.Name, Description: ai.Service.Description,
		Categories: ai.Service.Category, Languages: ai.Service.Language,
	}
	if s.Languages == nil {
		s.Languages = []string{"en"} // AI Discovery §3.2: the default
	}
	if ai.Auth != nil {
		s.Auth, s.AuthHeader, s.Docs = ai.Auth.Type, ai.Auth.Header, ai.Auth.Docs
	}
	return s
}

func aiOperation(host string, c aidiscovery.Capability) Operation {
	return Operation{
		ID:          c.ID,
		Verb:        wording.Verb(c.ID, c.Description, c.Method),
		VerbDerived: true,
		Intent:      c.Description,
		Returns:     c.Returns,
		Effect:      EffectUnknown,
		Parameters:  aiParameters(c),
		Call:        Call{Protocol: "http", Method: c.Method, URL: aiURL(host, c.Endpoint)},
		Pointer:     c.Pointer,
	}
}

// aiURL resolves an endpoint against the requested host (AI Discovery §3.3). Path parameters are
// written {name} in the result. It returns "" for a text that is not an address, and for one that
// looks like a path but leads to another host.
func aiURL(host, endpoint string) string {
	switch form, _ := aidiscovery.Endpoint(endpoint); form {
	case aidiscovery.Relative:
		return "https://" + host + bracePath(endpoint)
	case aidiscovery.Absolute:
		scheme, rest, _ := strings.Cut(endpoint, "://")
		authority, path, slash := strings.Cut(rest, "/")
		if !slash {
			return endpoint
		}
		return scheme + "://" + authority + bracePath("/"+path)
	default:
		return ""
	}
}

// bracePath replaces :name segments by {name}.
func bracePath(path string) string {
	path, query, asked := strings.Cut(path, "?")
	segments := strings.Split(path, "/")
	for i, s := range segments {
		if name, ok := strings.CutPrefix(s, ":"); ok && name != "" {
			segments[i] = "{" + name + "}"
		}
	}
	path = strings.Join(segments, "/")
	if asked {
		path += "?" + query
	}
	return path
}

// aiParameters returns the location of each parameter. The draft leaves it open: a name in the path
// is a path parameter, and the method decides for the others.
func aiParameters(c aidiscovery.Capability) []Parameter {
	inPath := map[string]bool{}
	for _, name := range aidiscovery.PathParams(c.Endpoint) {
		inPath[name] = true
	}
	elsewhere := ""
	switch c.Method {
	case "GET", "DELETE":
		elsewhere = "query"
	case "POST", "PUT", "PATCH":
		elsewhere = "body"
	}
	var out []Parameter
	declared := map[string]bool{}
	for _, p := range c.Params {
		declared[p.Name] = true
		out = append(out, Parameter{
			Name: p.Name, Type: p.Type, Required: p.Required || inPath[p.Name],
			Description: joinDescription(p.Description, p.Constraints), In: elsewhere, Sample: p.Meaning().Sample(p.Type),
		})
		if inPath[p.Name] {
			out[len(out)-1].In = "path"
		}
	}
	for _, name := range aidiscovery.PathParams(c.Endpoint) {
		if !declared[name] { // a path cannot be called without its parameters
			declared[name] = true
			out = append(out, Parameter{Name: name, Required: true, In: "path"})
		}
	}
	return out
}

// joinDescription joins a description and the remarks about it.
func joinDescription(description string, more []string) string {
	rest := strings.Join(more, ", ")
	switch {
	case rest == "":
		return description
	case description == "":
		return rest
	default:
		return description + " (" + rest + ")"
	}
}
