package agis

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"gazetteer/protocol"
)

// CrossCheck compares a summary with the full document of the same service. A contradiction is a
// finding of the summary (WK110): it was made from an older document, or belongs to another
// service. A summary may leave members out, with two exceptions: it must list every method of the
// document, and every data class if it lists any.
func CrossCheck(s *Summary, d *Document) []protocol.Finding {
	c := crossCheck{protocol.NewReport(rules, protocol.Limits{}), s.Root}
	var methods, declared []string
	for _, m := range s.Methods {
		methods = append(methods, strings.ToUpper(m.Name))
	}
	for _, e := range d.Endpoints {
		declared = append(declared, strings.ToUpper(e.Method))
	}
	c.compareSets("methods", methods, declared)
	c.compareTexts("domain", s.Domain, d.Vocabulary.Domain)
	c.compareTexts("namespace", s.Namespace, d.Vocabulary.Namespace)
	c.compareTexts("version", s.ServiceVersion, d.ServiceVersion)
	if n := s.Root.Member("negotiable"); n != nil && s.Negotiable != d.Vocabulary.Negotiable {
		c.reportDifference(n, fmt.Sprintf("negotiable is %v here and %v in the full document", s.Negotiable, d.Vocabulary.Negotiable))
	}
	if d.DataManifest != nil {
		var classes []string
		for _, class := range d.DataManifest.Available {
			classes = append(classes, class.Class)
		}
		c.compareSets("data_classes", s.DataClasses, classes)
	}
	return c.Findings()
}

type crossCheck struct {
	*protocol.Report
	root *protocol.Node
}

func (c *crossCheck) reportDifference(n *protocol.Node, message string) {
	c.Add("WK110", n, message, "generate the summary again from the full document whenever that changes")
}

func (c *crossCheck) compareTexts(field, here, there string) {
	if here != "" && there != "" && here != there {
		c.reportDifference(c.root.Member(field), field+" is "+protocol.Quote(here)+" here and "+protocol.Quote(there)+" in the full document")
	}
}

// compareSets compares two lists as sets.
func (c *crossCheck) compareSets(field string, here, there []string) {
	n := c.root.Member(field)
	if n == nil {
		return
	}
	if extra := missingFrom(there, here); len(extra) > 0 {
		c.reportDifference(n, field+" lists "+quoteNames(extra)+", which the full document does not have")
	}
	if lacking := missingFrom(here, there); len(lacking) > 0 {
		c.reportDifference(n, field+" does not list "+quoteNames(lacking)+", which the full document has")
	}
}

// missingFrom returns the elements of all that list lacks, each once.
func missingFrom(list, all []string) []string {
	known := make(map[string]bool, len(list))
	for _, s := range list {
		known[s] = true
	}
	var out []string
	for _, s := range all {
		if s != "" && !known[s] {
			known[s] = true
			out = append(out, s)
		}
	}
	return out
}

// maxNames is the number of names that one message lists.
const maxNames = 5

func quoteNames(list []string) string {
	more := ""
	if len(list) > maxNames {
		more = fmt.Sprintf(" and %d more", len(list)-maxNames)
		list = list[:maxNames]
	}
	quoted := slices.Clone(list)
	for i, s := range quoted {
		quoted[i] = protocol.Quote(s)
	}
	return strings.Join(quoted, ", ") + more
}

// CheckAccess checks the HTTP status of a summary that was requested without credentials against
// the full document: a service whose document declares pre_auth_discovery must not require
// credentials (§11.1(a), WK111). The finding has no line and column.
func CheckAccess(status int, d *Document) []protocol.Finding {
	asked := status == http.StatusUnauthorized || status == http.StatusForbidden || status == http.StatusProxyAuthRequired
	if !asked || !d.PreAuthDiscovery {
		return nil
	}
	r := protocol.NewReport(rules, protocol.Limits{})
	r.Add("WK111", nil, fmt.Sprintf("/.well-known/agis.json answers %d without credentials, although the full document declares pre_auth_discovery: true", status),
		"make the summary public, or remove pre_auth_discovery from the document")
	return r.Findings()
}
