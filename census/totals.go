package census

import "strings"

// A Total is a figure of everything that is known, not of hosts with a feature.
type Total struct {
	// Name is the name of the figure in answers for programs.
	Name string
	// Definition says what the figure counts.
	Definition string
}

// Totals returns the totals in the order in which they are shown.
func Totals() []Total {
	return []Total{
		{"hosts", "Hosts are network hosts that the crawler knows."},
		{"domains", "Domains are the registered domains of these hosts: example.co.uk for www.example.co.uk, and netlify.app for a host below this public suffix of a provider. Anyone can have any number of hosts below one domain, so each figure that counts hosts also says how many domains they are below; the number of owners is between the two."},
		{"visited", "A visited host had at least one visit that ended."},
		{"services", "A service is a host with a current document at an authoritative address: a host whose only document is at /ai publishes, and is no service (AI Discovery §4.1)."},
		{"documents", "Documents are the current ones; a summary counts as a document."},
		{"operations", "Operations are those of current documents. Those of a summary count only if no other document describes them, those of an alias do not count for its host, and what an AI Discovery and an AGIS document of a host both describe counts once."},
		{"versions", "Versions of documents are all that are stored."},
		{"opted_out", "Opted out are hosts whose owners do not want to be visited: nothing of them is in any other figure."},
		{"agents", "Agents are the active agents of the registry."},
	}
}

// defineTotals returns the definitions of all totals as one text.
func defineTotals() string {
	var definitions []string
	for _, t := range Totals() {
		definitions = append(definitions, t.Definition)
	}
	return strings.Join(definitions, " ")
}
