package document

import (
	"regexp"
	"strings"

	"gazetteer/protocol/agis"
)

func readAGIS(d *Document, in Input) error {
	doc, findings, err := agis.Parse(in.Bytes, agis.Options{})
	d.Findings = findings
	if err != nil {
		return err
	}
	d.Service = Service{
		Name: doc.Service, Description: doc.Description, Version: doc.ServiceVersion,
		Domain: doc.Vocabulary.Domain, Namespace: doc.Vocabulary.Namespace,
		Protocols: doc.Links.InteractionProtocols, AGTP: doc.AGTP,
	}
	seen := map[string]bool{}
	for _, e := range doc.Endpoints {
		op := agisOperation(doc, e)
		op.ID = uniqueID(seen, op.ID)
		d.Operations = append(d.Operations, op)
	}
	if doc.DataManifest != nil {
		for _, c := range doc.DataManifest.Available {
			d.DataClasses = append(d.DataClasses, DataClass{Name: c.Class, Description: c.Description, Sensitivity: c.Sensitivity})
		}
	}
	d.agisLinks(doc.Links)
	d.setLevel()
	if d.Level == 1 && doc.LevelTwo() {
		d.Level = 2
	}
	return nil
}

func (d *Document) agisLinks(l agis.Links) {
	d.addLinks(RelAGISDocument, l.AGISDocument)
	d.addLinks(RelRelated, l.RelatedServices...)
	d.addLinks(RelMCPTools, l.MCPToolsList)
}

func agisOperation(doc *agis.Document, e agis.Endpoint) Operation {
	s := e.Semantic
	op := Operation{
		ID:         strings.TrimSpace(e.Method + " " + e.Path),
		Verb:       strings.ToUpper(e.Method),
		Path:       e.Path,
		Intent:     s.Intent,
		Outcome:    s.Outcome,
		Returns:    returns(doc, e),
		Actor:      s.Actor,
		Capability: s.Capability,
		Effect:     effect(s.ImpactTier),
		Parameters: agisParameters(doc, e),
		Call:       Call{Protocol: "agtp", URL: doc.AGTP},
		Pointer:    e.Pointer,
	}
	if op.ID == "" {
		op.ID = "endpoint"
	}
	for _, c := range e.Errors {
		op.Errors = append(op.Errors, c.Name)
	}
	return op
}

func effect(tier string) Effect {
	switch e := Effect(tier); e {
	case Informational, Reversible, Irreversible:
		return e
	default:
		return EffectUnknown
	}
}

// returns names the fields of the output.
func returns(doc *agis.Document, e agis.Endpoint) string {
	output := doc.Resolve(e.Output, e.Output)
	properties := output.Member("properties")
	if properties == nil {
		return output.Member("description").Str()
	}
	var names []string
	for _, m := range properties.Items {
		if m.Key != "" {
			names = append(names, m.Key)
		}
	}
	return strings.Join(names, ", ")
}

var pathParameter = regexp.MustCompile(`\{([^{}/]+)\}`)

func agisParameters(doc *agis.Document, e agis.Endpoint) []Parameter {
	inPath := map[string]bool{}
	for _, m := range pathParameter.FindAllStringSubmatch(e.Path, -1) {
		inPath[m[1]] = true
	}
	var out []Parameter
	for _, p := range doc.Parameters(e) {
		q := Parameter{
			Name: p.Name, Type: p.Type, Required: p.Required || inPath[p.Name],
			Description: describe(p.Description, p.Hints),
		}
		if inPath[p.Name] {
			q.In = "path"
		}
		out = append(out, q)
	}
	return out
}

// readSummary reads a summary. It names verbs only, so each becomes an
// operation without path and intent: enough to find the service by.
func readSummary(d *Document, in Input) error {
	sum, findings, err := agis.ParseSummary(in.Bytes, agis.Options{})
	d.Findings = findings
	if err != nil {
		return err
	}
	d.Service = Service{
		Name: sum.Service, Version: sum.ServiceVersion, Domain: sum.Domain, Namespace: sum.Namespace,
		Protocols: sum.Links.InteractionProtocols, AGTP: sum.AGTP,
	}
	seen := map[string]bool{}
	for _, m := range sum.Methods {
		verb := strings.ToUpper(strings.TrimSpace(m.Name))
		if verb == "" || seen[verb] {
			continue
		}
		seen[verb] = true
		d.Operations = append(d.Operations, Operation{
			ID: verb, Verb: verb, Effect: EffectUnknown, Pointer: m.Pointer,
			Call: Call{Protocol: "agtp", URL: sum.AGTP},
		})
	}
	for _, name := range sum.DataClasses {
		d.DataClasses = append(d.DataClasses, DataClass{Name: name})
	}
	d.agisLinks(sum.Links)
	d.setLevel()
	return nil
}
