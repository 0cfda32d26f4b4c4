package agis

import (
	"maps"
	"slices"
	"strings"

	"gazetteer/protocol"
)

// ruleTable is the table of all rules. The hundreds digit of a code is the validation pass of AGIS
// §9.1; WK codes are for the summary at /.well-known/agis.json (§11.1). A code keeps its meaning
// permanently; new rules get new codes. AGIS105, AGIS106, WK114 and WK115 are our own: limits of
// this reader, and the requirements of §13 applied to summaries.
var ruleTable = []protocol.Rule{
	{Code: "AGIS101", Slug: "parse", Severity: protocol.Error, Section: "AGIS §10", Basis: "must"},
	{Code: "AGIS102", Slug: "not-mapping", Severity: protocol.Error, Section: "AGIS §8.1", Basis: "must"},
	{Code: "AGIS103", Slug: "duplicate-key", Severity: protocol.Error, Section: "AGIS §10", Basis: "inferred"},
	{Code: "AGIS104", Slug: "unsafe-yaml", Severity: protocol.Error, Section: "AGIS §13", Basis: "inferred"},
	{Code: "AGIS105", Slug: "reader-limit", Severity: protocol.Error, Section: "AGIS §13", Basis: "own"},
	{Code: "AGIS106", Slug: "too-many-to-index", Severity: protocol.Warning, Section: "AGIS §13", Basis: "own"},
	{Code: "AGIS110", Slug: "agis-missing", Severity: protocol.Error, Section: "AGIS §8.1", Basis: "must"},
	{Code: "AGIS111", Slug: "agis-value", Severity: protocol.Error, Section: "AGIS §8.1", Basis: "must"},
	{Code: "AGIS112", Slug: "agis-number", Severity: protocol.Warning, Section: "AGIS §8.1, §10", Basis: "inferred"},
	{Code: "AGIS113", Slug: "service-missing", Severity: protocol.Error, Section: "AGIS §8.1", Basis: "must"},
	{Code: "AGIS114", Slug: "agtp-missing", Severity: protocol.Error, Section: "AGIS §8.1", Basis: "must"},
	{Code: "AGIS115", Slug: "agtp-uri", Severity: protocol.Error, Section: "AGIS §8.1", Basis: "inferred"},
	{Code: "AGIS116", Slug: "endpoints-missing", Severity: protocol.Error, Section: "AGIS §8.1", Basis: "must"},
	{Code: "AGIS117", Slug: "endpoints-shape", Severity: protocol.Error, Section: "AGIS §8.1", Basis: "must"},
	{Code: "AGIS118", Slug: "vocabulary-missing", Severity: protocol.Error, Section: "AGIS §8.1, §8.2", Basis: "must"},
	{Code: "AGIS119", Slug: "description-missing", Severity: protocol.Warning, Section: "AGIS §8.1", Basis: "should"},
	{Code: "AGIS120", Slug: "version-missing", Severity: protocol.Warning, Section: "AGIS §8.1", Basis: "should"},
	{Code: "AGIS121", Slug: "field-name-case", Severity: protocol.Error, Section: "AGIS §10", Basis: "must"},
	{Code: "AGIS122", Slug: "unknown-field", Severity: protocol.Info, Section: "AGIS §8.1", Basis: "inferred"},
	{Code: "AGIS123", Slug: "schemas-type", Severity: protocol.Error, Section: "AGIS §8.1", Basis: "inferred"},
	{Code: "AGIS130", Slug: "manifest-required", Severity: protocol.Error, Section: "AGIS §8.2, §8.3", Basis: "must"},
	{Code: "AGIS131", Slug: "manifest-shape", Severity: protocol.Error, Section: "AGIS §8.3", Basis: "inferred"},
	{Code: "AGIS132", Slug: "manifest-empty", Severity: protocol.Error, Section: "AGIS §8.3", Basis: "inferred"},
	{Code: "AGIS133", Slug: "sensitivity-value", Severity: protocol.Error, Section: "AGIS §8.3", Basis: "inferred"},
	{Code: "AGIS134", Slug: "sensitivity-scale", Severity: protocol.Info, Section: "AGIS §8.3", Basis: "inferred"},
	{Code: "AGIS135", Slug: "high-without-authorization", Severity: protocol.Warning, Section: "AGIS §8.3", Basis: "should"},
	{Code: "AGIS136", Slug: "negotiable-type", Severity: protocol.Error, Section: "AGIS §8.2", Basis: "inferred"},
	{Code: "AGIS137", Slug: "duplicate-class", Severity: protocol.Warning, Section: "AGIS §8.3", Basis: "inferred"},
	{Code: "AGIS138", Slug: "manifest-details", Severity: protocol.Warning, Section: "AGIS §13", Basis: "should"},
	{Code: "AGIS201", Slug: "method-missing", Severity: protocol.Error, Section: "AGIS §4.1", Basis: "must"},
	{Code: "AGIS202", Slug: "method-whitespace", Severity: protocol.Error, Section: "AGIS §4.1(a)", Basis: "must"},
	{Code: "AGIS203", Slug: "method-charset", Severity: protocol.Error, Section: "AGIS §4.1(c)", Basis: "must"},
	{Code: "AGIS204", Slug: "method-compound", Severity: protocol.Error, Section: "AGIS §4.1(d)", Basis: "must"},
	{Code: "AGIS205", Slug: "method-case", Severity: protocol.Warning, Section: "AGIS §4.1(e), §10", Basis: "should"},
	{Code: "AGIS206", Slug: "method-inflected", Severity: protocol.Error, Section: "AGIS §4.1(b)", Basis: "must"},
	{Code: "AGIS207", Slug: "method-verb-particle", Severity: protocol.Warning, Section: "AGIS §4.1(d)", Basis: "inferred"},
	{Code: "AGIS208", Slug: "method-ambiguous-form", Severity: protocol.Warning, Section: "AGIS §4.1(b)", Basis: "inferred"},
	{Code: "AGIS301", Slug: "method-http", Severity: protocol.Error, Section: "AGIS §4.3", Basis: "must"},
	{Code: "AGIS302", Slug: "method-state", Severity: protocol.Error, Section: "AGIS §4.2", Basis: "must"},
	{Code: "AGIS303", Slug: "method-existence", Severity: protocol.Error, Section: "AGIS §4.2", Basis: "must"},
	{Code: "AGIS304", Slug: "method-not-a-verb", Severity: protocol.Error, Section: "AGIS §4.2", Basis: "must"},
	{Code: "AGIS305", Slug: "method-unknown-word", Severity: protocol.Warning, Section: "AGIS §4.2, §13", Basis: "inferred"},
	{Code: "AGIS306", Slug: "method-vague", Severity: protocol.Warning, Section: "AGIS §4.2", Basis: "should"},
	{Code: "AGIS401", Slug: "path-missing", Severity: protocol.Error, Section: "AGIS §5", Basis: "must"},
	{Code: "AGIS402", Slug: "path-slash", Severity: protocol.Error, Section: "AGIS §5(a)", Basis: "must"},
	{Code: "AGIS403", Slug: "path-query", Severity: protocol.Error, Section: "AGIS §5(f)", Basis: "must"},
	{Code: "AGIS404", Slug: "path-verb", Severity: protocol.Error, Section: "AGIS §5(b)", Basis: "must"},
	{Code: "AGIS405", Slug: "path-case", Severity: protocol.Error, Section: "AGIS §5(c), Table 7", Basis: "must"},
	{Code: "AGIS406", Slug: "path-separator", Severity: protocol.Error, Section: "AGIS §5(c)", Basis: "must"},
	{Code: "AGIS407", Slug: "path-parameter", Severity: protocol.Error, Section: "AGIS §5(d)", Basis: "must"},
	{Code: "AGIS408", Slug: "path-repeats-method", Severity: protocol.Error, Section: "AGIS §5(e)", Basis: "must"},
	{Code: "AGIS409", Slug: "path-first-segment", Severity: protocol.Error, Section: "AGIS §5(b)", Basis: "must"},
	{Code: "AGIS410", Slug: "path-empty-segment", Severity: protocol.Error, Section: "AGIS §5", Basis: "inferred"},
	{Code: "AGIS411", Slug: "path-duplicate", Severity: protocol.Error, Section: "AGIS §8.1", Basis: "inferred"},
	{Code: "AGIS412", Slug: "path-parameter-input", Severity: protocol.Warning, Section: "AGIS §5(d), §7", Basis: "inferred"},
	{Code: "AGIS501", Slug: "semantic-missing", Severity: protocol.Error, Section: "AGIS §6", Basis: "must"},
	{Code: "AGIS502", Slug: "intent-missing", Severity: protocol.Error, Section: "AGIS §6.1", Basis: "must"},
	{Code: "AGIS503", Slug: "actor-missing", Severity: protocol.Error, Section: "AGIS §6.1", Basis: "must"},
	{Code: "AGIS504", Slug: "actor-value", Severity: protocol.Error, Section: "AGIS §6.1", Basis: "must"},
	{Code: "AGIS505", Slug: "outcome-missing", Severity: protocol.Error, Section: "AGIS §6.1", Basis: "must"},
	{Code: "AGIS506", Slug: "one-sentence", Severity: protocol.Warning, Section: "AGIS §6.1", Basis: "must"},
	{Code: "AGIS507", Slug: "intent-internal", Severity: protocol.Warning, Section: "AGIS §6.1", Basis: "must"},
	{Code: "AGIS508", Slug: "capability-value", Severity: protocol.Error, Section: "AGIS §6.2", Basis: "must"},
	{Code: "AGIS509", Slug: "confidence-range", Severity: protocol.Error, Section: "AGIS §6.2, §10", Basis: "must"},
	{Code: "AGIS510", Slug: "impact-value", Severity: protocol.Error, Section: "AGIS §2, §6.2", Basis: "must"},
	{Code: "AGIS511", Slug: "impact-case", Severity: protocol.Warning, Section: "AGIS §2, §10", Basis: "inferred"},
	{Code: "AGIS512", Slug: "idempotent-type", Severity: protocol.Error, Section: "AGIS §3.3", Basis: "inferred"},
	{Code: "AGIS513", Slug: "hints-shape", Severity: protocol.Error, Section: "AGIS §6.2", Basis: "inferred"},
	{Code: "AGIS514", Slug: "state-transition-format", Severity: protocol.Warning, Section: "AGIS §2", Basis: "should"},
	{Code: "AGIS515", Slug: "mcp-tool-name", Severity: protocol.Error, Section: "AGIS §6.2", Basis: "must"},
	{Code: "AGIS516", Slug: "hints-unknown-parameter", Severity: protocol.Warning, Section: "AGIS §6.2", Basis: "inferred"},
	{Code: "AGIS517", Slug: "irreversible-confidence", Severity: protocol.Warning, Section: "AGIS §6.2", Basis: "should"},
	{Code: "AGIS518", Slug: "text-length", Severity: protocol.Warning, Section: "AGIS §13", Basis: "should"},
	{Code: "AGIS519", Slug: "instruction-text", Severity: protocol.Warning, Section: "AGIS §13", Basis: "should"},
	{Code: "AGIS520", Slug: "recommended-missing", Severity: protocol.Info, Section: "AGIS §3.3", Basis: "should"},
	{Code: "AGIS521", Slug: "impact-vs-verb", Severity: protocol.Info, Section: "AGIS §2", Basis: "inferred"},
	{Code: "AGIS522", Slug: "proposed-published", Severity: protocol.Warning, Section: "AGIS §2", Basis: "inferred"},
	{Code: "AGIS601", Slug: "intent-contradicts", Severity: protocol.Error, Section: "AGIS §6.3", Basis: "must"},
	{Code: "AGIS602", Slug: "intent-doubtful", Severity: protocol.Warning, Section: "AGIS §6.3, §9.1", Basis: "should"},
	{Code: "AGIS603", Slug: "intent-not-judged", Severity: protocol.Info, Section: "AGIS §6.3", Basis: "inferred"},
	{Code: "AGIS701", Slug: "vocabulary-verbs-missing", Severity: protocol.Error, Section: "AGIS §8.2", Basis: "must"},
	{Code: "AGIS702", Slug: "verb-undeclared", Severity: protocol.Error, Section: "AGIS §8.2(a)", Basis: "must"},
	{Code: "AGIS703", Slug: "verb-unused", Severity: protocol.Error, Section: "AGIS §8.2(b)", Basis: "must"},
	{Code: "AGIS704", Slug: "verb-duplicate", Severity: protocol.Warning, Section: "AGIS §8.2", Basis: "inferred"},
	{Code: "AGIS705", Slug: "domain-missing", Severity: protocol.Warning, Section: "AGIS §8.2(c)", Basis: "should"},
	{Code: "AGIS706", Slug: "namespace-form", Severity: protocol.Warning, Section: "AGIS §8.2(d), §10.1", Basis: "inferred"},
	{Code: "AGIS801", Slug: "input-missing", Severity: protocol.Error, Section: "AGIS §7", Basis: "must"},
	{Code: "AGIS802", Slug: "output-missing", Severity: protocol.Error, Section: "AGIS §7", Basis: "must"},
	{Code: "AGIS803", Slug: "errors-missing", Severity: protocol.Error, Section: "AGIS §7", Basis: "must"},
	{Code: "AGIS804", Slug: "schema-invalid", Severity: protocol.Error, Section: "AGIS §7", Basis: "must"},
	{Code: "AGIS805", Slug: "schema-ref", Severity: protocol.Error, Section: "AGIS §7, §8.1", Basis: "must"},
	{Code: "AGIS806", Slug: "errors-shape", Severity: protocol.Error, Section: "AGIS §7", Basis: "must"},
	{Code: "AGIS807", Slug: "errors-generic", Severity: protocol.Error, Section: "AGIS §7", Basis: "must"},
	{Code: "AGIS808", Slug: "errors-generic-one", Severity: protocol.Warning, Section: "AGIS §7", Basis: "should"},
	{Code: "AGIS809", Slug: "schema-shorthand", Severity: protocol.Error, Section: "AGIS §7", Basis: "inferred"},
	{Code: "AGIS810", Slug: "required-undefined", Severity: protocol.Warning, Section: "AGIS §7, C.2", Basis: "inferred"},
	{Code: "AGIS811", Slug: "optional-keyword", Severity: protocol.Warning, Section: "AGIS §7", Basis: "inferred"},
	{Code: "AGIS812", Slug: "input-not-object", Severity: protocol.Error, Section: "AGIS §7", Basis: "inferred"},
	{Code: "AGIS813", Slug: "parameter-name-case", Severity: protocol.Info, Section: "AGIS §7", Basis: "should"},
	{Code: "AGIS814", Slug: "error-description", Severity: protocol.Info, Section: "AGIS §7", Basis: "should"},
	{Code: "AGIS815", Slug: "error-duplicate", Severity: protocol.Warning, Section: "AGIS §7", Basis: "inferred"},
	{Code: "WK101", Slug: "wk-not-object", Severity: protocol.Error, Section: "AGIS §11.1", Basis: "must"},
	{Code: "WK102", Slug: "wk-required", Severity: protocol.Error, Section: "AGIS §11.1", Basis: "must"},
	{Code: "WK103", Slug: "wk-agis-document", Severity: protocol.Error, Section: "AGIS §11.1(d)", Basis: "must"},
	{Code: "WK104", Slug: "wk-method", Severity: protocol.Error, Section: "AGIS §11.1, §4", Basis: "must"},
	{Code: "WK105", Slug: "wk-sensitivity", Severity: protocol.Error, Section: "AGIS §11.1(b)", Basis: "must"},
	{Code: "WK106", Slug: "wk-protocol-value", Severity: protocol.Warning, Section: "AGIS §11.1", Basis: "must"},
	{Code: "WK107", Slug: "wk-related", Severity: protocol.Warning, Section: "AGIS §11.1", Basis: "inferred"},
	{Code: "WK108", Slug: "wk-negotiate", Severity: protocol.Warning, Section: "AGIS §11.1", Basis: "inferred"},
	{Code: "WK109", Slug: "wk-recommended", Severity: protocol.Info, Section: "AGIS §11.1", Basis: "inferred"},
	{Code: "WK110", Slug: "wk-differs", Severity: protocol.Warning, Section: "AGIS §11.1", Basis: "inferred"},
	{Code: "WK111", Slug: "wk-credentials", Severity: protocol.Error, Section: "AGIS §11.1(a)", Basis: "must"},
	{Code: "WK112", Slug: "wk-capability", Severity: protocol.Warning, Section: "AGIS §6.2, §11.1", Basis: "inferred"},
	{Code: "WK113", Slug: "wk-mcp-uri", Severity: protocol.Warning, Section: "AGIS §11.1", Basis: "inferred"},
	{Code: "WK114", Slug: "too-many-to-index", Severity: protocol.Warning, Section: "AGIS §13", Basis: "own"},
	{Code: "WK115", Slug: "wk-hidden-text", Severity: protocol.Warning, Section: "AGIS §13", Basis: "own"},
}

var (
	rules           = protocol.ByCode(completeRules(ruleTable))
	rulesOfLevelTwo = rulesAtLevelTwo(rules)
)

// completeRules fills in the explanations and the validation pass, which is the
// hundreds of the code.
func completeRules(table []protocol.Rule) []protocol.Rule {
	for i := range table {
		r := &table[i]
		if digits, ok := strings.CutPrefix(r.Code, "AGIS"); ok {
			r.Pass = int(digits[0] - '0')
		}
		for _, e := range explanations {
			if e.code == r.Code {
				r.Text, r.Bad, r.Good = e.text, e.bad, e.good
			}
		}
	}
	return table
}

// rulesAtLevelTwo returns the rules with the severities that they have at Level 2.
func rulesAtLevelTwo(rules map[string]protocol.Rule) map[string]protocol.Rule {
	rules = maps.Clone(rules)
	recommended := rules["AGIS520"]
	recommended.Severity = protocol.Error
	rules[recommended.Code] = recommended
	return rules
}

// Rules returns all rules in the order of their codes, each with its text and an example.
func Rules() []protocol.Rule { return slices.Clone(ruleTable) }
