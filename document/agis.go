package document

import (
	"cmp"
	"regexp"
	"strings"

	"gazetteer/protocol/agis"
	"gazetteer/protocol/aidiscovery"
)

func parseAGIS(text []byte, o ParseOptions) (Parsed, error) {
	doc, findings, err := agis.Parse(text, agis.Options{Limits: o.Limits, Level: o.Level})
	if err != nil {
		return Parsed{Findings: findings}, err
	}
	return Parsed{Findings: findings, Document: doc, Root: doc.Root, Operations: len(doc.Endpoints)}, nil
}

func translateAGIS(d *Document, p Parsed) {
	doc := p.Document.(*agis.Document)
	d.Service = Service{
		Name: doc.Service, Description: doc.Description, Version: doc.ServiceVersion,
		Domain: doc.Vocabulary.Domain, Namespace: doc.Vocabulary.Namespace,
		Protocols: doc.Links.InteractionProtocols, AGTP: doc.AGTP,
	}
	r := agisReader{doc: doc, text: maxDerived}
	seen := ids{}
	for _, e := range doc.Endpoints[:min(len(doc.Endpoints), agis.MaxEndpoints)] {
		op := r.readOperation(e)
		op.ID = seen.uniqueID(op.ID)
		d.Operations = append(d.Operations, op)
	}
	if doc.DataManifest != nil {
		for _, c := range doc.DataManifest.Available {
			d.DataClasses = append(d.DataClasses, DataClass{
				Name: c.Class, Description: c.Description, Sensitivity: c.Sensitivity, RequiresAuthorization: c.RequiresAuthorization,
			})
		}
	}
	d.agisLinks(doc.Links)
}

func (d *Document) agisLinks(l agis.Links) {
	d.addLinks(RelAGISDocument, l.AGISDocument)
	d.addLinks(RelRelated, l.RelatedServices...)
	d.addLinks(RelMCPTools, l.MCPToolsList)
}

const (
	// maxDerived is the number of bytes of text that the operations of one document may take from
	// schemas. References let many operations share one long schema, and the store would hold a
	// copy for each.
	maxDerived = 4 * aidiscovery.HardSize
	// maxURL is the longest address that is repeated for each operation.
	maxURL = 2048
)

// agisReader converts endpoints to operations.
type agisReader struct {
	doc  *agis.Document
	text int // bytes left of maxDerived
}

// spendBytes deducts n bytes and reports whether that many were left.
func (r *agisReader) spendBytes(n int) bool {
	r.text -= n
	return r.text >= 0
}

func (r *agisReader) readOperation(e agis.Endpoint) Operation {
	s := e.Semantic
	op := Operation{
		ID:         strings.TrimSpace(e.Method + " " + e.Path),
		Verb:       strings.ToUpper(e.Method),
		Path:       e.Path,
		Intent:     s.Intent,
		Outcome:    s.Outcome,
		Returns:    r.describeReturns(e),
		Actor:      s.Actor,
		Capability: s.Capability,
		Effect:     effectOf(s.ImpactTier),
		Idempotent: s.Idempotent,
		Parameters: r.readParameters(e),
		Call:       agtpCall(r.doc.AGTP),
		Pointer:    e.Pointer,
	}
	op.ID = cmp.Or(op.ID, "endpoint")
	for _, c := range e.Errors {
		op.Errors = append(op.Errors, c.Name)
	}
	return op
}

// agtpCall says that an operation is called over AGTP, at the address of its
// service.
func agtpCall(address string) Call {
	if len(address) > maxURL {
		address = ""
	}
	return Call{Protocol: "agtp", URL: address}
}

func effectOf(tier string) Effect {
	switch e := Effect(tier); e {
	case Informational, Reversible, Irreversible:
		return e
	default:
		return EffectUnknown
	}
}

// describeReturns names the fields of the output.
func (r *agisReader) describeReturns(e agis.Endpoint) string {
	output := r.doc.Resolve(e.Output, e.Output)
	text := output.Member("description").Str()
	if properties := output.Member("properties"); properties != nil {
		var names []string
		for _, m := range properties.Items[:min(len(properties.Items), agis.MaxParameters)] {
			if m.Key != "" {
				names = append(names, m.Key)
			}
		}
		text = strings.Join(names, ", ")
	}
	if !r.spendBytes(len(text)) {
		return ""
	}
	return text
}

var pathParameter = regexp.MustCompile(`\{([^{}/]+)\}`)

func (r *agisReader) readParameters(e agis.Endpoint) []Parameter {
	inPath, declared := map[string]bool{}, map[string]bool{}
	named := pathParameter.FindAllStringSubmatch(e.Path, agis.MaxParameters)
	for _, m := range named {
		inPath[m[1]] = true
	}
	var out []Parameter
	for _, p := range r.doc.Parameters(e) {
		declared[p.Name] = true
		q := Parameter{
			Name: p.Name, Type: p.Type, Required: p.Required || inPath[p.Name],
			Description: joinDescription(p.Description, p.Hints), Sample: p.Sample,
		}
		if inPath[p.Name] {
			q.In = "path"
		}
		if !r.spendBytes(len(q.Name) + len(q.Type) + len(q.Description) + len(q.Sample)) {
			break
		}
		out = append(out, q)
	}
	for _, m := range named {
		if name := m[1]; !declared[name] && r.spendBytes(len(name)) { // a path cannot be filled in without it
			declared[name] = true
			out = append(out, Parameter{Name: name, Required: true, In: "path"})
		}
	}
	return out
}

func parseSummary(text []byte, o ParseOptions) (Parsed, error) {
	sum, findings, err := agis.ParseSummary(text, agis.Options{Limits: o.Limits})
	if err != nil {
		return Parsed{Findings: findings}, err
	}
	return Parsed{Findings: findings, Document: sum, Root: sum.Root, Operations: len(sum.Methods)}, nil
}

// translateSummary translates a summary. It names verbs only, so each becomes an
// operation without path and intent: enough to find the service by.
func translateSummary(d *Document, p Parsed) {
	sum := p.Document.(*agis.Summary)
	d.Service = Service{
		Name: sum.Service, Version: sum.ServiceVersion, Domain: sum.Domain, Namespace: sum.Namespace,
		Protocols: sum.Links.InteractionProtocols, AGTP: sum.AGTP,
	}
	seen := map[string]bool{}
	for _, m := range sum.Methods[:min(len(sum.Methods), agis.MaxEndpoints)] {
		verb := strings.ToUpper(strings.TrimSpace(m.Name))
		if verb == "" || seen[verb] {
			continue
		}
		seen[verb] = true
		d.Operations = append(d.Operations, Operation{
			ID: verb, Verb: verb, Effect: EffectUnknown, Pointer: m.Pointer,
			Call: agtpCall(sum.AGTP),
		})
	}
	for _, name := range sum.DataClasses {
		d.DataClasses = append(d.DataClasses, DataClass{Name: name})
	}
	d.agisLinks(sum.Links)
}
