package aidiscovery

import (
	"encoding/base64"
	"regexp"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"gazetteer/protocol"
)

// texts looks at every string of the document for what must not be there.
func (c *checker) texts(n *protocol.Node) {
	if n.Kind == protocol.String {
		if what, ok := credential(n.Text); ok {
			// The message must not repeat the secret: findings are published.
			c.Add("AI901", n, "this text holds "+what, "remove it and revoke it; whoever read this document has it")
		}
		if what, ok := protocol.Instruction(n.Text); ok {
			c.Add("AI904", n, "this text holds "+what+", which speaks to a model instead of describing the service", "describe the service only")
		}
	}
	for _, item := range n.Items {
		c.texts(item)
	}
}

// keys are shapes that issuers give their keys, so that they can be found. The
// mark is in every such key and spares most texts the pattern.
var keys = []struct {
	name, mark string
	pattern    *regexp.Regexp
}{
	{"a Stripe key", "k_live_", regexp.MustCompile(`\b[sr]k_live_[A-Za-z0-9]{16,}`)},
	{"a GitHub token", "gh", regexp.MustCompile(`\bgh[pousr]_[A-Za-z0-9]{36,}`)},
	{"a GitHub token", "github_pat_", regexp.MustCompile(`\bgithub_pat_[A-Za-z0-9_]{40,}`)},
	{"a GitLab token", "glpat-", regexp.MustCompile(`\bglpat-[A-Za-z0-9_\-]{20,}`)},
	{"an AWS access key", "AKIA", regexp.MustCompile(`\bAKIA[A-Z0-9]{16}\b`)},
	{"an AWS access key", "ASIA", regexp.MustCompile(`\bASIA[A-Z0-9]{16}\b`)},
	{"a Google key", "AIza", regexp.MustCompile(`\bAIza[A-Za-z0-9_\-]{35}`)},
	{"a Slack token", "xox", regexp.MustCompile(`\bxox[abprs]-[A-Za-z0-9\-]{20,}`)},
	{"a private key", "PRIVATE KEY-----", regexp.MustCompile(`-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----`)},
}

var (
	jwtPattern      = regexp.MustCompile(`\beyJ[A-Za-z0-9_\-]+\.eyJ[A-Za-z0-9_\-]+\.[A-Za-z0-9_\-]*`)
	userinfoPattern = regexp.MustCompile(`\b[A-Za-z][A-Za-z0-9+.\-]*://[^\s/:@{}<>]+:([^\s/@{}<>]+)@[^\s/]`)
)

// credential names the secret in s, if there is one.
func credential(s string) (string, bool) {
	for _, k := range keys {
		if !strings.Contains(s, k.mark) {
			continue
		}
		if m := k.pattern.FindString(s); m != "" && !strings.HasSuffix(m, "EXAMPLE") {
			return k.name, true
		}
	}
	var tokens []string
	if strings.Contains(s, "eyJ") {
		tokens = jwtPattern.FindAllString(s, 4)
	}
	for _, m := range tokens {
		header, _, _ := strings.Cut(m, ".")
		text, err := base64.RawURLEncoding.DecodeString(header)
		if err == nil && jsontext.Value(text).IsValid() {
			return "a signed token (JWT)", true
		}
	}
	if strings.Contains(s, "://") && strings.Contains(s, "@") && userinfoPattern.MatchString(s) {
		return "an address with a password in it", true
	}
	return "", false
}
